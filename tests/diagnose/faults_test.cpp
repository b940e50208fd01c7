// SPDX-License-Identifier: Apache-2.0
// Faults planted in passes, kernels, the import and a file, each found at its node and at who did
// it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>

#include "tests/diagnose/faulty.h"
#include "tests/diagnose/networks.h"
#include "tools/diagnose/program/find_divergence.h"
#include "tools/graph/window.h"

using namespace ingot;
using namespace ingot::test;
using cli::DivergenceCause;

using graph::Node;

namespace {

using Names = std::vector<std::string>;

struct Found {
  bool located = false, planted = false;
  std::string text;
};

std::string described(const cli::DivergenceAnswer& a) {
  return a.headline() + " (" + a.value + ": " + a.detail + ")";
}

Found found(const cli::DivergenceAnswer& a, DivergenceCause stage, const std::string& by,
            const Names& nodes) {
  Found f;
  f.planted = true;
  f.text = described(a);
  const bool right_node = std::find(nodes.begin(), nodes.end(), a.node) != nodes.end();
  f.located = a.cause == stage && (by.empty() || a.pass.rfind(by, 0) == 0) && right_node;
  return f;
}

cli::DivergenceQuestion question(const std::string& network) {
  cli::DivergenceQuestion q;
  q.source = networks().source(network);
  q.golden = networks().golden(network);
  q.session.threads = 1;
  return q;
}

/// A sum that says how many were found; each that was not is a failure of its own.
struct Tally {
  const char* kind;
  size_t planted = 0, located = 0;
  void count(const char* name, const Found& f) {
    planted++;
    located += f.located;
    INFO(name);
    INFO(f.text);
    CHECK_MESSAGE(f.planted, "the fault could not be planted");
    CHECK(f.located);
  }
  ~Tally() { printf("compare: %zu of %zu planted faults located: %s\n", located, planted, kind); }
};

struct GraphFault {
  const char* name;
  const char* network;
  const char* stage;  // "import" or the pass
  Names nodes;        // the first of the source's nodes that may be named
  Change plant;
};

Found try_graph_fault(const GraphFault& fault) {
  Planted planted(fault.stage, fault.plant);
  cli::DivergenceQuestion q = question(fault.network);
  q.options.observe = planted.observer();
  // The file is converted with the fault first, then compared by a build that has it too.
  const std::string path = networks().file("fault.ingot");
  convert::write_file(convert::convert_source(q.source, q.options).file, path);
  q.file = path;
  q.options.observe = planted.observer();
  const bool is_import = std::string(fault.stage) == "import";
  Found f =
      found(cli::find_divergence(q), is_import ? DivergenceCause::kImport : DivergenceCause::kPass,
            fault.stage, fault.nodes);
  f.planted = planted.is_planted();
  return f;
}

Change set(graph::Operator op, const char* source, graph::AttributeName key,
           graph::Attribute value) {
  return [=](graph::Model& model) {
    Node* node = find_node(model, text(op), source);
    if (node) node->attributes[key] = value;
    return node != nullptr;
  };
}

Change floats(const char* op, const char* source, size_t operand,
              std::function<void(std::vector<float>&)> change) {
  return [=](graph::Model& model) {
    return change_floats(model, find_node(model, op, source), operand, change);
  };
}

void transpose32(std::vector<float>& w) {
  for (size_t i = 0; i < 32; i++)
    for (size_t j = 0; j < i; j++) std::swap(w[i * 32 + j], w[j * 32 + i]);
}

bool swap_last_axes(graph::Model& model) {
  Node* node = find_node(model, "Transpose", "turned");
  if (!node) return false;
  std::vector<int64_t> perm = node->integers(attr::perm);
  std::swap(perm[2], perm[3]);
  node->attributes[attr::perm] = perm;
  return true;
}

bool drop_activation(graph::Model& model) {
  Node* node = find_node(model, "Conv2d", "relu1");
  return node && node->attributes.erase(attr::activation) > 0;
}

bool move_padding(graph::Model& model) {
  Node* node = find_node(model, "Conv2d", "pad1");
  if (!node) return false;
  graph::Window2d window = graph::window_of(*node);
  window.h.begin++, window.h.end--;
  graph::set_window(node, window);
  return true;
}

bool drop_residual(graph::Model& model) {
  Node* node = find_node(model, "Conv2d", "sum2");
  if (!node || node->inputs.size() < 4) return false;
  node->inputs.resize(3);
  return true;
}

bool swap_operands_of_first_step(graph::Model& model) {
  Node* node = find_node(model, "Elementwise", "minus");
  if (!node || node->integers(attr::steps).size() < 8) return false;
  std::vector<int64_t> steps = node->integers(attr::steps);
  std::swap(steps[1], steps[2]);
  node->attributes[attr::steps] = steps;
  return true;
}

bool merge_what_differs(graph::Model& model) {
  Node *keys = find_node(model, "MatMul", "keys"), *query = find_node(model, "MatMul", "query"),
       *turned = find_node(model, "Transpose", "keys_turned");
  if (!keys || !query || !turned) return false;
  turned->inputs[0] = query->outputs[0];
  return true;
}

bool shift_slice(graph::Model& model) {
  Node* node = find_node(model, "Slice", "middle");
  if (!node) return false;
  graph::Dims starts = node->dims(attr::starts);
  starts[1] = starts[1] + 1;
  node->attributes[attr::starts] = starts;
  return true;
}

bool double_alpha(graph::Model& model) {
  Node* node = find_node(model, "MatMul", "scores");
  if (!node || node->number(attr::alpha, 1) == 1) return false;
  node->attributes[attr::alpha] = node->number(attr::alpha, 1) * 2;
  return true;
}

bool swap_concat(graph::Model& model) {
  Node* node = find_node(model, "Concat", "joined");
  if (node) std::swap(node->inputs[0], node->inputs[1]);
  return node != nullptr;
}

bool other_indices(graph::Model& model) {
  Node* node = find_node(model, "Gather", "chosen");
  if (!node) return false;
  const std::vector<int64_t> which = {4, 1, 3};
  const graph::ValueId id =
      model.add_constant("wrong", graph::make_constant(DType::kI64, {3}, which.data()));
  model.values[size_t(id)].dtype = DType::kI64, model.values[size_t(id)].shape_known = true;
  model.values[size_t(id)].dims = {3};
  node->inputs[1] = id;
  return true;
}

}  // namespace

TEST_CASE("compare: nothing diverges where nothing is wrong") {
  for (const char* network : {"image", "rows"}) {
    CAPTURE(network);
    const cli::DivergenceAnswer a = cli::find_divergence(question(network));
    INFO(described(a));
    CHECK(a.cause == DivergenceCause::kNone);
    CHECK(a.is_fresh_conversion);
    CHECK(a.instructions_known == a.instructions_ran);
    CHECK(a.import_compared > 10);
    cli::DivergenceQuestion q = question(network);
    q.golden.clear();
    CHECK(cli::find_divergence(q).cause == DivergenceCause::kNone);
  }
}

TEST_CASE(
    "compare: a state that is copied at the end of a run holds what the source's output says") {
  cli::DivergenceQuestion q = question("kept");
  convert::add_state(q.options, "s=sn");
  const cli::DivergenceAnswer a = cli::find_divergence(q);
  INFO(described(a));
  CHECK(a.cause == DivergenceCause::kNone);
  CHECK(a.instructions_known == a.instructions_ran);
  CHECK(a.outputs.size() == 2);
  const auto is_copy = [](const cli::CheckedInstruction& i) { return i.op == "copy"; };
  CHECK(std::any_of(a.program.instructions.begin(), a.program.instructions.end(), is_copy));
}

TEST_CASE("compare: a wrong pass is named with the node that it changed") {
  const auto negate = [](std::vector<float>& all) {
    for (float& x : all) x = -x;
  };
  const auto reverse = [](std::vector<float>& all) { std::reverse(all.begin(), all.end()); };
  const auto scale_first = [](std::vector<float>& all) {
    for (size_t i = 0; i < all.size() / 8; i++) all[i] *= 1.5f;
  };
  const GraphFault faults[] = {
      {"the folded shift has the wrong sign",
       "image",
       "fold affine",
       {"norm1", "conv1"},
       floats("Conv2d", "norm1", 2, negate)},
      {"one channel's factor is wrong",
       "image",
       "fold affine",
       {"norm1", "conv1"},
       floats("Conv2d", "norm1", 1, scale_first)},
      {"the folded activation is dropped",
       "image",
       "fold activation",
       {"relu1", "norm1", "conv1"},
       drop_activation},
      {"the folded clip has another bound",
       "image",
       "fold activation",
       {"clip1", "depth1"},
       set(op::Conv2d, "clip1", attr::activation_beta, 0.5)},
      {"the folded padding is on one side",
       "image",
       "fold padding",
       {"depth1", "pad1"},
       move_padding},
      {"two axes of a transpose are swapped", "image", "choose layout", {"turned"}, swap_last_axes},
      {"softmax goes along another axis",
       "image",
       "canonicalize",
       {"chance"},
       set(op::Softmax, "chance", attr::axis, int64_t(0))},
      {"the weights are not transposed",
       "image",
       "canonicalize",
       {"dense"},
       floats("Linear", "dense", 1, transpose32)},
      {"the residual is dropped",
       "image",
       "fold residual",
       {"sum2", "conv2", "relu2"},
       drop_residual},
      {"operands of a fused difference are swapped",
       "image",
       "fuse elementwise",
       {"minus", "curve", "times"},
       swap_operands_of_first_step},
      {"a mean becomes a maximum",
       "image",
       "canonicalize",
       {"mean3"},
       set(op::Pool2d, "mean3", attr::kind, std::string("max"))},
      {"pixels are counted from their corners",
       "image",
       "canonicalize",
       {"large"},
       set(op::Resize, "large", attr::coordinate, std::string("asymmetric"))},
      {"SiLU is recognized with another slope",
       "image",
       "recognize activations",
       {"silu1", "gate1"},
       set(op::Swish, "silu1", attr::alpha, 2.0)},
      {"concat takes its operands in another order",
       "image",
       "canonicalize",
       {"joined"},
       swap_concat},
      {"a norm is recognized with another epsilon",
       "rows",
       "recognize norms",
       {"norm", "scaled", "unit", "deviation", "safe", "variance", "squares", "centred", "mean"},
       set(op::LayerNormalization, "norm", attr::epsilon, 0.1)},
      {"two products that differ are merged",
       "rows",
       "merge equal nodes",
       {"keys_turned"},
       merge_what_differs},
      {"a scale is folded twice", "rows", "fold products", {"soft_scores", "scores"}, double_alpha},
      {"a slice begins one later", "rows", "canonicalize", {"middle"}, shift_slice},
      {"a lifted convolution has its weights reversed",
       "rows",
       "lift one dimension",
       {"along", "bent"},
       floats("Conv2d", "along", 1, reverse)},
      {"time runs backwards",
       "rows",
       "fold sequence order",
       {"states", "by_time"},
       set(op::Recurrent, "states", attr::direction, std::string("reverse"))},
      {"an index is off by one", "rows", "canonicalize", {"chosen"}, other_indices},
  };
  Tally tally{"passes"};
  for (const GraphFault& fault : faults) tally.count(fault.name, try_graph_fault(fault));
}

TEST_CASE("compare: a wrong import is named with its node when the golden has intermediates") {
  const GraphFault faults[] = {
      {"padding is on one side",
       "image",
       "import",
       {"conv1"},
       set(op::Conv, "conv1", attr::pads, std::vector<int64_t>{0, 0, 2, 2})},
      {"a slope is the default",
       "image",
       "import",
       {"relu2"},
       set(op::LeakyRelu, "relu2", attr::alpha, 0.01)},
      {"a transposition is ignored",
       "image",
       "import",
       {"dense"},
       set(op::Gemm, "dense", attr::transB, int64_t(0))},
      {"an axis is counted from the other end",
       "image",
       "import",
       {"chance"},
       set(op::Softmax, "chance", attr::axis, int64_t(0))},
      {"an epsilon is misread",
       "image",
       "import",
       {"norm1"},
       set(op::BatchNormalization, "norm1", attr::epsilon, 0.1)},
      {"pixels are counted from their corners",
       "image",
       "import",
       {"large"},
       set(op::Resize, "large", attr::coordinate_transformation_mode, std::string("asymmetric"))},
      {"operands are swapped", "image", "import", {"joined"}, swap_concat},
      {"a direction is lost",
       "rows",
       "import",
       {"states"},
       set(op::LSTM, "states", attr::direction, std::string("reverse"))},
      {"an alpha is the default",
       "rows",
       "import",
       {"bent"},
       set(op::Elu, "bent", attr::alpha, 1.0)},
      {"a sum runs the other way",
       "rows",
       "import",
       {"running"},
       set(op::CumSum, "running", attr::reverse, int64_t(1))},
  };
  Tally tally{"import"};
  for (const GraphFault& fault : faults) tally.count(fault.name, try_graph_fault(fault));
}

TEST_CASE(
    "compare: with outputs alone a wrong import is known, and the node is among those that it can "
    "be") {
  Planted planted("import", set(op::LeakyRelu, "relu2", attr::alpha, 0.01));
  cli::DivergenceQuestion q = question("image");
  q.golden = networks().outputs_golden("image");
  q.options.observe = planted.observer();
  const cli::DivergenceAnswer a = cli::find_divergence(q);
  CHECK(a.cause == DivergenceCause::kImport);
  const auto is_it = [&](uint32_t s) { return a.source_nodes[s].output == "relu2"; };
  CHECK(std::any_of(a.suspects.begin(), a.suspects.end(), is_it));
  CHECK(a.suspects.size() < a.source_nodes.size());
}

TEST_CASE("compare: a wrong kernel is named with the first node that it computed") {
  struct KernelFault {
    const char* network;
    const char* kernel;
    Names nodes;
  };
  const KernelFault faults[] = {
      {"image", "conv2d_direct_f32", {"relu1", "norm1", "conv1"}},
      {"image", "conv2d_depthwise_f32", {"clip1", "depth1", "pad1"}},
      {"image", "conv2d_winograd_f43_f32", {"relu2", "sum2", "conv2"}},
      {"image", "pool2d_f32", {"pool2"}},
      {"image", "resize", {"large"}},
      {"image", "elementwise", {"times", "curve", "minus"}},
      {"image", "linear_f32", {"dense"}},
      {"image", "softmax", {"chance"}},
      {"image", "transpose", {"turned"}},
      {"rows", "normalize", {"norm"}},
      {"rows", "linear_f32", {"queries", "query", "keys"}},
      {"rows", "matmul_f32", {"kept", "soft_scores", "scores"}},
      {"rows", "gather", {"chosen"}},
      {"rows", "recurrent", {"states"}},
      {"rows", "reduce", {"sums"}},
      {"rows", "cumsum", {"running"}},
  };
  Tally tally{"kernels"};
  for (const KernelFault& fault : faults) {
    cli::DivergenceQuestion q = question(fault.network);
    q.open.kernels = reinterpret_cast<const ingot_kernel_table*>(broken_table(fault.kernel));
    REQUIRE(q.open.kernels);
    tally.count(fault.kernel, found(cli::find_divergence(q), DivergenceCause::kKernel, fault.kernel,
                                    fault.nodes));
  }
}

TEST_CASE("compare: a file whose weights were packed wrongly is named with its instruction") {
  struct ConversionFault {
    const char* network;
    const char* weights;
    const char* op;
    Names nodes;
  };
  const ConversionFault faults[] = {{"image", "w1", "conv2d", {"relu1", "norm1", "conv1"}},
                                    {"image", "w2", "conv2d", {"relu2", "sum2", "conv2"}},
                                    {"image", "wf", "linear", {"dense"}},
                                    {"rows", "r", "recurrent", {"states"}}};
  Tally tally{"conversion"};
  for (const ConversionFault& fault : faults) {
    cli::DivergenceQuestion q = question(fault.network);
    q.file = networks().file("weights.ingot");
    Found f;
    if (write_with_wrong_weights(q.source, fault.weights, 17, 0.5f, q.file)) {
      const cli::DivergenceAnswer a = cli::find_divergence(q);
      f = found(a, DivergenceCause::kConversion, fault.op, fault.nodes);
      CHECK(!a.is_fresh_conversion);
    }
    tally.count(fault.weights, f);
  }
}
