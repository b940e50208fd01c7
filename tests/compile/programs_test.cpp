// SPDX-License-Identifier: Apache-2.0
// Whole conversions of small core graphs: the file, run from its plan with the scalar kernels,
// against the lowered program, run with a buffer a value and the oracle's kernels. Whatever views,
// in-place results, chains or plans break shows here.
#include <doctest/doctest.h>

#include <algorithm>

#include "kernels/cpu/cpu_kernels.h"
#include "tests/compile/core_graph.h"
#include "tests/compile/interpreter.h"
#include "tools/compile/convert/convert.h"
#include "tools/compile/lower/lower.h"

namespace ingot::convert {
namespace {

struct Checked {
  ConversionReport report;
  std::vector<uint8_t> file;
};

/// Converts, runs and compares under every binding.
Checked convert_and_compare(const CoreGraph& graph, const std::vector<Bindings>& bindings,
                            const ConvertOptions& options) {
  ConvertOptions plain = options;
  plain.winograd = WinogradMode::kOff;
  ConversionReport ignored;
  const LoweredProgram lowered = lower(graph.model, plain, &ignored);
  graph::Model copy = graph.model;
  const ConversionResult converted = convert_model(std::move(copy), options);
  Checked checked{converted.report, write_memory(converted.file)};
  for (uint32_t seed = 0; seed < 3; seed++)  // of the inputs, so that conditions go both ways
    for (const Bindings& binding : bindings) {
      const Tensors inputs = random_inputs(lowered, binding, seed);
      const Tensors expected = run_lowered(lowered, binding, inputs);
      const FileRun run = run_file(checked.file, binding, inputs, *cpu_kernels("scalar"));
      REQUIRE(run.error == "");
      for (const PortSpec& port : lowered.outputs) {
        CAPTURE(port.name);
        const double limit = lowered.at(port.value).dtype == DType::kF32 ? 3e-5 : 0;
        CHECK(difference(run.outputs.at(port.name), expected.at(port.name),
                         lowered.at(port.value).dtype) <= limit);
      }
    }
  return checked;
}

Checked check(const CoreGraph& graph, const std::vector<Bindings>& bindings = {{}},
              const ConvertOptions& options = {}) {
  try {
    return convert_and_compare(graph, bindings, options);
  } catch (const graph::ConversionError& error) {
    FAIL(error.message);
  }
  return {};
}

}  // namespace

TEST_CASE("convert: convolutions of every method, with residuals in place") {
  CoreGraph g;
  const ValueId x = g.input("x", {1, 12, 12, 16});
  ValueId y = g.conv(x, 16, 3);
  y = g.conv(g.conv(y, 16, 1), 16, 1, 1, "none", y);
  y = g.conv(y, 16, 3, 1, "relu", -1, "depthwise");
  y = g.conv(y, 20, 5, 2, "hard_swish");
  g.output(y);
  const Checked checked = check(g);
  CHECK(checked.report.winograd == 1);
  CHECK(checked.report.in_place >= 1);
}

TEST_CASE("convert: C2f runs from one storage") {
  CoreGraph g;
  const ValueId x = g.input("x", {1, 6, 6, 8});
  const ValueId t = g.conv(x, 16, 1, 1, "silu"), a = g.slice_channels(t, 0, 8),
                b = g.slice_channels(t, 8, 8);
  const ValueId p = g.conv(g.conv(b, 8, 3), 8, 3, 1, "relu", b);
  g.output(g.conv(g.concat({a, b, p}, 3), 12, 1));
  const Checked checked = check(g);
  CHECK(checked.report.copies.empty());
  CHECK(checked.report.views >= 3);
}

TEST_CASE(
    "convert: concats along rows, nested, with an input as a part and outputs along the way") {
  CoreGraph g;
  const ValueId x = g.input("x", {1, 4, 6, 4});
  const ValueId a = g.relu(x), b = g.conv(x, 4, 3), c = g.concat({a, b}, 1),
                d = g.concat({c, x}, 1), e = g.concat({d, d}, 3);
  g.output(g.relu(e));
  g.output(c);
  g.output(a);
  check(g);
}

TEST_CASE("convert: outputs that are an input, a constant, the same value twice, or reshaped") {
  CoreGraph g;
  const ValueId x = g.input("x", {2, 8});
  const ValueId y = g.relu(x), r = g.node(op::Reshape, {y}, {4, 4}), k = g.weights({3});
  for (const ValueId id : {x, y, r, k}) g.output(id);
  check(g);
}

TEST_CASE("convert: chains in bands give what the convolutions give alone") {
  CoreGraph g;
  const ValueId x = g.input("x", {1, 40, 40, 8});
  ValueId y = g.conv(x, 96, 1, 1, "relu6");
  y = g.conv(y, 96, 3, 2, "relu6", -1, "depthwise");
  y = g.conv(y, 24, 1, 1, "none");
  g.output(y);
  const Checked checked = check(g);
  CHECK(checked.report.chains == 1);
  CHECK(checked.report.instructions.size() == 1);
  CHECK(checked.report.arena_bytes < 200000);
}

TEST_CASE(
    "convert: chains of bytes give the integers of the convolutions, not where memory is small") {
  CoreGraph g;
  const ValueId x = g.input("x", {1, 40, 40, 8});
  ValueId y = g.node(op::Quantize, {x}, {1, 40, 40, 8},
                     {{attr::scale, 0.01}, {attr::zero_point, 120}}, DType::kU8);
  y = g.conv_of_bytes(y, 96, 1);
  y = g.conv_of_bytes(y, 96, 3, 2, "depthwise");
  y = g.conv_of_bytes(y, 24, 1);
  g.output(y);
  const Checked checked = check(g);
  CHECK(checked.report.chains == 1);
  CHECK(checked.report.instructions.size() == 2);
  ConvertOptions small;
  small.targets = {"mcu"};
  CHECK(check(g, {{}}, small).report.chains == 0);
  CoreGraph read_twice;
  ValueId z = read_twice.input("x", {1, 40, 40, 8}, DType::kU8);
  const ValueId between = read_twice.conv_of_bytes(z, 96, 1);
  read_twice.output(read_twice.conv_of_bytes(between, 96, 3, 1, "depthwise"));
  read_twice.output(between);
  CHECK(check(read_twice).report.chains == 0);
}

TEST_CASE("convert: an If writes its result in both branches, from values of its owner") {
  for (const bool constant_branch : {false, true}) {
    CoreGraph g;
    const ValueId condition = g.input("condition", {}, DType::kBool), x = g.input("x", {2, 8});
    const ValueId a = g.relu(x), r = g.value("r", {2, 8});
    auto then_branch = std::make_shared<graph::Graph>(),
         else_branch = std::make_shared<graph::Graph>();
    g.begin(then_branch.get());
    const ValueId t = g.add_to(a, x);
    then_branch->outputs = {g.relu(t)};
    g.begin(else_branch.get());
    if (!constant_branch) else_branch->outputs = {a};
    g.end();
    if (constant_branch) else_branch->outputs = {g.weights({2, 8})};
    g.add(op::If, {condition}, {r},
          {{attr::then_branch, then_branch}, {attr::else_branch, else_branch}});
    g.output(g.add_to(r, a));
    check(g);
  }
}

TEST_CASE("convert: symbolic dims, views and all, under several bindings") {
  CoreGraph g;
  const graph::Dim w = graph::Dim::symbol("w");
  const ValueId x = g.input("x", {1, 6, w, 4});
  const ValueId a = g.conv(x, 8, 3), b = g.conv(x, 8, 1);
  const ValueId c = g.concat({a, b}, 3), d = g.conv(c, 6, 3, 2);
  const ValueId e =
      g.node(op::Reshape, {d},
             {graph::Dim(3) * ((w + graph::Dim(-1)) / graph::Dim(2) + graph::Dim(1)), 6});
  g.output(g.relu(e));
  check(g, {{{"w", 1}}, {{"w", 7}}, {{"w", 64}}});
}

TEST_CASE("convert: linear, matmul, softmax, normalize, transpose and gather") {
  CoreGraph g;
  const ValueId x = g.input("x", {4, 10});
  const ValueId n =
      g.node(op::Normalize, {x, g.weights({10}), g.weights({10})}, {4, 10},
             {{attr::kind, std::string("layer")}, {attr::axis, int64_t{1}}, {attr::epsilon, 1e-5}});
  const ValueId q = g.node(op::Linear, {n, g.weights({33, 10}), g.weights({33})}, {4, 33},
                           {{attr::activation, std::string("gelu")}});
  const ValueId t = g.node(op::Transpose, {q}, {33, 4}, {{attr::perm, std::vector<int64_t>{1, 0}}});
  const ValueId s = g.node(op::MatMul, {q, t}, {4, 4}, {{attr::alpha, 0.5}});
  const ValueId p = g.node(op::Softmax, {s}, {4, 4}, {{attr::axis, int64_t{1}}});
  const ValueId one = g.node(op::Gather, {p, g.indices({}, {2})}, {4}, {{attr::axis, int64_t{0}}});
  const ValueId some =
      g.node(op::Gather, {p, g.indices({2}, {3, -4})}, {2, 4}, {{attr::axis, int64_t{0}}});
  for (const ValueId id : {p, g.relu(one), some}) g.output(id);
  const Checked checked = check(g);
  CHECK(std::count_if(checked.report.instructions.begin(), checked.report.instructions.end(),
                      [](const InstructionReport& i) { return i.op == "gather"; }) == 1);
}

TEST_CASE("convert: recurrent cells with a hidden size that is no multiple of 16") {
  for (const char* kind : {"lstm", "gru", "rnn"}) {
    CAPTURE(kind);
    const int64_t gates = kind == std::string("lstm") ? 4 : kind == std::string("gru") ? 3 : 1;
    CoreGraph g;
    const ValueId x = g.input("x", {5, 2, 6}), h0 = g.input("h0", {2, 2, 9});
    const ValueId w = g.weights({2, gates * 9, 6}), r = g.weights({2, gates * 9, 9}),
                  b = g.weights({2, 1, gates * 9});
    const ValueId y = g.value("y", {5, 2, 2, 9}), h = g.value("h", {2, 2, 9});
    g.add(op::Recurrent, {x, w, r, b, h0}, {y, h},
          {{attr::kind, std::string(kind)},
           {attr::direction, std::string("bidirectional")},
           {attr::hidden, int64_t{9}}});
    g.output(y);
    g.output(h);
    check(g);
  }
}

TEST_CASE("convert: transposed convolution, pools, resize, pad and reduce") {
  CoreGraph g;
  const ValueId x = g.input("x", {1, 8, 8, 6});
  const ValueId t =
      g.node(op::ConvTranspose2d, {x, g.weights({10, 2, 2, 6}), g.weights({10})}, {1, 16, 16, 10},
             {{attr::kernel_shape, std::vector<int64_t>{2, 2}},
              {attr::strides, std::vector<int64_t>{2, 2}}});
  const ValueId p = g.node(op::Pool2d, {t}, {1, 8, 8, 10},
                           {{attr::kind, std::string("max")},
                            {attr::kernel_shape, std::vector<int64_t>{2, 2}},
                            {attr::strides, std::vector<int64_t>{2, 2}}});
  const ValueId z = g.node(op::Resize, {p}, {1, 16, 16, 10},
                           {{attr::mode, std::string("nearest")},
                            {attr::coordinate, std::string("asymmetric")},
                            {attr::nearest, std::string("floor")},
                            {attr::scales, std::vector<double>{1, 2, 2, 1}}});
  const ValueId d = g.node(op::Pad, {z}, {1, 18, 17, 10},
                           {{attr::before, Dims{0, 1, 0, 0}}, {attr::value, 0.25}});
  const ValueId m = g.node(op::Reduce, {d}, {1, 1, 1, 10},
                           {{attr::kind, std::string("mean")}, {attr::axes, int64_t{6}}});
  g.output(m);
  g.output(g.concat({z, t}, 3));
  check(g);
}

TEST_CASE("convert: the same model gives the same bytes") {
  const auto bytes = [] {
    CoreGraph g(3);
    const ValueId x = g.input("x", {1, 12, 12, 16});
    const ValueId a = g.conv(x, 16, 3), b = g.conv(a, 16, 3);
    g.output(g.concat({a, b}, 3));
    ConvertOptions options;
    return write_memory(convert_model(std::move(g.model), options).file);
  };
  CHECK(bytes() == bytes());
}

namespace {

/// If (condition) relu(a) + b, twice over, else the second half of concat(a, b); both read values
/// that are read again later.
ValueId conditional(CoreGraph* g, ValueId condition, ValueId a, ValueId b) {
  const Dims dims = g->model.values[size_t(a)].dims;
  const ValueId result = g->value("if" + std::to_string(g->model.values.size()), dims);
  auto then_branch = std::make_shared<graph::Graph>(),
       else_branch = std::make_shared<graph::Graph>();
  graph::Graph* const outer = g->begin(then_branch.get());
  const ValueId sum = g->add_to(g->relu(a), b);
  then_branch->outputs = {g->add_to(sum, g->relu(sum))};
  g->begin(else_branch.get());
  else_branch->outputs = {g->slice_channels(g->concat({g->relu(a), g->relu(b)}, 3), 2, 4)};
  g->end(outer);
  g->add(op::If, {condition}, {result},
         {{attr::then_branch, then_branch}, {attr::else_branch, else_branch}});
  return result;
}

/// Three rounds of (p, q) = (f(p + b, q), p), f an If and inside it at times another loop; both
/// results are used.
ValueId looped(CoreGraph* g, ValueId condition, ValueId a, ValueId b, int depth) {
  const Dims dims = g->model.values[size_t(a)].dims;
  const std::string suffix = std::to_string(g->model.values.size());
  const ValueId p = g->value("p" + suffix, dims), q = g->value("q" + suffix, dims);
  const ValueId iteration = g->value("i" + suffix, {}, DType::kI64);
  const ValueId first = g->value("first" + suffix, dims),
                second = g->value("second" + suffix, dims);
  auto body = std::make_shared<graph::Graph>();
  body->inputs = {iteration, p, q};
  graph::Graph* const outer = g->begin(body.get());
  const ValueId sum = g->add_to(p, g->slice_channels(g->concat({b, q}, 3), 2, 4));
  ValueId next = depth == 0 ? g->relu(sum) : conditional(g, condition, sum, q);
  if (depth == 2) next = looped(g, condition, next, q, 1);
  body->outputs = {graph::kAbsent, next, p};
  g->end(outer);
  g->add(op::Loop, {graph::kAbsent, graph::kAbsent, a, b}, {first, second},
         {{attr::body, body}, {attr::most, Dims{3}}});
  return g->add_to(first, second);
}

}  // namespace

TEST_CASE("convert: a loop in an If in a loop, what is carried changing places") {
  for (int depth = 0; depth < 3; depth++) {
    CAPTURE(depth);
    CoreGraph g;
    const ValueId condition = g.input("condition", {}, DType::kBool);
    const ValueId a = g.input("a", {1, 2, 2, 4}), b = g.input("b", {1, 2, 2, 4});
    g.output(g.relu(looped(&g, condition, g.relu(a), b, depth)));
    check(g);
  }
}

TEST_CASE("convert: what a loop carries is computed where it lies") {
  CoreGraph g;
  const ValueId x = g.input("x", {2, 64}), w = g.weights({64, 64});
  const ValueId iteration = g.value("i", {}, DType::kI64), h = g.value("h", {2, 64}),
                y = g.value("y", {2, 64});
  auto body = std::make_shared<graph::Graph>();
  body->inputs = {iteration, h};
  g.begin(body.get());
  body->outputs = {graph::kAbsent, g.relu(g.node(op::Linear, {h, w}, {2, 64}))};
  g.end();
  g.add(op::Loop, {graph::kAbsent, graph::kAbsent, x}, {y},
        {{attr::body, body}, {attr::most, Dims{4}}});
  g.output(y);
  const Checked checked = check(g);
  size_t copies = 0;
  for (const InstructionReport& i : checked.report.instructions) copies += i.op == "copy";
  CHECK(copies == 1);                                 // of x, which stays the caller's
  CHECK(checked.report.arena_bytes <= 3 * 512 + 64);  // x, y, the product
}

TEST_CASE("convert: random graphs of concats, slices, reshapes and sums") {
  for (uint32_t seed = 1; seed <= 60; seed++) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    CoreGraph g(seed);
    std::vector<ValueId> values{g.input("x", {1, 4, 4, 4}), g.input("z", {1, 4, 4, 4})};
    const ValueId condition = g.input("condition", {}, DType::kBool);
    const auto pick = [&] { return values[random() % values.size()]; };
    for (int i = 0; i < 14; i++) {
      const ValueId a = pick(), b = pick();
      const Dims dims = g.model.values[size_t(a)].dims;
      switch (random() % 9) {
        case 8:
          values.push_back(g.slice_channels(looped(&g, condition, a, b, int(random() % 3)), 0, 4));
          break;
        case 7: values.push_back(conditional(&g, condition, a, b)); break;
        case 6: {  // a concat read once, as a whole, reshaped, and overwritten if that is allowed
          const ValueId whole =
              g.relu(g.node(op::Reshape, {g.concat({g.relu(a), g.relu(b)}, 1)}, {1, 8, 16}));
          values.push_back(g.node(op::Reshape,
                                  {g.node(op::Slice, {whole}, {1, 4, 16},
                                          {{attr::starts, Dims{0, int64_t(random() % 4), 0}},
                                           {attr::steps, std::vector<int64_t>{1, 1, 1}}})},
                                  dims));
          break;
        }
        case 0: values.push_back(g.relu(a)); break;
        case 1:
          values.push_back(g.slice_channels(g.concat({a, b}, 3), int64_t(random() % 5), 4));
          break;
        case 2: {
          const ValueId rows = g.concat({a, b}, 1);
          const int64_t start = int64_t(random() % 5);
          values.push_back(g.node(op::Slice, {rows}, dims,
                                  {{attr::starts, Dims{0, start, 0, 0}},
                                   {attr::steps, std::vector<int64_t>{1, 1, 1, 1}}}));
          break;
        }
        case 3: {
          const ValueId flat = g.relu(g.node(op::Reshape, {a}, {1, 64}));
          values.push_back(g.node(op::Reshape, {flat}, dims));
          break;
        }
        case 4: values.push_back(g.add_to(a, b)); break;
        case 5: {
          const ValueId c = g.slice_channels(a, 0, 2),
                        d = g.slice_channels(random() % 2 ? a : b, 2, 2);
          values.push_back(g.concat({c, d}, 3));
          break;
        }
      }
    }
    for (int i = 0; i < 3; i++) g.output(values[values.size() - 1 - size_t(i)]);
    check(g);
  }
}

}  // namespace ingot::convert
