// SPDX-License-Identifier: Apache-2.0
// The importer of TFLite on bytes that stand for numbers: which nodes it makes of them, what it
// says where there is no integer arithmetic, and scales and zero points that cannot be.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/import/tflite/imported.h"
#include "tools/graph/tensor_math.h"
#include "tools/import/tflite/fixed_point.h"
#include "tools/import/tflite/quantization.h"

using namespace ingot;
using namespace ingot::test;
using graph::ConversionError;

namespace {

constexpr int kAdd = 0, kConv = 3, kFullyConnected = 9, kLogistic = 14, kReshape = 22, kResize = 23,
              kMean = 40, kDiv = 42, kLogSoftmax = 50, kFloorMod = 95;
const auto kI8 = lite::TensorType::int8, kU8 = lite::TensorType::uint8;

/// y = x + c of bytes.
GraphGiven sum_of_bytes(lite::TensorType type = kI8) {
  GraphGiven g;
  g.tensors = {{"x", type, {1, 2}, "", {}, {0.5f}, {3}},
               {"c", type, {2}, std::string("\1\x7e"), {}, {0.25f}, {4}},
               {"y", type, {1, 2}, "", {}, {1.f}, {5}}};
  g.operators = {{kAdd, {0, 1}, {2}, 11}};
  g.inputs = {0};
  g.outputs = {2};
  return g;
}
/// y = w x + b.
GraphGiven product_of_bytes(std::string bias, int columns = 2) {
  GraphGiven g;
  g.tensors = {{"x", kI8, {1, columns}, "", {}, {0.5f}, {-128}},
               {"w", kI8, {2, columns}, std::string(size_t(2 * columns), '\1'), {}, {0.5f}, {0}},
               {"b", lite::TensorType::int32, {2}, std::move(bias), {}, {0.25f}, {0}},
               {"y", kI8, {1, 2}, "", {}, {2.f}, {-1}}};
  g.operators = {{kFullyConnected, {0, 1, 2}, {3}, 8, {}, {{0, 1}}}};
  g.inputs = {0};
  g.outputs = {3};
  return g;
}

}  // namespace

TEST_CASE("signed bytes have 128 added inside, and ports keep their type") {
  const Made out = made_of(sum_of_bytes());
  REQUIRE(out.code == 0);
  CHECK(out.ops() == std::vector<std::string>{"OffsetByte", "QuantizedElementwise", "OffsetByte"});
  CHECK(out.model.values[size_t(out.model.graph.inputs[0])].dtype == DType::kI8);
  CHECK(out.model.values[size_t(out.model.graph.outputs[0])].dtype == DType::kI8);
  const graph::Node& node = out.node("QuantizedElementwise");
  CHECK(node.integer(attr::a_zero, 0) == 131);
  CHECK(node.integer(attr::b_zero, 0) == 132);
  CHECK(node.integer(attr::y_zero, 0) == 133);
  CHECK(node.integer(attr::a_multiplier, 0) == 1 << 20);  // of 0.5: 2^21 of 1
  CHECK(node.integer(attr::b_multiplier, 0) == 1 << 19);
  CHECK(node.integer(attr::y_shift, 0) == 21);
  const graph::Constant* c = out.model.constant(node.inputs[1]);
  REQUIRE(c);
  CHECK(graph::read_integers(*c) == std::vector<int64_t>{129, 254});
}

TEST_CASE("ports of integers say what they stand for, in the type of the source") {
  const Made out = made_of(sum_of_bytes());
  REQUIRE(out.code == 0);
  CHECK(out.model.metadata.at("ingot.quantization.x") ==
        "scale 0.5 zero_point 3 bits 3fe0000000000000");
  CHECK(out.model.metadata.at("ingot.quantization.y") ==
        "scale 1 zero_point 5 bits 3ff0000000000000");
  const Made product = made_of(product_of_bytes(raw(std::vector<int32_t>{7, -7})));
  REQUIRE(product.code == 0);
  CHECK(product.model.metadata.at("ingot.quantization.x") ==
        "scale 0.5 zero_point -128 bits 3fe0000000000000");
  CHECK(product.model.metadata.count("ingot.quantization.w") == 0);  // no port
}

TEST_CASE("unsigned bytes are as they are") {
  const Made out = made_of(sum_of_bytes(kU8));
  REQUIRE(out.code == 0);
  CHECK(out.ops() == std::vector<std::string>{"QuantizedElementwise"});
  CHECK(out.node("QuantizedElementwise").integer(attr::a_zero, 0) == 3);
}

TEST_CASE("the zero point of the input is in the bias, which must stay in 32 bits") {
  const Made out = made_of(product_of_bytes(raw(std::vector<int32_t>{7, -7})));
  REQUIRE(out.code == 0);
  const graph::Node& node = out.node("QuantizedLinear");
  // x_zero is 0 as u8
  CHECK(graph::read_integers(*out.model.constant(node.inputs[2])) == std::vector<int64_t>{7, -7});
  CHECK(graph::read_numbers(*out.model.constant(node.inputs[3])) ==
        std::vector<double>{0.125, 0.125});
  CHECK(node.integer(attr::y_zero, 0) == 127);
  CHECK(node.integer(attr::low, 0) == 127);  // relu
  GraphGiven g = product_of_bytes(raw(std::vector<int32_t>{INT32_MIN + 1, 0}));
  g.tensors[0].zeros = {127};
  const Made beyond = made_of(g);
  CHECK(beyond.code == 4);
  CHECK(says(beyond, "leaves 32 bits"));
  CHECK(says(beyond, "channel 0"));
}

TEST_CASE("a sum of too many products is refused") {
  const Made out = made_of(product_of_bytes(raw(std::vector<int32_t>{0, 0}), 65794));
  CHECK(out.code == 4);
  CHECK(says(out, "65793"));
}

TEST_CASE("functions of one byte are tables") {
  GraphGiven g = sum_of_bytes();
  g.operators = {{kLogistic, {0}, {2}}};
  g.tensors[2].scales = {1.f / 256};
  g.tensors[2].zeros = {-128};
  const Made out = made_of(g);
  REQUIRE(out.code == 0);
  const graph::Constant* table = out.model.constant(out.node("Lookup").inputs[1]);
  REQUIRE(table);
  const std::vector<int64_t> bytes = graph::read_integers(*table);
  CHECK(bytes[131] == 128);  // 0.5 * 256
  CHECK(bytes[0] == 0);
  CHECK(bytes[255] == 255);
}

TEST_CASE("what has no integer arithmetic is reported") {
  GraphGiven g = sum_of_bytes();
  g.operators = {{kLogSoftmax, {0}, {2}, 36}};
  const Made out = made_of(g);
  REQUIRE(out.code == 0);
  CHECK(out.node("Dequantize").integer(attr::zero_point, 0) == 131);
  CHECK(out.node("Quantize").integer(attr::zero_point, 0) == 133);
  REQUIRE(out.model.notes.size() == 1);
  CHECK(out.model.notes[0].find("LOG_SOFTMAX*1") != std::string::npos);
}

TEST_CASE("functions of two bytes are tables of all pairs") {
  GraphGiven g = sum_of_bytes();
  g.operators = {{kDiv, {0, 1}, {2}, 29}};
  g.tensors[0].scales = g.tensors[1].scales = g.tensors[2].scales = {1};
  g.tensors[0].zeros = g.tensors[1].zeros = g.tensors[2].zeros = {0};
  const Made out = made_of(g);
  REQUIRE(out.code == 0);
  CHECK(out.model.notes.empty());
  const graph::Constant* table = out.model.constant(out.node("Gather").inputs[0]);
  REQUIRE(table);
  const std::vector<int64_t> bytes = graph::read_integers(*table);
  REQUIRE(bytes.size() == 65536);
  const auto quotient = [&](int x, int y) {
    return bytes[size_t((x + 128) * 256 + y + 128)] - 128;
  };
  CHECK(quotient(100, 7) == 14);
  CHECK(quotient(-128, 3) == -43);
  CHECK(quotient(11, -3) == -4);
  CHECK(quotient(7, 0) == 127);
  CHECK(quotient(-7, 0) == -128);
}

TEST_CASE("what reads no scale works on the integers of the file") {
  GraphGiven g = sum_of_bytes();
  g.operators = {{kFloorMod, {0, 1}, {2}, 72}};
  const Made out = made_of(g);
  REQUIRE(out.code == 0);
  CHECK(out.model.notes.empty());
  const graph::Value& x = out.model.values[size_t(out.node("Mod").inputs[0])];
  CHECK(x.dtype == DType::kI8);
}

TEST_CASE("--exact-to chooses how sums are rounded") {
  using importer::ExactTo;
  const GraphGiven sum = sum_of_bytes(),
                   product = product_of_bytes(raw(std::vector<int32_t>{7, -7}));
  const auto requant = [](const Made& out, const char* op) {
    CHECK(out.code == 0);
    return out.node(op).text(attr::requant, "");
  };
  CHECK(requant(made_of(sum, ExactTo::kLitert), "QuantizedElementwise") == "float_even");
  CHECK(requant(made_of(sum, ExactTo::kBuiltin), "QuantizedElementwise") == "fixed_away");
  CHECK(requant(made_of(product, ExactTo::kLitert), "QuantizedLinear") == "float_even");
  CHECK(requant(made_of(product, ExactTo::kTflm), "QuantizedLinear") == "fixed_away");
  const Made out = made_of(product, ExactTo::kBuiltin);
  CHECK(requant(out, "QuantizedLinear") == "fixed_up");
  const graph::Node& node = out.node("QuantizedLinear");  // 0.5 * 0.5 / 2 = 2^30 / 2^31 * 2^-2
  CHECK(graph::read_integers(*out.model.constant(node.inputs[3])) ==
        std::vector<int64_t>{1 << 30, 1 << 30});
  CHECK(graph::read_integers(*out.model.constant(node.inputs[4])) == std::vector<int64_t>{2, 2});
}

TEST_CASE("uint8 images grow by products of floats, in the order of the kernel asked for") {
  using importer::ExactTo;
  GraphGiven g;
  g.tensors = {{"x", kU8, {1, 2, 2, 1}, "", {}, {0.5f}, {3}},
               {"size", lite::TensorType::int32, {2}, raw(std::vector<int32_t>{3, 3})},
               {"y", kU8, {1, 3, 3, 1}, "", {}, {0.5f}, {3}}};
  g.operators = {{kResize, {0, 1}, {2}, 15}};
  g.inputs = {0};
  g.outputs = {2};
  const auto products = [](const Made& out) {
    CHECK(out.code == 0);
    const std::vector<std::string> ops = out.ops();
    return std::count(ops.begin(), ops.end(), "Mul");
  };
  // one by the weight of both directions; or by one after the other
  const Made out = made_of(g, ExactTo::kBuiltin);
  CHECK(products(out) == 4);
  CHECK(products(made_of(g, ExactTo::kTflm)) == 8);
  const graph::Node& node = out.node("Mul");  // of what is above and left, 1 - 2 / 3 of a pixel on
  const float near[] = {1.0f, 1.0f - 2.0f / 3.0f, 1.0f - (2.0f / 3.0f * 2.0f - 1.0f)};
  const std::vector<double> weights = graph::read_numbers(*out.model.constant(node.inputs[1]));
  REQUIRE(weights.size() == 9);
  for (size_t i = 0; i < 9; i++) CHECK(weights[i] == double(near[i / 3] * near[i % 3]));
}

TEST_CASE("--exact-to that a model cannot have is refused") {
  using importer::ExactTo;
  GraphGiven g = sum_of_bytes();
  for (TensorGiven& t : g.tensors) t.type = lite::TensorType::float32, t.scales.clear();
  g.tensors[1].bytes = raw(std::vector<float>{1, 2});
  for (const ExactTo to : {ExactTo::kLitert, ExactTo::kBuiltin, ExactTo::kTflm}) {
    const Made out = made_of(g, to);
    CHECK(out.code == 5);
    CHECK(says(out, "nothing in integers"));
  }
  CHECK(made_of(g).code == 0);
}

TEST_CASE("TFLite Micro's functions in fixed point") {
  // exp(-1), 1 / (1 + exp(-1)), tanh(1) of Q4.27, to 2^-20
  const auto near = [](int32_t found, double real) {
    return std::fabs(double(found) / double(1LL << 31) - real) < 1.0 / (1 << 20);
  };
  constexpr int32_t kOne = 1 << 27;
  CHECK(tflite::fixed_exp(0, 4) == INT32_MAX);
  for (const double x : {0.125, 1.0, 2.75, 7.0, 15.5}) {
    const int32_t given = int32_t(x * kOne);
    CHECK(near(tflite::fixed_exp(-given, 4), std::exp(-x)));
    CHECK(near(tflite::fixed_logistic(given), 1 / (1 + std::exp(-x))));
    CHECK(near(tflite::fixed_logistic(-given), 1 / (1 + std::exp(x))));
    CHECK(near(tflite::fixed_tanh(given), std::tanh(x)));
    CHECK(tflite::fixed_tanh(-given) == -tflite::fixed_tanh(given));
  }
  CHECK(tflite::fixed_logistic(0) == 1 << 30);
  CHECK(tflite::fixed_tanh(0) == 0);
  // of 16 bits: Q3.12 to Q0.15
  const auto near16 = [](int32_t found, double real) {
    return std::fabs(double(found) / 32768 - real) < 1.0 / (1 << 11);
  };
  for (const double x : {0.125, 1.0, 2.75, 7.0}) {
    const int32_t given = int32_t(x * 4096);
    CHECK(near16(tflite::fixed_logistic16(given), 1 / (1 + std::exp(-x))));
    CHECK(near16(tflite::fixed_logistic16(-given), 1 / (1 + std::exp(x))));
    CHECK(near16(tflite::fixed_tanh16(-given, 3), -std::tanh(x)));
    CHECK(near16(tflite::fixed_tanh16(given / 2, 4), std::tanh(x)));
    CHECK(near16(tflite::interpolated_logistic(given, 0, 0), 1 / (1 + std::exp(-x))));
    CHECK(near16(tflite::interpolated_tanh(-given, 0, 0), -std::tanh(x)));
    CHECK(near16(tflite::interpolated_tanh(given / 2, 0, 1), std::tanh(x)));
  }
  for (const int32_t end : {INT16_MIN, INT16_MAX}) {
    CHECK(std::abs(tflite::fixed_tanh16(end, 3)) <= 32768);
    CHECK(std::abs(tflite::interpolated_tanh(end, 0, 5)) <= 32768);
  }
  const auto input = tflite::fixed_input(0.5, 4);  // 2^26 = 2^-1 * 2^27
  REQUIRE(input);
  CHECK(input->by.multiplier == 1 << 30);
  CHECK(input->by.shift == 27);
  CHECK(input->radius == 15);
  CHECK(!tflite::fixed_input(1e-12, 4));
}

TEST_CASE("means are sums of bytes") {
  GraphGiven g = sum_of_bytes();
  g.tensors.push_back({"axis", lite::TensorType::int32, {1}, raw(std::vector<int32_t>{1})});
  g.tensors[2].shape = {1};
  g.operators = {{kMean, {0, 3}, {2}, 27}};
  const Made out = made_of(g);
  REQUIRE(out.code == 0);
  CHECK(out.node("ReduceSum").integers(attr::axes) == std::vector<int64_t>{1});
  CHECK(out.model.notes.empty());
}

namespace {

/// A fully connected layer of floats whose weights are whole numbers.
GraphGiven hybrid_product(lite::TensorType type, const std::string& weights, int8_t asymmetric) {
  GraphGiven g = product_of_bytes(raw(std::vector<float>{3, 4}));
  for (const size_t t : {size_t(0), size_t(2), size_t(3)}) {
    g.tensors[t].type = lite::TensorType::float32;
    g.tensors[t].scales.clear();
  }
  g.tensors[1].type = type;
  g.tensors[1].bytes = weights;
  g.operators[0].bytes = {{3, asymmetric}};  // asymmetric_quantize_inputs
  return g;
}

}  // namespace

TEST_CASE("inputs of integer weights are quantized in each run, row by row") {
  for (const int8_t asymmetric : {int8_t{0}, int8_t{1}})
    for (const auto type : {kI8, lite::TensorType::int4}) {
      const std::string bytes =
          type == kI8 ? std::string("\1\2\xff\0", 4) : std::string("\x21\x0f", 2);
      const Made out = made_of(hybrid_product(type, bytes, asymmetric));
      REQUIRE(out.code == 0);
      CHECK(out.ops() == std::vector<std::string>{"DynamicQuantize", "QuantizedLinear"});
      const graph::Node &rows = out.node("DynamicQuantize"), &product = out.node("QuantizedLinear");
      CHECK(rows.text(attr::range, "") == (asymmetric ? "asymmetric" : "symmetric"));
      CHECK(rows.integer(attr::axis, 0) == 1);
      REQUIRE(product.inputs.size() == 7);
      const auto numbers = [&](size_t operand) {
        return graph::read_numbers(*out.model.constant(product.inputs[operand]));
      };
      CHECK(numbers(1) == std::vector<double>{1, 2, -1, 0});
      CHECK(numbers(2) == std::vector<double>{3, -1});
      CHECK(numbers(3) == std::vector<double>{0.5, 0.5});
      CHECK(numbers(4) == std::vector<double>{3, 4});
      CHECK(product.inputs[6] == rows.outputs[1]);
      CHECK(out.model.notes.empty());
    }
}

TEST_CASE("unsigned weights of floating inputs are numbers") {
  const Made out =
      made_of(hybrid_product(lite::TensorType::uint8, std::string("\1\2\xff\0", 4), 0));
  REQUIRE(out.code == 0);
  const graph::Constant* weights = out.model.constant(out.node("Gemm").inputs[1]);
  REQUIRE(weights);
  CHECK(graph::read_numbers(*weights) == std::vector<double>{0.5, 1, 127.5, 0});
  REQUIRE(out.model.notes.size() == 1);
  CHECK(out.model.notes[0].find("FULLY_CONNECTED*1") != std::string::npos);
}

TEST_CASE("scales and zero points that cannot be are refused by name") {
  const auto refused = [](const GraphGiven& g, const std::string& word) {
    const Made out = made_of(g);
    CHECK(out.code == 2);
    CHECK(says(out, "'c'"));
    CHECK_MESSAGE(says(out, word), out.message);
  };
  GraphGiven g = sum_of_bytes();
  for (const float scale : {0.f, -1.f, std::nanf(""), INFINITY, -INFINITY, 1e-40f}) {
    g.tensors[1].scales = {scale};
    refused(g, "a scale of");
  }
  g = sum_of_bytes();
  g.tensors[1].scales = {1.f, 1.f, 1.f};
  refused(g, "3 scales");
  g.tensors[1].scales = {1.f, 1.f};
  g.tensors[1].zeros = {0, 0, 0};
  refused(g, "3 zero points");
  for (const int64_t zero : {int64_t{128}, int64_t{-129}, INT64_MAX, INT64_MIN}) {
    g = sum_of_bytes();
    g.tensors[1].zeros = {zero};
    refused(g, "a zero point of");
  }
  for (const int64_t zero : {int64_t{-1}, int64_t{256}}) {
    g = sum_of_bytes(kU8);
    g.tensors[1].zeros = {zero};
    refused(g, "expected 0 to 255");
  }
}

TEST_CASE("an activation with scales of channels is refused, weights are not") {
  GraphGiven g = sum_of_bytes();
  g.tensors[0].axis = 1;
  g.tensors[0].scales = {1.f, 2.f};
  g.tensors[0].zeros = {0, 0};
  const Made out = made_of(g);
  CHECK(out.code == 4);
  CHECK(says(out, "many scales"));
}

TEST_CASE("bytes that do not fit the shape of their weights") {
  GraphGiven g = product_of_bytes(raw(std::vector<int32_t>{0, 0}));
  g.tensors[1].bytes.pop_back();
  CHECK(made_of(g).code == 2);
  g = product_of_bytes(raw(std::vector<int32_t>{0}));
  CHECK(made_of(g).code == 2);
  g = product_of_bytes(raw(std::vector<int32_t>{0, 0}));
  g.tensors[1].type = lite::TensorType::int4;  // of four elements, two bytes
  CHECK(made_of(g).code == 2);
  g = product_of_bytes(raw(std::vector<int32_t>{0, 0}));
  g.tensors[0].shape = {1, 3};
  CHECK(made_of(g).code == 2);
}

TEST_CASE("bytes that move stay bytes") {
  GraphGiven g = sum_of_bytes();
  g.tensors.push_back({"shape", lite::TensorType::int32, {2}, raw(std::vector<int32_t>{2, 1})});
  g.tensors[2].shape = {2, 1};
  g.operators = {{kReshape, {0, 3}, {2}, 17}};
  const Made out = made_of(g);
  REQUIRE(out.code == 0);
  CHECK(out.ops() == std::vector<std::string>{"OffsetByte", "Reshape", "OffsetByte"});
}

TEST_CASE("a window that leaves its image, and one without an extent") {
  GraphGiven g;
  g.tensors = {{"x", kI8, {1, 4, 4, 1}, "", {}, {0.5f}, {0}},
               {"w", kI8, {1, 5, 5, 1}, std::string(25, '\1'), {}, {0.5f}, {0}},
               {"y", kI8, {1, 1, 1, 1}, "", {}, {2.f}, {0}}};
  g.operators = {{kConv, {0, 1}, {2}, 1, {{1, 1}, {2, 1}}, {{0, 1}}}};
  g.inputs = {0};
  g.outputs = {2};
  CHECK(made_of(g).code == 2);  // VALID
  g.operators[0].bytes = {};    // SAME
  CHECK(made_of(g).code == 0);
  g.operators[0].fields = {{1, 0}, {2, 1}};  // a stride of 0
  CHECK(made_of(g).code == 2);
}

TEST_CASE("every cut and every changed byte ends in a graph or in a refusal") {
  GraphGiven g = product_of_bytes(raw(std::vector<int32_t>{1, 2}));
  g.tensors.push_back({"t", kI8, {1, 2}, "", {}, {1.f / 256}, {-128}});
  g.tensors.push_back({"z", kI8, {1, 2}, "", {}, {0.5f}, {1}});
  g.operators.push_back({kLogistic, {3}, {4}});
  g.operators.push_back({kAdd, {3, 4}, {5}, 11});
  g.outputs = {5};
  const std::string whole = model_file({g});
  size_t refused = 0;
  const auto tries = [&](const std::string& bytes) {
    const host::TemporaryPath file(".tflite");
    write_file(file.path(), bytes);
    try {
      (void)tflite::import_tflite(file.path());
    } catch (const ConversionError& error) {
      CHECK(error.exit_code >= 2);
      CHECK(error.exit_code <= 5);
      refused++;
    } catch (const host::Failure&) {
      refused++;
    }
  };
  for (size_t n = 0; n < whole.size(); n += 5) tries(whole.substr(0, n));
  for (size_t i = 0; i < whole.size(); i++)
    for (const int mask : {0x01, 0x80, 0xff}) {
      std::string bytes = whole;
      bytes[i] = char(bytes[i] ^ mask);
      tries(bytes);
    }
  CHECK(refused > 300);
}

TEST_CASE("fixed point rounds twice: ties go up, then away from zero") {
  using tflite::divided, tflite::fixed_point, tflite::multiplied;
  CHECK(divided(3, 1) == 2);
  CHECK(divided(-3, 1) == -2);
  CHECK(divided(-1, 2) == 0);
  CHECK(multiplied(100, fixed_point(0.5)) == 50);
  CHECK(multiplied(-101, fixed_point(0.5)) == -50);
  CHECK(multiplied(-10, {INT32_MAX, -2}) == -3);
  CHECK(multiplied(-10, {INT32_MAX, -2}, true) == -2);
  CHECK(multiplied(7, fixed_point(4)) == 28);
  CHECK(multiplied(7, fixed_point(0)) == 0);
}
