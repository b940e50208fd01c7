// SPDX-License-Identifier: Apache-2.0
// Which layers become bytes, what stands around them, and what that costs, evaluated in double.
#include "tools/compile/quantize/insert.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/graph_builder.h"
#include "tools/compile/quantize/layers.h"

using namespace ingot;
using namespace ingot::quantize;
using namespace ingot::test;
using Numbers = std::vector<int64_t>;

namespace {

passes::Attributes window(int64_t kernel, int64_t group = 1) {
  const int64_t pad = kernel / 2;
  return {{attr::kernel_shape, Numbers{kernel, kernel}},
          {attr::strides, Numbers{1, 1}},
          {attr::dilations, Numbers{1, 1}},
          {attr::pads, Numbers{pad, pad, pad, pad}},
          {attr::group, group}};
}

/// A stem, a depthwise block with a residual, a mean over the image and a head behind it.
struct Network {
  GraphBuilder g;
  ValueId x, stem, block, sum, head, said;
  Network() {
    x = g.input("x", {1, 3, 8, 8});
    stem = g.node(op::Relu,
                  {g.node(op::Conv, {x, g.weights({8, 3, 3, 3}), g.weights({8})}, window(3))});
    const ValueId deep =
        g.node(op::Clip, {g.node(op::Conv, {stem, g.weights({8, 1, 3, 3})}, window(3, 8))},
               {{attr::min, 0.0}, {attr::max, 6.0}});
    block = g.node(op::Conv, {deep, g.weights({8, 8, 1, 1}), g.weights({8})}, window(1));
    sum = g.node(op::Add, {block, stem});
    const ValueId mean = g.node(
        op::ReduceMean, {sum}, {{attr::axes, Numbers{2, 3}}, {attr::keepdims, int64_t(0)}}, {1, 8});
    head = g.node(op::Gemm, {mean, g.weights({5, 8}), g.weights({5})},
                  {{attr::transB, int64_t(1)},
                   {attr::alpha, 1.0},
                   {attr::beta, 1.0},
                   {attr::transA, int64_t(0)}});
    said = g.node(op::Sigmoid, {head});
    g.output(said);
    g.model.values[size_t(said)].name = "said";
  }
};

Sites sites_of(const graph::Model& model, const Keep& keep = {}) {
  std::set<std::string> matched;
  return find_sites(model, keep, &matched);
}

/// Ranges of all tensors, of the network's own numbers.
Found found_in(GraphBuilder g, const Sites& sites) {
  add_outputs(g.model, sites);
  Found found;
  for (const auto& [name, tensor] : g.outputs()) {
    const int64_t id = number_of_output(name, "calibrate");
    if (id < 0) continue;
    Range& range = found.ranges[ValueId(id)];
    for (const double x : tensor.at)
      range.low = std::min(range.low, x), range.high = std::max(range.high, x);
  }
  return found;
}

double decibels(const std::vector<double>& expected, const std::vector<double>& found) {
  double signal = 0, noise = 0;
  for (size_t i = 0; i < expected.size(); i++) {
    signal += expected[i] * expected[i];
    noise += (expected[i] - found[i]) * (expected[i] - found[i]);
  }
  return 10 * std::log10(signal / noise);
}

}  // namespace

TEST_CASE("layers take their limits along, and what leads to a layer works on bytes") {
  Network n;
  prepare(n.g.model);
  const Sites sites = sites_of(n.g.model);
  REQUIRE(sites.layers.size() == 4);
  CHECK(sites.layers[0].output == n.stem);
  CHECK(sites.layers[0].tail.size() == 1);
  CHECK(sites.layers[1].groups == 8);
  CHECK(sites.layers[3].axis == 0);
  CHECK(sites.steps.size() == 2);  // the sum and the mean; the sigmoid leads to no layer
  for (const ValueId id : {n.x, n.stem, n.block, n.sum, n.head})
    CHECK(std::count(sites.tensors.begin(), sites.tensors.end(), id) == 1);
  CHECK(sites.tensors.size() == 7);
  CHECK(std::count(sites.tensors.begin(), sites.tensors.end(), n.said) == 0);
}

TEST_CASE("the network with bytes gives nearly the same, under the same names") {
  Network n;
  prepare(n.g.model);
  const Sites sites = sites_of(n.g.model);
  const Found found = found_in(n.g, sites);
  const auto before = n.g.outputs();
  insert_quantization(n.g.model, sites, found, {});
  const auto after = n.g.outputs();
  REQUIRE(after.count("said") == 1);
  const double loss = decibels(before.at("said").at, after.at("said").at);
  CHECK(loss > 25);
  CHECK(loss < 80);  // something was rounded
  // Each kind of number once: u8 of tensors, i8 of weights, i32 of biases.
  std::map<DType, int> constants;
  for (const graph::Value& value : n.g.model.values)
    if (value.constant) constants[value.constant->dtype]++;
  CHECK(constants[DType::kI8] >= 4);
  CHECK(constants[DType::kI32] >= 3);
  double worst = 1;
  convert_and_compare(n.g, worst);
  CHECK(worst < 0.02);  // as integers: a step here or there
}

TEST_CASE("a layer that is kept stays as it was, and what it took along as well") {
  Network n;
  prepare(n.g.model);
  Keep keep;
  keep.patterns = {"Gemm_*", "nothing"};
  std::set<std::string> matched;
  const Sites sites = find_sites(n.g.model, keep, &matched);
  CHECK(sites.layers.size() == 3);
  CHECK(sites.kept.size() == 1);
  CHECK(sites.steps.empty());  // nothing behind the mean is a layer any more
  CHECK(matched == std::set<std::string>{"Gemm_*"});
  Keep by_place;
  by_place.nodes = {sites.layers[1].node};
  CHECK(sites_of(n.g.model, by_place).layers.size() == 3);
}

TEST_CASE("limits behind a sum are part of it") {
  GraphBuilder g;
  const ValueId x = g.input("x", {1, 4, 4, 4});
  const ValueId a = g.node(op::Conv, {x, g.weights({4, 4, 1, 1})}, window(1));
  const ValueId sum = g.node(op::Relu, {g.node(op::Add, {a, x})});
  g.output(g.node(op::Conv, {sum, g.weights({4, 4, 1, 1})}, window(1)));
  prepare(g.model);
  const Sites sites = sites_of(g.model);
  CHECK(sites.tensors == std::vector<ValueId>{x, a, sum, g.model.graph.outputs[0]});
  const Found found = found_in(g, sites);
  const auto before = g.outputs();
  insert_quantization(g.model, sites, found, {});
  CHECK(decibels(before.begin()->second.at, g.outputs().begin()->second.at) > 25);
  double worst = 1;
  convert_and_compare(g, worst);
  CHECK(worst < 0.02);
  CHECK(g.count("QuantizedElementwise") == 1);
  CHECK(g.count("Lookup") + g.count("Elementwise") == 0);
}

TEST_CASE("bytes stay bytes through all that moves them, as recognition has it") {
  const auto pad = [](const char* mode, double value) {
    return passes::Attributes{{attr::mode, std::string(mode)},
                              {attr::before, graph::Dims{0, 0, 1, 1}},
                              {attr::value, value}};
  };
  const auto resize = [](const char* mode) {
    return passes::Attributes{{attr::mode, std::string(mode)},
                              {attr::coordinate_transformation_mode, std::string("asymmetric")},
                              {attr::nearest_mode, std::string("floor")},
                              {attr::cubic_coeff_a, -0.75},
                              {attr::exclude_outside, int64_t(0)},
                              {attr::scales, std::vector<double>{1, 1, 2, 2}}};
  };
  struct Case {
    graph::Operator op;
    passes::Attributes attributes;
    Dimensions y;
    bool moves;
  };
  const std::vector<Case> all = {{op::Resize, resize("nearest"), {1, 4, 8, 8}, true},
                                 {op::Resize, resize("linear"), {1, 4, 8, 8}, false},
                                 {op::Gather, {{attr::axis, int64_t(1)}}, {1, 4, 4, 4}, true},
                                 {op::Pad, pad("constant", 0), {1, 4, 6, 6}, true},
                                 {op::Pad, pad("constant", 9), {1, 4, 6, 6}, false},
                                 {op::Pad, pad("reflect", 0), {1, 4, 6, 6}, true}};
  for (const Case& c : all) {
    CAPTURE(graph::text(c.op));
    GraphBuilder g;
    const ValueId x = g.input("x", {1, 4, 4, 4}),
                  image = g.node(op::Conv, {x, g.weights({4, 4, 1, 1})}, window(1));
    std::vector<ValueId> operands = {image};
    if (c.op == op::Gather) operands.push_back(g.indices({4}, {3, 1, 1, 0}));
    const ValueId y = g.node(c.op, operands, c.attributes, c.y);
    g.output(g.node(op::Conv, {y, g.weights({4, 4, 1, 1})}, window(1)));
    prepare(g.model);
    const Sites sites = sites_of(g.model);
    CHECK(sites.steps.size() == size_t(c.moves));
    CHECK((sites.scaled_as(y) == image) == c.moves);
    if (!c.moves) continue;
    insert_quantization(g.model, sites, found_in(g, sites), {});
    double worst = 1;
    convert_and_compare(g, worst);
    CHECK(worst < 0.02);
    CHECK(g.count("QuantizedConv2d") == 2);
    CHECK(g.count("Quantize") == 1);
    CHECK(g.count("Lookup") == 0);
  }
}

TEST_CASE("what only moves has the scale of what it moves") {
  GraphBuilder g;
  const ValueId x = g.input("x", {1, 4, 4, 4});
  const ValueId image = g.node(op::Conv, {x, g.weights({4, 4, 1, 1})}, window(1));
  const ValueId pooled = g.node(op::MaxPool, {image}, window(1), {});
  const ValueId flat = g.node(op::Reshape, {pooled}, {}, {1, 64});
  const ValueId y = g.node(op::MatMul, {flat, g.weights({64, 3})});
  const ValueId biased = g.node(op::Add, {y, g.weights({3})});
  g.output(biased);
  prepare(g.model);
  const Sites sites = sites_of(g.model);
  REQUIRE(sites.layers.size() == 2);
  CHECK(sites.scaled_as(flat) == image);
  CHECK(sites.layers[1].output == biased);
  const Found found = found_in(g, sites);
  CHECK(found.ranges.count(pooled) == 0);
  const auto before = g.outputs();
  insert_quantization(g.model, sites, found, {});
  CHECK(decibels(before.begin()->second.at, g.outputs().begin()->second.at) > 25);
}

TEST_CASE("batch normalization and scales go into the weights first") {
  GraphBuilder g;
  const ValueId x = g.input("x", {1, 3, 4, 4});
  const ValueId a = g.node(op::Conv, {x, g.weights({6, 3, 3, 3})}, window(3));
  const ValueId b = g.node(op::BatchNormalization,
                           {a, g.positive({6}), g.weights({6}), g.weights({6}), g.positive({6})},
                           {{attr::epsilon, 1e-5}});
  const ValueId c = g.node(op::Mul, {b, g.positive({6, 1, 1})});
  g.output(g.node(op::Add, {c, g.weights({1, 6, 1, 1})}));
  const auto before = g.outputs();
  prepare(g.model);
  CHECK(g.count("BatchNormalization") + g.count("Mul") + g.count("Add") == 0);
  CHECK(difference(before, g.outputs()) < 1e-5);
  CHECK(sites_of(g.model).layers.size() == 1);
}

TEST_CASE("each layer's loss is that of the layer alone") {
  Network n;
  prepare(n.g.model);
  const Sites sites = sites_of(n.g.model);
  const Found found = found_in(n.g, sites);
  const auto before = n.g.outputs();
  add_layer_losses(n.g.model, sites, found, {});
  const auto after = n.g.outputs();
  CHECK(after.at("said").at == before.at("said").at);
  for (size_t i = 0; i < sites.layers.size(); i++) {
    const double noise = after.at("noise:" + std::to_string(i)).at[0],
                 signal = after.at("signal:" + std::to_string(i)).at[0];
    CHECK(noise > 0);
    CHECK(10 * std::log10(signal / noise) > 25);
  }
  // One layer with a range that is far too wide, and only that one.
  Network other;
  prepare(other.g.model);
  Found wide = found;
  wide.ranges[n.block].high *= 1000;
  add_layer_losses(other.g.model, sites, wide, {});
  const auto worse = other.g.outputs();
  for (size_t i = 0; i < sites.layers.size(); i++) {
    const std::string name = "noise:" + std::to_string(i);
    CHECK((worse.at(name).at[0] > 100 * after.at(name).at[0]) ==
          (sites.layers[i].output == n.block));
  }
}

TEST_CASE("weights: a scale for each channel, the largest at 127, fitted ones with less error") {
  const std::vector<float> numbers = {1, -2, 0.5f, 100, 3, -50, 0, 0, 0};  // [3, 3]
  const Constant weights = graph::make_constant(DType::kF32, {3, 3}, numbers.data());
  const ByteWeights rows = quantize_weights(weights, 0, false, {});
  REQUIRE(rows.scales.size() == 3);
  CHECK(rows.scales[0] == doctest::Approx(2.0 / 127));
  CHECK(rows.bytes[1] == -127);
  CHECK(rows.bytes[3] == 127);
  CHECK(std::isnormal(rows.scales[2]));
  CHECK(rows.bytes[8] == 0);
  const ByteWeights columns = quantize_weights(weights, 1, false, {});
  CHECK(columns.scales[0] == doctest::Approx(100.0 / 127));
  CHECK(columns.bytes[0] == 1);
  const ByteWeights wide = quantize_weights(weights, 0, false, {1, 1, 1});
  CHECK(wide.scales[0] == 1);
  std::vector<float> rare(1000, 0.01f);
  for (size_t i = 0; i < rare.size(); i++) rare[i] *= float(std::sin(double(i)));
  rare[0] = 1;
  const Constant one = graph::make_constant(DType::kF32, {1, 1000}, rare.data());
  const auto error = [&](const ByteWeights& w) {
    double sum = 0;
    for (size_t i = 0; i < rare.size(); i++) {
      const double each = double(w.bytes[i]) * double(w.scales[0]) - double(rare[i]);
      sum += each * each;
    }
    return sum;
  };
  CHECK(error(quantize_weights(one, 0, true, {})) <= error(quantize_weights(one, 0, false, {})));
}

TEST_CASE("bias correction takes away what rounding adds on average") {
  GraphBuilder g;
  const ValueId x = g.input("x", {1, 6, 4, 4});
  g.output(g.node(op::Conv, {x, g.weights({4, 3, 1, 1}), g.weights({4})}, window(1, 2)));
  prepare(g.model);
  const Sites sites = sites_of(g.model);
  const Layer& layer = sites.layers[0];
  const Constant& weights = *g.model.constant(layer.weights);
  const ByteWeights rounded = quantize_weights(weights, 0, false, {});
  const std::vector<double> means = {1, 2, 3, 4, 5, 6};
  const std::vector<double> errors = mean_error(layer, weights, rounded, means);
  REQUIRE(errors.size() == 4);
  for (size_t o = 0; o < 4; o++) {
    double expected = 0;
    for (size_t c = 0; c < 3; c++)
      expected += (double(rounded.bytes[o * 3 + c]) * double(rounded.scales[o]) -
                   double(weights.as<float>()[o * 3 + c])) *
                  means[(o / 2) * 3 + c];
    CHECK(errors[o] == doctest::Approx(expected));
  }
}

TEST_CASE("what the last layer is off on average is taken off its bias, and of no other layer") {
  Network plain;
  prepare(plain.g.model);
  const Sites sites = sites_of(plain.g.model);
  const std::vector<ValueId> last = find_last_outputs(plain.g.model, sites);
  REQUIRE(last == std::vector<ValueId>{plain.head});
  Found found = found_in(plain.g, sites);
  Network shifted = plain;
  insert_quantization(plain.g.model, sites, found, {});
  found.shifts[plain.head] = {0.5, 0, 0, 0, -0.25};
  insert_quantization(shifted.g.model, sites, found, {});
  const auto logit = [](double p) { return std::log(p / (1 - p)); };
  const std::vector<double> a = plain.g.outputs().at("said").at,
                            b = shifted.g.outputs().at("said").at;
  const double step = double(scale_of(found.ranges[sites.scaled_as(plain.head)]).scale);
  for (size_t i = 0; i < a.size(); i++) {
    const double expected = found.shifts[plain.head][i];
    CHECK(std::fabs(logit(a[i]) - logit(b[i]) - expected) <= 2.1 * step + 0.02);
  }
}

TEST_CASE("weights that are no numbers are refused by the layer's name") {
  GraphBuilder g;
  const ValueId x = g.input("x", {1, 2, 4, 4});
  std::vector<double> odd(4, 1.0);
  odd[2] = std::numeric_limits<double>::quiet_NaN();
  g.output(g.node(op::Conv, {x, g.constant({2, 2, 1, 1}, odd)}, window(1)));
  const Sites sites = sites_of(g.model);
  try {
    insert_quantization(g.model, sites, {}, {});
    CHECK(false);
  } catch (const graph::ConversionError& error) {
    CHECK(error.exit_code == 4);
    CHECK(error.message.find("'Conv_0'") != std::string::npos);
    CHECK(error.message.find("--keep-fp32") != std::string::npos);
  }
}

TEST_CASE("patterns") {
  CHECK(matches("a*c", "abbc"));
  CHECK(matches("*", ""));
  CHECK(matches("*.conv", "x.y.conv"));
  CHECK(!matches("a*c", "abcd"));
  CHECK(!matches("", "a"));
}
