// SPDX-License-Identifier: Apache-2.0
// Nodes of constants alone: what is folded has the bits of a run of the file that is fed the same
// numbers; what may not be folded stays.
#include "tools/compile/convert/fold_by_running.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/cpu_kernels.h"
#include "tests/compile/interpreter.h"
#include "tools/compile/convert/convert.h"
#include "tools/files/work_budget.h"
#include "tools/graph/fold/fold_constants.h"
#include "tools/graph/functions.h"
#include "tools/graph/infer/infer_shapes.h"
#include "tools/graph/symbolic.h"
#include "tools/graph/tensor_math.h"

namespace ingot::convert {
namespace {

using NodeAttributes = graph::Attributes;
using graph::Constant;
using graph::Model;
using graph::Node;
using graph::ValueId;
using Ints = std::vector<int64_t>;

/// A graph of an importer, in which the first constant is an input of the network where it is fed.
class Network {
 public:
  explicit Network(bool is_fed = false) : is_fed_(is_fed) { model.name = "network"; }
  Model model;
  Tensors fed;

  ValueId input(const std::string& name, const Ints& dims, DType dtype = DType::kF32) {
    const ValueId id = model.add_value(name, dtype);
    model.values[size_t(id)].dims.assign(dims.begin(), dims.end());
    model.values[size_t(id)].shape_known = true;
    model.graph.inputs.push_back(id);
    return id;
  }
  ValueId add(Constant constant) {
    const std::string name = "c" + std::to_string(model.values.size());
    if (!is_fed_ || !fed.empty()) return model.add_constant(name, std::move(constant));
    fed[name] = *constant.bytes;
    return input(name, Ints(constant.dims.begin(), constant.dims.end()), constant.dtype);
  }
  ValueId floats(const Ints& dims, std::vector<float> all = {}) {
    int64_t count = 1;
    for (const int64_t n : dims) count *= n;
    for (int64_t i = int64_t(all.size()); i < count; i++)
      all.push_back(float(3 * std::sin(double(i * 7 + count))));
    return add(graph::make_constant(DType::kF32, dims, all.data()));
  }
  ValueId integers(const Ints& dims, const Ints& all) {
    return add(graph::make_constant(DType::kI64, dims, all.data()));
  }
  std::vector<ValueId> nodes(graph::Operator op, std::vector<ValueId> inputs, size_t outputs,
                             NodeAttributes attributes = {}) {
    Node made;
    made.op = op;
    made.name = text(op);
    made.inputs = std::move(inputs);
    made.attributes = std::move(attributes);
    std::vector<ValueId> all;
    for (size_t i = 0; i < outputs; i++)
      all.push_back(model.add_value(text(op) + std::to_string(model.values.size())));
    made.outputs = all;
    block->nodes.push_back(std::move(made));
    return all;
  }
  ValueId node(graph::Operator op, std::vector<ValueId> inputs, NodeAttributes attributes = {}) {
    return nodes(op, std::move(inputs), 1, std::move(attributes))[0];
  }
  graph::Graph* block = &model.graph;

  void import() {
    graph::infer_shapes(model);
    graph::fold_constants(model);
  }
  size_t count(graph::Operator op) const {
    return size_t(std::count_if(model.graph.nodes.begin(), model.graph.nodes.end(),
                                [&](const Node& node) { return node.op == op; }));
  }

 private:
  const bool is_fed_;
};

/// By output, in order.
std::vector<std::vector<uint8_t>> run_of(Network& n) {
  n.import();
  std::vector<std::string> names;
  for (const ValueId id : n.model.graph.outputs) names.push_back(n.model.values[size_t(id)].name);
  passes::run_passes(n.model);
  const FileRun run = run_file(write_memory(convert_model(std::move(n.model), {}).file), {}, n.fed,
                               *cpu_kernels("scalar"));
  REQUIRE(run.error == "");
  std::vector<std::vector<uint8_t>> all;
  for (const std::string& name : names) all.push_back(run.outputs.at(name));
  return all;
}

std::vector<std::vector<uint8_t>> folded(Network& n) {
  n.import();
  fold_by_running(n.model, {});
  std::vector<std::vector<uint8_t>> all;
  REQUIRE(!n.model.graph.nodes.empty());
  for (const Node& node : n.model.graph.nodes) {
    REQUIRE(node.op == op::Identity);  // of a port
    all.push_back(*n.model.constant(node.inputs[0])->bytes);
  }
  return all;
}

const float kNan = std::nanf("0x1234"), kInf = std::numeric_limits<float>::infinity();

struct Case {
  const char* name;
  std::vector<ValueId> (*make)(Network&);
};
const Case kCases[] = {
    {"mean of rows",
     [](Network& n) {
       return n.nodes(op::ReduceMean, {n.floats({5, 37})}, 1,
                      {{attr::axes, Ints{1}}, {attr::keepdims, int64_t(0)}});
     }},
    {"largest, with what is no number",
     [](Network& n) {
       return n.nodes(op::ReduceMax, {n.floats({2, 3}, {1, kNan, 3, -kInf, -0.0f, -2})}, 1,
                      {{attr::axes, Ints{0}}, {attr::keepdims, int64_t(1)}});
     }},
    {"a running sum of whole numbers",
     [](Network& n) {
       return n.nodes(op::CumSum, {n.integers({4}, {1, INT64_MAX, 3, -7})}, 1,
                      {{attr::axis, int64_t(0)}});
     }},
    {"a product of matrices, with an infinity",
     [](Network& n) {
       return n.nodes(op::MatMul, {n.floats({3, 65}, {kInf, -0.0f, kNan}), n.floats({65, 9})}, 1);
     }},
    {"a convolution behind a scale",
     [](Network& n) {
       return n.nodes(op::Conv, {n.floats({1, 3, 9, 9}), n.floats({4, 3, 3, 3}), n.floats({4})}, 1,
                      {{attr::kernel_shape, Ints{3, 3}},
                       {attr::strides, Ints{1, 1}},
                       {attr::dilations, Ints{1, 1}},
                       {attr::pads, Ints{1, 1, 1, 1}},
                       {attr::group, int64_t(1)}});
     }},
    {"several nodes, of which one result is read",
     [](Network& n) {
       const ValueId scores = n.node(op::MatMul, {n.floats({2, 4, 16}), n.floats({2, 16, 8})});
       const ValueId y = n.node(op::Softmax, {scores}, {{attr::axis, int64_t(-1)}});
       return n.nodes(op::LayerNormalization, {y, n.floats({8}), n.floats({8})}, 1,
                      {{attr::axis, int64_t(-1)}, {attr::epsilon, 1e-5}});
     }},
    {"an embedding of positions, resized",
     [](Network& n) {
       return n.nodes(
           op::Resize,
           {n.floats({1, 2, 7, 7}), graph::kAbsent, graph::kAbsent, n.integers({4}, {1, 2, 5, 11})},
           1, {{attr::mode, std::string("cubic")}});
     }},
    {"the largest, and where they are",
     [](Network& n) {
       return n.nodes(op::TopK, {n.floats({3, 10}), n.integers({1}, {4})}, 2,
                      {{attr::axis, int64_t(-1)}, {attr::largest, int64_t(1)}});
     }},
};

}  // namespace

TEST_CASE("fold_by_running: the bits of a run, of the nodes as they are and where one is fed") {
  for (const Case& c : kCases) {
    CAPTURE(std::string(c.name));
    Network constant, left, fed(true);
    for (Network* each : {&constant, &left, &fed}) each->model.graph.outputs = c.make(*each);
    const auto made = folded(constant);
    CHECK(made == run_of(left));
    CHECK(made == run_of(fed));
  }
}

TEST_CASE("fold_by_running: every function of more numbers than a shape has, the bits of a run") {
  for (const graph::Function& row : graph::kFunctions) {
    if (row.node == graph::Operator::kNone || row.domain == FunctionDomain::kInteger ||
        row.result == graph::FunctionResult::kLogical)
      continue;
    CAPTURE(text(row.node));
    Network constant, fed(true);
    for (Network* each : {&constant, &fed}) {
      std::vector<ValueId> inputs;
      for (int i = 0; i < row.operands; i++)
        inputs.push_back(each->floats({graph::kMaxContents + 9}));
      each->model.graph.outputs = {each->node(row.node, inputs)};
    }
    CHECK(folded(constant) == run_of(fed));
  }
}

TEST_CASE("fold_by_running: what depends on an input, is random or quantizes stays") {
  Network n;
  const ValueId x = n.input("x", {2, 3}), c = n.floats({2, 3});
  const NodeAttributes last = {{attr::axis, int64_t(-1)}};
  const ValueId reads = n.node(op::Softmax, {x}, last);
  const ValueId drawn = n.node(op::RandomNormalLike, {c});
  const ValueId bytes = n.node(op::QuantizeLinear, {c, n.add(graph::make_scalar(DType::kF32, 0.5)),
                                                    n.add(graph::make_scalar(DType::kU8, 128))});
  n.model.graph.outputs = {reads, n.node(op::Softmax, {drawn}, last), bytes};
  n.import();
  const size_t before = n.model.graph.nodes.size();
  CHECK(fold_by_running(n.model, {}) == 0);
  CHECK(n.model.graph.nodes.size() == before);
  CHECK(n.count(op::Softmax) == 2);
  CHECK(n.count(op::QuantizeLinear) == 1);
}

TEST_CASE("fold_by_running: in a branch, whose reader stays") {
  Network n;
  const ValueId x = n.input("x", {4}), condition = n.input("condition", {}, DType::kBool);
  const ValueId table = n.floats({3, 4});
  const auto branch = [&](graph::Operator op) {
    auto graph = std::make_shared<graph::Graph>();
    n.block = graph.get();
    const NodeAttributes rows = {{attr::axes, Ints{0}}, {attr::keepdims, int64_t(0)}};
    graph->outputs = {n.node(op::Add, {x, n.node(op, {table}, rows)})};
    n.block = &n.model.graph;
    return graph;
  };
  n.model.graph.outputs = {n.node(
      op::If, {condition},
      {{attr::then_branch, branch(op::ReduceMean)}, {attr::else_branch, branch(op::ReduceL2)}})};
  n.import();
  CHECK(fold_by_running(n.model, {}) == 2);
  for (const auto& inner : n.model.graph.nodes.back().subgraphs()) {
    REQUIRE(inner->nodes.size() == 1);
    CHECK(inner->nodes[0].op == op::Add);
    CHECK(n.model.constant(inner->nodes[0].inputs[1]));
  }
}

TEST_CASE("fold_by_running: an index out of range is left to the run, which refuses it") {
  Network n;
  n.model.graph.outputs = {n.node(op::ReduceMean,
                                  {n.node(op::Gather, {n.floats({3}), n.integers({1}, {3})},
                                          {{attr::axis, int64_t(0)}})},
                                  {{attr::axes, Ints{0}}, {attr::keepdims, int64_t(0)}}),
                           n.node(op::Softmax, {n.floats({8})}, {{attr::axis, int64_t(-1)}})};
  n.import();
  CHECK(fold_by_running(n.model, {}) == 1);  // what does not read it
  CHECK(n.count(op::Softmax) == 0);
  CHECK(n.count(op::Gather) == 1);
  CHECK(n.count(op::ReduceMean) == 1);
}

TEST_CASE("fold_by_running: hours of work are left alone, and what is small beside them is not") {
  Network n;
  ValueId y = n.floats({1024, 1024});
  const ValueId w = n.floats({1024, 1024});
  for (int i = 0; i < 4000; i++) y = n.node(op::MatMul, {y, w});  // 4e12 products
  const ValueId small = n.node(op::Softmax, {n.floats({8})}, {{attr::axis, int64_t(-1)}});
  const ValueId wide =
      n.node(op::Tile, {n.node(op::Softmax, {n.floats({64})}, {{attr::axis, int64_t(-1)}}),
                        n.integers({1}, {1 << 16})});
  n.model.graph.outputs = {y, small, wide};
  n.import();
  const host::WorkBudget budget("constants", 0);
  CHECK(fold_by_running(n.model, {}) == 2);
  CHECK(n.count(op::MatMul) == 4000);
  CHECK(n.count(op::Tile) == 1);
  CHECK(n.count(op::Softmax) == 0);
  CHECK(budget.steps() < (1 << 20));
}

TEST_CASE("fold_by_running: many nodes that each are small share one budget") {
  Network n;
  ValueId y = n.floats({256, 256});
  const ValueId w = n.floats({256, 256});
  for (int i = 0; i < 1000; i++) y = n.node(op::MatMul, {y, w});  // of 2^24 products each
  n.model.graph.outputs = {y};
  n.import();
  const size_t ran = fold_by_running(n.model, {});
  CHECK(ran > 100);
  CHECK(ran < 128);
  CHECK(n.count(op::MatMul) == 1000 - ran);
}

TEST_CASE("fold_by_running: steps grow with what the source has, not with what folding made") {
  constexpr int64_t kElements = 1 << 18, kNodes = 40;  // of 2^24 steps each
  for (const bool is_large : {false, true}) {
    CAPTURE(is_large);
    Network n;
    const ValueId all = n.floats({kElements}), place = n.floats({1, 1, 1, 2}, {0, 0});
    if (is_large) n.model.allow_folding(1 << 22);
    for (int64_t i = 0; i < kNodes; i++) {  // a view costs the file some bytes
      const int64_t rows = int64_t(1) << i % 16;
      const ValueId view =
          n.node(op::Reshape, {all, n.integers({4}, {1, 1, rows, kElements / rows})});
      n.model.graph.outputs.push_back(n.node(op::GridSample, {view, place}));
    }
    n.import();
    REQUIRE(n.count(op::GridSample) == size_t(kNodes));
    fold_by_running(n.model, {});
    CHECK(n.count(op::GridSample) == size_t(kNodes - (is_large ? 31 : 15)));
  }
}

}  // namespace ingot::convert
