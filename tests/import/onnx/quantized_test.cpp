// SPDX-License-Identifier: Apache-2.0
// tests/import/onnx/quantized_test.cpp - operators on integers that stand for numbers, in normal
// form: pairs of DequantizeLinear and QuantizeLinear, whatever the source writes them as.
#include <limits>

#include "tests/import/onnx/import_helpers.h"

using namespace ingot;
using namespace ingot::test;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
using Bytes = std::vector<uint8_t>;
using Signed = std::vector<int8_t>;

namespace {

const char* const kMicrosoft = "com.microsoft";

/// x u8 of these dims; scale s and zero point z.
OnnxGraph bytes(const std::vector<OnnxDim>& dims, const Floats& scale = {0.5f}) {
  OnnxGraph g;
  g.input("x", dims, 2).output("y").initializer("s", {}, scale);
  g.initializer("z", {}, Bytes{7});
  return g;
}
const graph::Node* node_of(const graph::Model& model, const std::string& op) {
  for (const graph::Node& node : model.graph.nodes)
    if (text(node.op) == op) return &node;
  return nullptr;
}

}  // namespace

TEST_CASE("QuantizeLinear and DequantizeLinear stay where their numbers are known") {
  OnnxGraph g;
  g.input("x", {{2}, {3}}).output("y").initializer("s", {1}, Floats{0.5f});
  g.node("QuantizeLinear", {"x", "s"}, {"q"}).node("DequantizeLinear", {"q", "s"}, {"y"});
  const graph::Model model = import(g);
  CHECK(operators(model.graph) == "QuantizeLinear DequantizeLinear");
  CHECK(output_type(model) == "f32[2, 3]");
  const graph::Node& quantize = model.graph.nodes[0];
  REQUIRE(quantize.inputs.size() == 3);
  CHECK(model.constant(quantize.inputs[1])->dims.empty());
  CHECK(model.constant(quantize.inputs[2])->dtype == DType::kU8);
}

TEST_CASE("scales that the run computes, and blocks, are spelled out") {
  OnnxGraph g;
  g.input("x", {{2}, {4}}).input("s", {}).output("y").node("QuantizeLinear", {"x", "s"}, {"y"});
  CHECK(operators(import(g).graph) == "Div Round Clip Cast");
  OnnxGraph blocks;
  blocks.input("x", {{2}, {4}}).output("y").initializer("s", {2, 2}, Floats{1, 2, 3, 4});
  blocks.node("QuantizeLinear", {"x", "s"}, {"y"}, {attribute("block_size", int64_t(2))});
  CHECK(operators(import(blocks, 21).graph) == "Div Round Clip Cast");
}

TEST_CASE("QLinearConv is a convolution between its bytes") {
  OnnxGraph g = bytes({{1}, {2}, {5}, {5}});
  g.initializer("w", {3, 2, 3, 3}, Signed(54, 2)).initializer("ws", {3}, Floats{0.1f, 0.2f, 0.3f});
  g.initializer("wz", {3}, Signed(3, 0));
  g.node("QLinearConv", {"x", "s", "z", "w", "ws", "wz", "s", "z"}, {"y"},
         {attribute("pads", Ints{1, 1, 1, 1}), attribute("strides", Ints{2, 2})});
  const graph::Model model = import(g);
  CHECK(operators(model.graph) == "DequantizeLinear DequantizeLinear Conv QuantizeLinear");
  CHECK(output_type(model) == "u8[1, 3, 3, 3]");
  CHECK(node_of(model, "Conv")->integers(attr::strides) == Ints{2, 2});
}

TEST_CASE("QLinearMatMul: a scale of each row, and of each column") {
  OnnxGraph g = bytes({{2}, {4}});
  g.initializer("rows", {2}, Floats{0.5f, 0.25f}).initializer("zeros", {2}, Bytes{1, 2});
  g.initializer("b", {4, 3}, Signed(12, 5)).initializer("bs", {3}, Floats{1, 2, 3});
  g.initializer("bz", {3}, Signed(3, 0));
  g.node("QLinearMatMul", {"x", "rows", "zeros", "b", "bs", "bz", "s", "z"}, {"y"});
  const graph::Model model = import(g);
  CHECK(operators(model.graph) == "DequantizeLinear DequantizeLinear MatMul QuantizeLinear");
  CHECK(model.graph.nodes[0].integer(attr::axis, -1) == 0);
  CHECK(model.graph.nodes[1].integer(attr::axis, -1) == 1);
}

TEST_CASE("products of integers stay where their weights are known") {
  OnnxGraph g;
  g.input("x", {{2}, {7}}).output("y").output("s").initializer("w", {7, 3}, Signed(21, 1));
  g.initializer("wz", {3}, Signed{1, 2, 3}).node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"});
  g.node("MatMulInteger", {"q", "w", "z", "wz"}, {"y"});
  const graph::Model model = import(g);
  CHECK(operators(model.graph) == "DynamicQuantizeLinear MatMulInteger");
  CHECK(output_type(model) == "i32[2, 3]");
  OnnxGraph c;
  c.input("x", {{1}, {1}, {4}, {4}}, 2).output("y").initializer("z", {}, Bytes{3});
  c.initializer("w", {2, 1, 2, 2}, Signed(8, 3)).initializer("wz", {2}, Signed{1, 2});
  c.node("ConvInteger", {"x", "w", "z", "wz"}, {"y"}, {attribute("pads", Ints{1, 1, 0, 0})});
  const graph::Model image = import(c);
  CHECK(operators(image.graph) == "ConvInteger");
  CHECK(output_type(image) == "i32[1, 2, 4, 4]");
  CHECK(image.graph.nodes[0].integers(attr::kernel_shape) == Ints{2, 2});
}

TEST_CASE("sums of integers are whole, in one product or in two") {
  const auto operators_of = [](int products) {
    OnnxGraph g;
    g.input("x", {{2}, {products}}, 2).input("w", {{products}, {3}}, 3).output("y");
    g.node("MatMulInteger", {"x", "w"}, {"y"});
    const graph::Model model = import(g);
    CHECK(output_type(model) == "i32[2, 3]");
    return std::count_if(model.graph.nodes.begin(), model.graph.nodes.end(),
                         [](const graph::Node& node) { return node.op == op::MatMul; });
  };
  CHECK(operators_of(258) == 1);
  CHECK(operators_of(259) == 2);
  OnnxGraph g;
  g.input("x", {{1}, {1}, {4}, {4}}, 2).output("y").initializer("z", {}, Bytes{3});
  g.input("w", {{2}, {1}, {2}, {2}}, 3).initializer("wz", {2}, Signed{1, 2});
  g.node("ConvInteger", {"x", "w", "z", "wz"}, {"y"});
  CHECK(output_type(import(g)) == "i32[1, 2, 3, 3]");
}

TEST_CASE("operators of com.microsoft on integers") {
  const auto unary = [](const std::string& op, const std::vector<Proto>& attributes = {}) {
    OnnxGraph g = bytes({{1}, {2}, {6}, {6}});
    g.node(op, {"x", "s", "z", "s", "z"}, {"y"}, attributes, kMicrosoft);
    return operators(import(g).graph);
  };
  CHECK(unary("QLinearSigmoid") == "DequantizeLinear Sigmoid QuantizeLinear");
  CHECK(unary("QLinearLeakyRelu") == "DequantizeLinear LeakyRelu QuantizeLinear");
  CHECK(unary("QLinearSoftmax") == "DequantizeLinear Softmax QuantizeLinear");
  CHECK(unary("QLinearGlobalAveragePool") == "DequantizeLinear ReduceMean QuantizeLinear");
  CHECK(unary("QLinearAveragePool", {attribute("kernel_shape", Ints{2, 2})}) ==
        "DequantizeLinear AveragePool QuantizeLinear");
  const Proto last = attribute("channels_last", int64_t(1));
  CHECK(unary("QLinearGlobalAveragePool", {last}) == "DequantizeLinear ReduceMean QuantizeLinear");
  CHECK(unary("QLinearAveragePool", {attribute("kernel_shape", Ints{2, 2}), last}) ==
        "DequantizeLinear Transpose AveragePool Transpose QuantizeLinear");
  CHECK(unary("QLinearReduceMean", {attribute("axes", Ints{2, 3})}) ==
        "DequantizeLinear ReduceMean QuantizeLinear");
  OnnxGraph largest = bytes({{1}, {6}, {7}, {2}});
  largest.node("NhwcMaxPool", {"x"}, {"y"}, {attribute("kernel_shape", Ints{2, 3})}, kMicrosoft);
  CHECK(output_type(import(largest)) == "u8[1, 5, 5, 2]");
  OnnxGraph pooled = bytes({{1}, {6}, {7}, {2}});
  pooled.node("QLinearGlobalAveragePool", {"x", "s", "z", "s", "z"}, {"y"}, {last}, kMicrosoft);
  CHECK(output_type(import(pooled)) == "u8[1, 1, 1, 2]");
  for (const char* op : {"Add", "Mul"}) {
    OnnxGraph g = bytes({{2}, {3}});
    g.node("QLinear" + std::string(op), {"x", "s", "z", "x", "s", "z", "s", "z"}, {"y"}, {},
           kMicrosoft);
    CHECK(operators(import(g).graph) ==
          "DequantizeLinear DequantizeLinear " + std::string(op) + " QuantizeLinear");
  }
  OnnxGraph parts = bytes({{2}, {3}});
  parts.node("QLinearConcat", {"s", "z", "x", "s", "z", "x", "s", "z"}, {"y"},
             {attribute("axis", int64_t(1))}, kMicrosoft);
  CHECK(output_type(import(parts)) == "u8[2, 6]");
}

TEST_CASE("QGemm gives bytes, or numbers where the scale of its output is left out") {
  const auto made = [](bool to_bytes) {
    OnnxGraph g = bytes({{2}, {4}});
    g.initializer("b", {3, 4}, Signed(12, 5)).initializer("bz", {}, Signed{0});
    std::vector<std::string> inputs = {"x", "s", "z", "b", "s", "bz", ""};
    if (to_bytes) inputs.insert(inputs.end(), {"s", "z"});
    g.node("QGemm", inputs, {"y"}, {attribute("transB", int64_t(1))}, kMicrosoft);
    return output_type(import(g));
  };
  CHECK(made(true) == "u8[2, 3]");
  CHECK(made(false) == "f32[2, 3]");
}

TEST_CASE("products of activations that each run quantizes") {
  OnnxGraph g;
  g.input("x", {{2}, {4}}).output("y").initializer("b", {4, 3}, Signed(12, 5));
  g.initializer("bs", {3}, Floats{1, 2, 3}).initializer("bias", {3}, Floats{1, 2, 3});
  g.node("DynamicQuantizeMatMul", {"x", "b", "bs", "", "bias"}, {"y"}, {}, kMicrosoft);
  CHECK(output_type(import(g)) == "f32[2, 3]");
  CHECK(operators(import(g).graph) == "DynamicQuantizeLinear Mul MatMulInteger Cast Mul Add");
}

TEST_CASE("QAttention: one product of bytes, then attention with what a mask adds") {
  const auto made = [](const std::vector<std::string>& inputs,
                       const std::vector<Proto>& more = {}) {
    OnnxGraph g;
    g.input("x", {{2}, {3}, {4}}, 2).input("m", {{2}, {3}}, 6).input("n", {{2}}, 6).output("y");
    g.initializer("w", {4, 24}, Signed(96, 5)).initializer("b", {24}, Floats(24, 1));
    g.initializer("s", {}, Floats{0.5f}).initializer("z", {}, Bytes{7});
    std::vector<Proto> attributes = {attribute("num_heads", int64_t(2))};
    attributes.insert(attributes.end(), more.begin(), more.end());
    g.node("QAttention", inputs, {"y"}, attributes, kMicrosoft);
    return g;
  };
  const graph::Model plain = import(made({"x", "w", "b", "s", "s", "", "z"}));
  CHECK(operators(plain.graph) == "MatMulInteger Cast Mul Add Slice Slice Slice Attention");
  CHECK(output_type(plain) == "f32[2, 3, 8]");
  CHECK(node_of(plain, "Attention")->text(attr::causal, "") == "none");
  const graph::Model masked = import(made({"x", "w", "b", "s", "s", "m", "z"}));
  CHECK(node_of(masked, "Attention")->inputs.size() == 4);
  const graph::Model lengths = import(made({"x", "w", "b", "s", "s", "n", "z"}));
  CHECK(node_of(lengths, "Attention")->inputs.size() == 4);
  const auto refused = [&](const OnnxGraph& g) { return import_error(g.bytes()).exit_code; };
  CHECK(refused(made({"x", "w", "b", "s", "s", "b", "z"})) == 2);  // lengths that are floats
  CHECK(refused(made({"x", "w", "b", "s", "s", "", "z", "", "x"})) == 2);  // no past of 5 dims
  CHECK(refused(made({"x", "w", "b", "s", "s", "", "z"}, {attribute("do_rotary", int64_t(1))})) ==
        4);
}

TEST_CASE("weights of 4 bits in blocks are numbers, and what leads past K is none") {
  const auto made = [](const std::vector<uint8_t>& packed, int columns, bool with_zeros) {
    OnnxGraph g;
    g.input("x", {{2}, {columns}}).output("y").initializer("b", {1, 2, 8}, packed);
    g.initializer("s", {2}, Floats{0.5f, -2}).initializer("z", {1}, Bytes{0x21});
    std::vector<std::string> inputs = {"x", "b", "s"};
    if (with_zeros) inputs.push_back("z");
    g.node("MatMulNBits", inputs, {"y"},
           {attribute("N", int64_t(1)), attribute("K", int64_t(columns)),
            attribute("bits", int64_t(4)), attribute("block_size", int64_t(16))},
           kMicrosoft);
    return import(g);
  };
  Bytes packed;
  for (uint8_t i = 0; i < 16; i++) packed.push_back(uint8_t(i | (15 - i) << 4));
  for (const bool with_zeros : {false, true}) {
    const graph::Model model = made(packed, 20, with_zeros);
    CHECK(output_type(model) == "f32[2, 1]");
    REQUIRE(model.graph.nodes.size() == 1);
    const graph::Node& linear = model.graph.nodes[0];
    CHECK(linear.op == op::Linear);
    CHECK(linear.integer(attr::bits, 0) == 4);
    CHECK(linear.integer(attr::block, 0) == 16);
    REQUIRE(linear.inputs.size() == (with_zeros ? 6 : 5));
    const graph::Constant *w = model.constant(linear.inputs[1]),
                          *scales = model.constant(linear.inputs[4]);
    REQUIRE((w && scales && w->dims == Ints{1, 20} && scales->dims == Ints{1, 2}));
    CHECK(scales->as<float>()[1] == -2);
    for (const auto& [place, number] : {std::pair{0, 0}, {1, 15}, {16, 8}, {19, 6}})
      CHECK(w->as<int8_t>()[place] == number - 8);
    if (with_zeros) {
      CHECK(model.constant(linear.inputs[5])->as<int8_t>()[0] == 1 - 8);
      CHECK(model.constant(linear.inputs[5])->as<int8_t>()[1] == 2 - 8);
    }
  }
  packed.pop_back();
  OnnxGraph g;
  g.input("x", {{2}, {20}}).output("y").initializer("b", {15}, packed);
  g.initializer("s", {2}, Floats{0.5f, 2});
  g.node("MatMulNBits", {"x", "b", "s"}, {"y"},
         {attribute("N", int64_t(1)), attribute("K", int64_t(20)),
          attribute("block_size", int64_t(16))},
         kMicrosoft);
  const graph::ConversionError error = import_error(g.bytes());
  CHECK(error.exit_code == 2);
  CHECK(error.message.find("its B has 15 bytes, expected 16") != std::string::npos);
}

TEST_CASE("weights in groups: an order that fits the blocks, numbers where none does") {
  const auto made = [](const std::vector<int32_t>& groups) {
    OnnxGraph g;
    g.input("x", {{2}, {32}}).output("y").initializer("b", {1, 2, 8}, Bytes(16, 0x21));
    g.initializer("s", {2}, Floats{0.5f, 2}).initializer("g", {int64_t(groups.size())}, groups);
    g.node("MatMulNBits", {"x", "b", "s", "", "g"}, {"y"},
           {attribute("N", int64_t(1)), attribute("K", int64_t(32)), attribute("bits", int64_t(4)),
            attribute("block_size", int64_t(16))},
           kMicrosoft);
    return g;
  };
  std::vector<int32_t> turns(32);
  for (size_t i = 0; i < turns.size(); i++) turns[i] = int32_t(i % 2);
  const graph::Model ordered = import(made(turns));
  CHECK(operators(ordered.graph) == "Gather Linear");
  const graph::Constant* numbers =
      ordered.constant(node_of(ordered, "Linear")->inputs[1]);  // columns 0, 2, 4, .., 1, 3, ..
  CHECK(numbers->as<int8_t>()[0] == 1 - 8);
  CHECK(numbers->as<int8_t>()[31] == 2 - 8);
  const graph::Model uneven = import(made(std::vector<int32_t>(32, 1)));
  CHECK(operators(uneven.graph) == "MatMul");
  turns[5] = 2;
  CHECK(import_error(made(turns).bytes()).exit_code == 2);
  CHECK(import_error(made({0, 1}).bytes()).exit_code == 2);
}

TEST_CASE("weights in blocks may have negative scales, as onnxruntime's 4-bit quantizer writes") {
  const auto made = [](const Ints& dims, const Floats& scales, int64_t block) {
    OnnxGraph g;
    g.input("x", {{1}, {4}}).output("y").initializer("w", {4, 2}, Signed(8, 3));
    g.initializer("s", dims, scales);
    g.node("DequantizeLinear", {"w", "s"}, {"f"},
           {attribute("axis", int64_t(0)), attribute("block_size", block)});
    g.node("MatMul", {"x", "f"}, {"y"});
    return g.bytes();
  };
  const graph::Model model =
      onnx::import_onnx_bytes(made({2, 2}, {0.5f, -0.25f, -2, 1}, 2), "test.onnx", "", {});
  CHECK(output_type(model) == "f32[1, 2]");
  for (const float scale : {0.0f, -std::numeric_limits<float>::infinity()})
    CHECK(import_error(made({2, 2}, {0.5f, scale, -2, 1}, 2)).exit_code == 2);
  CHECK(import_error(made({}, {-2}, 0)).exit_code == 2);
  const auto of_columns = [](float scale) {
    OnnxGraph g;
    g.input("x", {{1}, {4}}).output("y").initializer("w", {4, 2}, Signed(8, 3));
    g.initializer("s", {2}, Floats{0.5f, scale});
    g.node("DequantizeLinear", {"w", "s"}, {"f"}, {attribute("axis", int64_t(1))});
    g.node("MatMul", {"x", "f"}, {"y"});
    return onnx::import_onnx_bytes(g.bytes(), "test.onnx", "", {});
  };
  CHECK(operators(of_columns(2).graph) == "DequantizeLinear MatMul");
  const graph::Model negative = of_columns(-2);  // as NNCF writes it: numbers, and a note
  CHECK(operators(negative.graph) == "MatMul");
  const graph::Constant* numbers = negative.constant(negative.graph.nodes[0].inputs[1]);
  REQUIRE(numbers);
  CHECK(numbers->as<float>()[1] == -6);
}

TEST_CASE("an LSTM whose weights are bytes keeps them") {
  const auto made = [](const Floats& scale, OnnxDim steps = "steps") {
    OnnxGraph g;
    g.input("x", {steps, {1}, {2}}).output("y").initializer("w", {1, 2, 8}, Signed(16, 3));
    g.initializer("r", {1, 2, 8}, Signed(16, -2)).initializer("s", {1}, scale);
    g.initializer("z", {1}, Signed{1});
    g.node("DynamicQuantizeLSTM", {"x", "w", "r", "", "", "", "", "", "s", "z", "s", "z"}, {"y"},
           {attribute("hidden_size", int64_t(2))}, kMicrosoft);
    return g.bytes();
  };
  for (const OnnxDim& steps : {OnnxDim("steps"), OnnxDim(3)}) {
    const graph::Model model = onnx::import_onnx_bytes(made({0.5f}, steps), "test.onnx", "", {});
    CHECK(operators(model.graph) == "DynamicQuantizeLSTM");
    const graph::Node& lstm = model.graph.nodes[0];
    const graph::Constant* w = model.constant(lstm.inputs[1]);
    REQUIRE((w && w->dims == Ints{1, 2, 8}));
    CHECK(w->dtype == DType::kI8);
  }
  const graph::Model known = onnx::import_onnx_bytes(made({0.5f}, 3), "test.onnx", "", {});
  CHECK(output_type(known) == "f32[3, 1, 1, 2]");
  CHECK(import_error(made({0})).exit_code == 2);
  CHECK(import_error(made({1, 2})).exit_code == 2);
}
