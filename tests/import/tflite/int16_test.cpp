// SPDX-License-Identifier: Apache-2.0
// The importer of TFLite on int16 beside int8, custom operators and weights in blocks: which nodes
// it makes, and what it refuses.
#include <flatbuffers/flexbuffers.h>

#include <cmath>

#include "tests/import/tflite/imported.h"
#include "tools/graph/tensor_math.h"

using namespace ingot;
using namespace ingot::test;
using importer::ExactTo;

namespace {

constexpr int kAdd = 0, kFullyConnected = 9, kLogistic = 14, kCustom = 32, kRfft2d = 131;
const auto kI8 = lite::TensorType::int8, kI16 = lite::TensorType::int16,
           kI32 = lite::TensorType::int32, kF32 = lite::TensorType::float32;

/// y = w x + b of int16 by int8; the bias is of `type`.
GraphGiven product_of_int16(lite::TensorType type, std::string bias) {
  GraphGiven g;
  g.tensors = {{"x", kI16, {1, 2}, "", {}, {0.5f}, {0}},
               {"w", kI8, {2, 2}, std::string("\1\2\3\4"), {}, {0.5f}, {0}},
               {"b", type, {2}, std::move(bias), {}, {0.25f}, {0}},
               {"y", kI16, {1, 2}, "", {}, {2.f}, {0}}};
  g.operators = {{kFullyConnected, {0, 1, 2}, {3}, 8}};
  g.inputs = {0};
  g.outputs = {3};
  return g;
}
GraphGiven unary(int code, lite::TensorType type, std::vector<int32_t> shape,
                 std::vector<float> scales) {
  GraphGiven g;
  g.tensors = {{"x", type, shape, "", {}, scales, std::vector<int64_t>(scales.size())},
               {"y", type, shape, "", {}, scales, std::vector<int64_t>(scales.size())}};
  g.operators = {{code, {0}, {1}}};
  g.inputs = {0};
  g.outputs = {1};
  return g;
}

}  // namespace

TEST_CASE("products of int16 have sums of 64 bits, 32768 added to their numbers") {
  const std::string bias = raw(std::vector<int64_t>{int64_t{1} << 40, -7});
  const Made out = made_of(product_of_int16(lite::TensorType::int64, bias));
  REQUIRE(out.code == 0);
  const graph::Node& node = out.node("QuantizedLinear");
  CHECK(node.text(attr::requant, "") == "double_away");
  CHECK(node.integer(attr::y_zero, 0) == 32768);
  CHECK(node.integer(attr::high, 0) == 65535);
  CHECK(graph::read_integers(*out.model.constant(node.inputs[2])) ==
        std::vector<int64_t>{(int64_t{1} << 40) - 3 * 32768, -7 - 7 * 32768});
  CHECK(graph::read_numbers(*out.model.constant(node.inputs[3])) ==
        std::vector<double>{0.125, 0.125});
  CHECK(out.model.values[size_t(out.model.graph.outputs[0])].dtype == DType::kI16);
  const Made micro = made_of(product_of_int16(lite::TensorType::int64, bias), ExactTo::kTflm);
  REQUIRE(micro.code == 0);
  const graph::Node& fixed = micro.node("QuantizedLinear");
  CHECK(fixed.text(attr::requant, "") == "fixed_wide");
  CHECK(graph::read_integers(*micro.model.constant(fixed.inputs[3])) ==
        std::vector<int64_t>{1 << 14, 1 << 14});
  CHECK(graph::read_integers(*micro.model.constant(fixed.inputs[4])) == std::vector<int64_t>{2, 2});
  const auto narrow = [](ExactTo exact_to) {
    const Made made = made_of(product_of_int16(kI32, raw(std::vector<int32_t>{5, 6})), exact_to);
    REQUIRE(made.code == 0);
    return made.node("QuantizedLinear").text(attr::requant, "");
  };
  CHECK(narrow(ExactTo::kTflm) == "fixed_away");
  CHECK(narrow(ExactTo::kLitert) == "fixed_up");
  const Made beyond =
      made_of(product_of_int16(lite::TensorType::int64, raw(std::vector<int64_t>{INT64_MIN, 0})));
  CHECK(beyond.code == 4);
  CHECK(says(beyond, "leaves 64 bits"));
}

TEST_CASE("int16 goes through a graph that is called, as bytes do") {
  constexpr int kCall = 31, kComposite = 206;
  GraphGiven whole = unary(kLogistic, kI16, {4}, {0.001f});
  whole.tensors[1].scales = {1.0f / 32768};
  const GraphGiven inner = whole;
  OperatorGiven call = {kCall, {0}, {1}, 16, {{0, 1}}};
  OperatorGiven composite = {kComposite, {0}, {1}, 21, {{1, 1}}};
  composite.second = true;
  for (const OperatorGiven& op : {call, composite}) {
    whole.operators = {op};
    const Made out = made_of({whole, inner});
    CAPTURE(out.message);
    CHECK(out.code == 0);
    CHECK(out.ops() == std::vector<std::string>{"Lookup"});
  }
}

TEST_CASE("what int16 cannot be is refused") {
  GraphGiven g = unary(kLogistic, kI16, {4}, {0.001f});
  Made out = made_of(g);  // gives no fractions of 2^15
  CHECK(out.code == 4);
  CHECK(says(out, "computes on int16 in a way that is not supported"));
  g.tensors[1].scales = {1.0f / 32768};
  CHECK(made_of(g).code == 0);
  g.tensors[0].zeros = {3};
  out = made_of(g);
  CHECK(out.code == 4);
  CHECK(says(out, "quantized int16"));
  g = unary(kAdd, kI16, {4}, {0.5f});
  g.operators[0] = {kAdd, {0, 0}, {1}, 11};
  CHECK(made_of(g).ops() == std::vector<std::string>{"QuantizedElementwise"});
  g.tensors[1].type = kI8;
  CHECK(made_of(g).code == 4);
}

TEST_CASE("complex numbers do not leave a program") {
  GraphGiven g;
  g.tensors = {{"x", kF32, {1, 8}, ""},
               {"n", kI32, {2}, raw(std::vector<int32_t>{1, 8})},
               {"y", lite::TensorType::complex64, {1, 5}, ""},
               {"z", kF32, {1, 5}, ""}};
  g.operators = {{kRfft2d, {0, 1}, {2}, 105}};
  g.inputs = {0};
  g.outputs = {2};
  const Made out = made_of(g);
  CHECK(out.code == 4);
  CHECK(says(out, "complex64"));
  g.operators.push_back({135, {2}, {3}});
  g.outputs = {3};
  CHECK(made_of(g).code == 0);
  g.tensors[1].bytes = raw(std::vector<int32_t>{1, 0});
  CHECK(made_of(g).code == 2);
}

TEST_CASE("complex numbers keep both parts where only extents change, a cast takes the real one") {
  constexpr int kCast = 53, kExpandDims = 70, kSqueeze = 43, kShape = 77;
  GraphGiven g;
  g.tensors = {{"x", kF32, {1, 8}, ""},
               {"n", kI32, {2}, raw(std::vector<int32_t>{1, 8})},
               {"spectrum", lite::TensorType::complex64, {1, 5}, ""},
               {"row", lite::TensorType::complex64, {5}, ""},
               {"axis", kI32, {}, raw(std::vector<int32_t>{-1})},
               {"column", lite::TensorType::complex64, {5, 1}, ""},
               {"real", kF32, {5, 1}, ""},
               {"extents", kI32, {2}, ""}};
  g.operators = {{kRfft2d, {0, 1}, {2}, 105},
                 {kSqueeze, {2}, {3}},
                 {kExpandDims, {3, 4}, {5}},
                 {kCast, {5}, {6}},
                 {kShape, {5}, {7}}};
  g.inputs = {0};
  g.outputs = {6, 7};
  const Made out = made_of(g);
  REQUIRE(out.code == 0);
  const auto dims_of = [&](size_t i) {
    return out.model.values[size_t(out.model.graph.outputs[i])].dims;
  };
  CHECK(dims_of(0) == graph::Dims{5, 1});
  CHECK(dims_of(1) == graph::Dims{2});
}

TEST_CASE("what is declared complex and made from one part is refused") {
  constexpr int kSqueeze = 43, kReal = 134;
  for (const int code : {kReal, kSqueeze, 53, 70, 77}) {
    GraphGiven g;
    g.tensors = {{"x", kF32, {3}, ""},
                 {"shape", kI32, {1}, raw(std::vector<int32_t>{3})},
                 {"y", lite::TensorType::complex64, {3}, ""},
                 {"axis", kI32, {}, raw(std::vector<int32_t>{0})},
                 {"z", kF32, {3}, ""}};
    g.operators = {{22, {0, 1}, {2}}, {code, {2}, {4}}};
    if (code == 70) g.operators[1].inputs.push_back(3);
    g.inputs = {0};
    g.outputs = {4};
    const Made out = made_of(g);
    CHECK(out.code == 2);
    CHECK(says(out, "is not complex"));
  }
}

TEST_CASE("options of customs are read to their end, or refused") {
  GraphGiven g;
  g.tensors = {{"x", kF32, {1, 3, 3, 1}, ""},
               {"w", kF32, {1, 2, 2, 1}, raw(std::vector<float>(4, 1.f))},
               {"b", kF32, {1}, raw(std::vector<float>{1.f})},
               {"y", kF32, {1, 6, 6, 1}, ""}};
  g.operators = {{kCustom, {0, 1, 2}, {3}, 0, {}, {}, "Convolution2DTransposeBias"}};
  g.inputs = {0};
  g.outputs = {3};
  const auto with = [&](std::vector<int32_t> options) {
    g.operators[0].custom_options = raw(options);
    return made_of(g);
  };
  CHECK(with({}).code == 2);
  CHECK(with({1, 2}).code == 2);
  CHECK(with({0, 2, 2}).code == 2);
  CHECK(with({1, 0, 2}).code == 2);
  const Made out = with({2, 2, 2, 0, 0});
  REQUIRE(out.code == 0);
  const graph::ValueId y = out.model.graph.outputs[0];
  CHECK(out.model.values[size_t(y)].dims == graph::Dims{1, 6, 6, 1});
  GraphGiven signal = unary(kCustom, kI16, {480}, {});
  signal.operators[0].custom = "SignalRfft";
  const Made none = made_of(signal);  // no options at all
  CHECK(none.code == 2);
  CHECK(says(none, "FlexBuffers"));
}

namespace {

std::string flex_map(const std::map<std::string, uint8_t>& options) {
  flexbuffers::Builder b;
  b.Map([&] {
    for (const auto& [key, value] : options) b.Int(key.c_str(), value);
  });
  b.Finish();
  return std::string(b.GetBuffer().begin(), b.GetBuffer().end());
}
GraphGiven stream(const char* name, std::vector<int32_t> in, std::vector<int32_t> out,
                  const std::map<std::string, uint8_t>& options, bool has_flag) {
  GraphGiven g;
  g.tensors = {{"x", kI16, std::move(in), ""}, {"y", kI16, std::move(out), ""}};
  if (has_flag) g.tensors.push_back({"valid", lite::TensorType::boolean, {}, ""});
  g.operators = {{kCustom, {0}, {1}}};
  if (has_flag) g.operators[0].outputs.push_back(2);
  g.operators[0].custom = name, g.operators[0].custom_options = flex_map(options);
  g.inputs = {0};
  g.outputs = {1};
  return g;
}

}  // namespace

TEST_CASE("operators that keep samples: their states, and options that cannot be") {
  const std::map<std::string, uint8_t> framer = {
      {"frame_size", 5}, {"frame_step", 2}, {"prefill", 0}};
  const auto framed = [&](const std::string& key, uint8_t value) {
    std::map<std::string, uint8_t> options = framer;
    options[key] = value;
    return made_of(stream("SignalFramer", {4}, {2, 5}, options, true));
  };
  const Made out = framed("prefill", 0);
  REQUIRE_MESSAGE(out.code == 0, out.message);
  const auto& inputs = out.model.graph.inputs;
  REQUIRE(inputs.size() == 3);  // x, the samples before it, how many steps there were
  CHECK(out.model.values[size_t(inputs[1])].dims == graph::Dims{1, 4});
  CHECK(framed("prefill", 1).model.graph.inputs.size() == 2);
  CHECK(says(framed("frame_step", 3), "its step is 3"));
  CHECK(says(framed("frame_size", 0), "frame_size is 0"));
  CHECK(says(framed("prefill", 2), "prefill is 2"));
  CHECK(says(framed("of_a_newer_micro", 1), "not known"));
  for (const Made& made : {framed("frame_step", 3), framed("frame_size", 0), framed("prefill", 2)})
    CHECK(made.code == 2);
  GraphGiven floats = stream("SignalDelay", {4}, {4}, {{"delay_length", 3}}, false);
  REQUIRE(made_of(floats).code == 0);
  GraphGiven nothing = floats;
  nothing.operators[0].outputs.clear();
  nothing.outputs = {0};
  CHECK(says(made_of(nothing), "has no output 0"));
  floats.tensors[0].type = floats.tensors[1].type = kF32;
  CHECK(made_of(floats).code == 4);
  const std::map<std::string, uint8_t> stacker = {{"num_channels", 2},
                                                  {"stacker_left_context", 1},
                                                  {"stacker_right_context", 1},
                                                  {"stacker_step", 4}};
  const Made skips = made_of(stream("SignalStacker", {2}, {6}, stacker, true));
  CHECK(skips.code == 2);
  CHECK(says(skips, "stacker_step is 4"));
  const Made short_frames =
      made_of(stream("SignalOverlapAdd", {3, 4}, {15}, {{"T", 7}, {"frame_step", 5}}, false));
  CHECK(short_frames.code == 2);
  CHECK(says(short_frames, "shorter than its step"));
}

TEST_CASE("GELU of int16 has the numbers of LiteRT, whose erfc keeps what is small") {
  constexpr int kGelu = 150;
  const Made out = made_of(unary(kGelu, kI16, {1, 4}, {0.0003f}));
  REQUIRE(out.code == 0);
  const graph::Node& node = out.node("Lookup");
  const std::vector<int64_t> table = graph::read_integers(*out.model.constant(node.inputs[1]));
  REQUIRE(table.size() == 65536);
  // read off LiteRT 2.x; with 1 + erf each is one larger
  for (const int x : {17728, 17729, 17855, 17856})
    CHECK(int16_t(table[size_t(x + 32768)]) == x - 1);
}

TEST_CASE("RESIZE_NEAREST_NEIGHBOR has the arithmetic of LiteRT, which depends on the type") {
  constexpr int kResizeNearest = 97;
  const auto mode_of = [](lite::TensorType type, bool corners, bool half) {
    GraphGiven g;
    g.tensors = {{"x", type, {1, 5, 5, 1}, ""},
                 {"size", kI32, {2}, raw(std::vector<int32_t>{7, 9})},
                 {"y", type, {1, 7, 9, 1}, ""}};
    if (type != kF32)
      for (size_t i : {0, 2}) g.tensors[i].scales = {0.5f}, g.tensors[i].zeros = {0};
    g.operators = {{kResizeNearest, {0, 1}, {2}, 74}};
    g.operators[0].bytes = {{0, int8_t(corners)}, {1, int8_t(half)}};
    g.inputs = {0}, g.outputs = {2};
    const Made out = made_of(g);
    REQUIRE_MESSAGE(out.code == 0, out.message);
    CHECK(out.node("Resize").text(attr::nearest_mode, "") == "floor");
    return out.node("Resize").text(attr::coordinate_transformation_mode, "");
  };
  for (const lite::TensorType type : {kF32, kI16, kI8, lite::TensorType::uint8}) {
    const bool eight = type == kI8 || type == lite::TensorType::uint8;
    CHECK(mode_of(type, false, false) ==
          (eight ? "asymmetric_fixed_point" : "asymmetric_multiplied"));
    CHECK(mode_of(type, true, false) == "align_corners_multiplied");
    CHECK(mode_of(type, false, true) == "tf_half_pixel_multiplied");
  }
}
