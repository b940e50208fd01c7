// SPDX-License-Identifier: Apache-2.0
// tests/import/onnx/operators_test.cpp - operators in the forms that opsets 7 to 23 gave them, and
// what they are in normal form.
#include "tests/import/onnx/import_helpers.h"

using namespace ingot;
using namespace ingot::test;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

namespace {

struct Form {
  const char* name;
  int64_t opset;
  std::vector<OnnxDim> input;
  struct {
    const char* op;
    std::vector<Proto> attributes = {};
    std::vector<Ints> numbers = {};  // inputs 1.. as int64 constants
  } node;
  struct {
    const char *operators, *output;
  } normal;
};
OnnxGraph graph_of(const Form& form) {
  OnnxGraph g;
  std::vector<std::string> inputs = {"x"};
  g.input("x", form.input).output("y");
  for (size_t i = 0; i < form.node.numbers.size(); i++) {
    inputs.push_back("i" + std::to_string(i));
    g.shape_input(inputs.back(), form.node.numbers[i]);
  }
  return g.node(form.node.op, inputs, {"y"}, form.node.attributes);
}

const Form kForms[] = {
    {"Squeeze by attribute",
     11,
     {1, 3, 1},
     {"Squeeze", {attribute("axes", Ints{0})}},
     {"Reshape", "f32[3, 1]"}},
    {"Squeeze by input", 13, {1, 3, 1}, {"Squeeze", {}, {{-1}}}, {"Reshape", "f32[1, 3]"}},
    {"Squeeze everything", 13, {1, 3, 1}, {"Squeeze"}, {"Reshape", "f32[3]"}},
    {"Unsqueeze by attribute",
     11,
     {3},
     {"Unsqueeze", {attribute("axes", Ints{0, 2})}},
     {"Reshape", "f32[1, 3, 1]"}},
    {"Unsqueeze by input", 13, {3}, {"Unsqueeze", {}, {{-1}}}, {"Reshape", "f32[3, 1]"}},
    {"Flatten",
     13,
     {2, 3, 4},
     {"Flatten", {attribute("axis", int64_t(2))}},
     {"Reshape", "f32[6, 4]"}},
    {"Reshape with 0 and -1", 13, {2, 3, 4}, {"Reshape", {}, {{0, -1}}}, {"Reshape", "f32[2, 12]"}},
    {"Reshape to the same is nothing",
     13,
     {2, 3},
     {"Reshape", {}, {{2, -1}}},
     {"Identity", "f32[2, 3]"}},
    {"Transpose reverses by default", 13, {2, 3, 4}, {"Transpose"}, {"Transpose", "f32[4, 3, 2]"}},
    {"Slice by attributes",
     9,
     {8, 5},
     {"Slice",
      {attribute("starts", Ints{1}), attribute("ends", Ints{-1}), attribute("axes", Ints{0})}},
     {"Slice", "f32[6, 5]"}},
    {"Slice by inputs with steps",
     13,
     {8, 5},
     {"Slice", {}, {{6, 0}, {-100, 5}, {0, 1}, {-2, 3}}},
     {"Slice", "f32[4, 2]"}},
    {"DFT of real numbers",
     20,
     {2, 8, 1},
     {"DFT", {attribute("onesided", int64_t(1))}},
     {"Reshape Fft Reshape", "f32[2, 5, 2]"}},
    {"DFT of opset 17 along an axis",
     17,
     {2, 8, 3, 1},
     {"DFT"},
     {"Transpose Reshape Fft Reshape Transpose", "f32[2, 8, 3, 2]"}},
    {"ReverseSequence of whole sequences",
     13,
     {3, 2, 4},
     {"ReverseSequence", {}, {{3, 3}}},
     {"Slice", "f32[3, 2, 4]"}},
    {"Split by attribute",
     11,
     {6},
     {"Split", {attribute("split", Ints{6})}},
     {"Identity", "f32[6]"}},
    {"Pad by attributes",
     9,
     {2, 3},
     {"Pad", {attribute("pads", Ints{0, 1, 0, 2})}},
     {"Pad", "f32[2, 6]"}},
    {"Pad by input",
     13,
     {2, 3},
     {"Pad", {attribute("mode", std::string("edge"))}, {{1, 0, 0, 0}}},
     {"Pad", "f32[3, 3]"}},
    {"negative Pad cuts", 13, {2, 3}, {"Pad", {}, {{0, -1, 0, 2}}}, {"Slice Pad", "f32[2, 4]"}},
    {"Clip by attributes",
     7,
     {4},
     {"Clip", {attribute("min", 0.0f), attribute("max", 6.0f)}},
     {"Clip", "f32[4]"}},
    {"Clip without limits is nothing", 13, {4}, {"Clip"}, {"Identity", "f32[4]"}},
    {"Softmax over flattened dimensions",
     11,
     {2, 3, 4},
     {"Softmax"},
     {"Reshape Softmax Reshape", "f32[2, 3, 4]"}},
    {"Softmax that flattens one", 11, {2, 3, 1, 1}, {"Softmax"}, {"Softmax", "f32[2, 3, 1, 1]"}},
    {"Softmax of opset 13",
     13,
     {2, 3, 4},
     {"Softmax", {attribute("axis", int64_t(1))}},
     {"Softmax", "f32[2, 3, 4]"}},
    {"ReduceMean by attribute",
     13,
     {2, 3, 4},
     {"ReduceMean", {attribute("axes", Ints{-1}), attribute("keepdims", int64_t(0))}},
     {"ReduceMean", "f32[2, 3]"}},
    {"ReduceMean by input",
     18,
     {2, 3, 4},
     {"ReduceMean", {}, {{1, 2}}},
     {"ReduceMean", "f32[2, 1, 1]"}},
    {"ReduceSum of everything",
     13,
     {2, 3},
     {"ReduceSum", {attribute("keepdims", int64_t(0))}},
     {"ReduceSum", "f32[]"}},
    {"ReduceSum of nothing",
     13,
     {2, 3},
     {"ReduceSum", {attribute("noop_with_empty_axes", int64_t(1))}},
     {"Identity", "f32[2, 3]"}},
    {"ArgMax", 13, {2, 3}, {"ArgMax", {attribute("axis", int64_t(-1))}}, {"ArgMax", "i64[2, 1]"}},
    {"TopK before inputs",
     9,
     {2, 9},
     {"TopK", {attribute("k", int64_t(4))}},
     {"TopK", "f32[2, 4]"}},
    {"TopK", 13, {2, 9}, {"TopK", {}, {{4}}}, {"TopK", "f32[2, 4]"}},
    {"GlobalAveragePool",
     13,
     {2, 3, 4, 5},
     {"GlobalAveragePool"},
     {"ReduceMean", "f32[2, 3, 1, 1]"}},
    {"MaxPool rounding up",
     13,
     {1, 1, 6, 6},
     {"MaxPool",
      {attribute("kernel_shape", Ints{3, 3}), attribute("strides", Ints{2, 2}),
       attribute("ceil_mode", int64_t(1))}},
     {"MaxPool", "f32[1, 1, 3, 3]"}},
    {"no window starts in the pad behind",
     13,
     {1, 1, 3, 3},
     {"MaxPool",
      {attribute("kernel_shape", Ints{2, 2}), attribute("strides", Ints{2, 2}),
       attribute("pads", Ints{0, 0, 1, 1}), attribute("ceil_mode", int64_t(1))}},
     {"MaxPool", "f32[1, 1, 2, 2]"}},
    {"AveragePool keeping the extent",
     13,
     {1, 1, 5, 7},
     {"AveragePool",
      {attribute("kernel_shape", Ints{3, 3}), attribute("strides", Ints{2, 2}),
       attribute("auto_pad", std::string("SAME_UPPER"))}},
     {"AveragePool", "f32[1, 1, 3, 4]"}},
    {"DepthToSpace",
     13,
     {1, 12, 2, 3},
     {"DepthToSpace", {attribute("blocksize", int64_t(2))}},
     {"Reshape Transpose Reshape", "f32[1, 3, 4, 6]"}},
    {"SpaceToDepth",
     13,
     {1, 3, 4, 6},
     {"SpaceToDepth", {attribute("blocksize", int64_t(2))}},
     {"Reshape Transpose Reshape", "f32[1, 12, 2, 3]"}},
    {"Expand", 13, {3, 1}, {"Expand", {}, {{2, 1, 4}}}, {"Expand", "f32[2, 3, 4]"}},
    {"Tile", 13, {3, 1}, {"Tile", {}, {{2, 5}}}, {"Tile", "f32[6, 5]"}},
    {"Gather",
     13,
     {5, 6},
     {"Gather", {attribute("axis", int64_t(1))}, {{0, 2, -1}}},
     {"Gather", "f32[5, 3]"}},
    {"CumSum", 13, {5, 6}, {"CumSum", {}, {{1}}}, {"CumSum", "f32[5, 6]"}},
    {"Upsample by attribute",
     7,
     {1, 1, 2, 3},
     {"Upsample", {attribute("scales", Floats{1, 1, 2, 3})}},
     {"Resize", "f32[1, 1, 4, 9]"}},
    {"LpNormalization", 13, {2, 3}, {"LpNormalization"}, {"ReduceL2 Max Div", "f32[2, 3]"}},
    {"LRN",
     13,
     {1, 5, 2, 2},
     {"LRN", {attribute("size", int64_t(3))}},
     {"Mul Reshape AveragePool Reshape Mul Add Pow Div", "f32[1, 5, 2, 2]"}},
    {"Cast to what it is",
     13,
     {2},
     {"Cast", {attribute("to", int64_t(1))}},
     {"Identity", "f32[2]"}},
    {"Cast", 13, {2}, {"Cast", {attribute("to", int64_t(10))}}, {"Cast", "f16[2]"}},
    {"Dropout", 13, {2}, {"Dropout"}, {"Identity", "f32[2]"}},
    {"Einsum of one operand",
     13,
     {2, 3},
     {"Einsum", {attribute("equation", std::string("ij->ji"))}},
     {"Transpose", "f32[3, 2]"}},
    {"Trilu", 14, {4, 4}, {"Trilu"}, {"Where", "f32[4, 4]"}},
};

}  // namespace

TEST_CASE("import: every form of an operator gives the one normal form") {
  for (const Form& form : kForms) {
    CAPTURE(form.name);
    const graph::Model model = import(graph_of(form), form.opset);
    CHECK(operators(model.graph) == form.normal.operators);
    CHECK(output_type(model) == form.normal.output);
    CHECK(model.values[size_t(model.graph.outputs[0])].name == "y");
  }
}

TEST_CASE("import: resize by scales, by sizes, and by what is left empty") {
  struct Case {
    const char* name;
    int64_t opset;
    std::vector<std::string> inputs;
    const char* output;
  };
  const Case cases[] = {
      {"scales of opset 10", 10, {"x", "scales"}, "f32[1, 1, 6, 12]"},
      {"scales", 13, {"x", "", "scales"}, "f32[1, 1, 6, 12]"},
      {"empty scales and sizes", 13, {"x", "", "empty", "sizes"}, "f32[1, 1, 5, 9]"}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    OnnxGraph g;
    g.input("x", {1, 1, 4, 8})
        .output("y")
        .initializer("scales", {4}, Floats{1, 1, 1.5f, 1.5f})
        .initializer("empty", {0}, Floats{});
    g.shape_input("sizes", {1, 1, 5, 9})
        .node("Resize", c.inputs, {"y"}, {attribute("mode", std::string("linear"))});
    CHECK(output_type(import(g, c.opset)) == c.output);
  }
}

TEST_CASE("import: convolutions know their pads") {
  OnnxGraph g;
  g.input("x", {1, 4, 9, 9}).output("y").initializer("w", {8, 2, 3, 3}, Floats(8 * 2 * 9, 0.5f));
  g.node("Conv", {"x", "w"}, {"y"},
         {attribute("group", int64_t(2)), attribute("strides", Ints{2, 2}),
          attribute("auto_pad", std::string("SAME_LOWER"))});
  const graph::Model model = import(g);
  CHECK(output_type(model) == "f32[1, 8, 5, 5]");
  const graph::Node& conv = model.graph.nodes[0];
  CHECK(conv.integers(attr::pads) == Ints{1, 1, 1, 1});
  CHECK(conv.integers(attr::kernel_shape) == Ints{3, 3});
  CHECK(conv.integers(attr::dilations) == Ints{1, 1});
  CHECK(!conv.has(attr::auto_pad));
}

TEST_CASE("import: transposed convolutions by output_padding, output_shape and SAME") {
  struct Case {
    const char* name;
    std::vector<Proto> attributes;
    const char* output;
    Ints pads;
  };
  const Case cases[] = {
      {"plain", {attribute("strides", Ints{2, 2})}, "f32[1, 3, 9, 9]", {0, 0, 0, 0}},
      {"output_padding",
       {attribute("strides", Ints{2, 2}), attribute("pads", Ints{1, 1, 1, 1}),
        attribute("output_padding", Ints{1, 1})},
       "f32[1, 3, 8, 8]",
       {1, 1, 1, 1}},
      {"output_shape",
       {attribute("strides", Ints{2, 2}), attribute("output_shape", Ints{8, 8})},
       "f32[1, 3, 8, 8]",
       {1, 1, 0, 0}},
      {"SAME_UPPER",
       {attribute("strides", Ints{2, 2}), attribute("auto_pad", std::string("SAME_UPPER"))},
       "f32[1, 3, 8, 8]",
       {0, 0, 1, 1}}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    OnnxGraph g;
    g.input("x", {1, 2, 4, 4})
        .output("y")
        .initializer("w", {2, 3, 3, 3}, Floats(54, 1.0f))
        .node("ConvTranspose", {"x", "w"}, {"y"}, c.attributes);
    const graph::Model model = import(g);
    CHECK(output_type(model) == c.output);
    CHECK(model.graph.nodes[0].integers(attr::pads) == c.pads);
  }
}

TEST_CASE("import: outputs that nobody wants") {
  OnnxGraph g;
  g.input("x", {2, 6})
      .output("y")
      .node("Split", {"x"}, {"", "y"}, {attribute("axis", int64_t(1))})
      .node("Exp", {"x"}, {""});
  const graph::Model model = import(g);
  CHECK(operators(model.graph) == "Split");
  CHECK(model.graph.nodes[0].outputs[0] == graph::kAbsent);
  CHECK(output_type(model) == "f32[2, 3]");
}

TEST_CASE("import: an output that is listed twice is given twice") {
  OnnxGraph g;
  g.input("x", {2, 3}).output("y").output("y").output("y").node("Relu", {"x"}, {"y"});
  const graph::Model model = import(g);
  std::string names;
  for (const graph::ValueId id : model.graph.outputs) names += model.values[size_t(id)].name + " ";
  CHECK(names == "y y_1 y_2 ");
}

TEST_CASE("import: products") {
  struct Case {
    const char* equation;
    std::vector<OnnxDim> a, b;
    const char* output;
  };  // without "->": labels that occur once
  const Case cases[] = {{"ij,jk->ik", {2, 3}, {3, 4}, "f32[2, 4]"},
                        {"bhid,bhjd->bhij", {2, 3, 4, 5}, {2, 3, 6, 5}, "f32[2, 3, 4, 6]"},
                        {"bij,bjk", {2, 3, 4}, {2, 4, 5}, "f32[3, 5]"},
                        {"bhwc,hkc->bhwk", {2, 3, 4, 5}, {3, 6, 5}, "f32[2, 3, 4, 6]"},
                        {"bhid,bhjd->bhij", {2, 3, 4, 5}, {2, 1, 6, 5}, "f32[2, 3, 4, 6]"},
                        {"...ij,...jk->...ik", {2, 1, 3, 4}, {5, 4, 6}, "f32[2, 5, 3, 6]"},
                        {"ij,jk->ik", {3, 1}, {4, 5}, "f32[3, 5]"},
                        // dynamic dimensions: equal where they are summed over, else broadcast
                        {"ij,jk->ik", {"i", "j"}, {"l", "k"}, "f32[i, k]"},
                        {"bij,bjk->bik", {"b", 2, 3}, {4, 3, 5}, "f32[4, 2, 5]"},
                        {"iij,jk->ik", {"i", "m", 3}, {3, 5}, "f32[i, 5]"},
                        {"ijk,ijk->k", {"i", "j", 3}, {"l", "m", 3}, "f32[3]"}};
  for (const Case& c : cases) {
    CAPTURE(c.equation);
    OnnxGraph g;
    g.input("a", c.a).input("b", c.b).output("y").node(
        "Einsum", {"a", "b"}, {"y"}, {attribute("equation", std::string(c.equation))});
    CHECK(output_type(import(g)) == c.output);
  }
  OnnxGraph many;
  many.input("a", {2, 3, 4})
      .input("b", {4, 5})
      .input("c", {5, 2, 3})
      .output("y")
      .node("Einsum", {"a", "b", "c"}, {"y"},
            {attribute("equation", std::string("abc,cd,def->abd"))});
  CHECK(output_type(import(many)) == "f32[2, 3, 5]");
  OnnxGraph vectors;
  vectors.input("a", {3}).input("b", {3, 4}).output("y").node("MatMul", {"a", "b"}, {"y"});
  const graph::Model model = import(vectors);
  CHECK(output_type(model) == "f32[4]");
  CHECK(operators(model.graph) == "Reshape MatMul Reshape");
}

TEST_CASE("import: LSTM with every attribute filled in, lengths that say nothing dropped") {
  OnnxGraph g;
  g.input("x", {5, 1, 3})
      .output("y")
      .output("h")
      .initializer("w", {1, 8, 3}, Floats(24))
      .initializer("r", {1, 8, 2}, Floats(16));
  Proto lengths = Proto().packed_varints(1, {1}).varint(2, 6).packed_varints(5, {5}).text(8, "n");
  g.proto.message(5, lengths);
  g.node("LSTM", {"x", "w", "r", "", "n"}, {"y", "h"}, {attribute("hidden_size", int64_t(2))});
  const graph::Model model = import(g);
  CHECK(output_type(model, 0) == "f32[5, 1, 1, 2]");
  CHECK(output_type(model, 1) == "f32[1, 1, 2]");
  const graph::Node& lstm = model.graph.nodes[0];
  CHECK(lstm.inputs.size() == 3);
  CHECK(std::get<std::vector<std::string>>(lstm.attributes.at(attr::activations)) ==
        std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"});
  CHECK(lstm.text(attr::direction, "") == "forward");
}

TEST_CASE("import: what was saved for training is reported") {
  OnnxGraph g;
  g.input("x", {1, 2, 3}).output("y");
  for (const char* name : {"scale", "bias", "mean", "var"}) g.initializer(name, {2}, Floats{1, 1});
  g.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y", "m", "v"},
         {attribute("training_mode", int64_t(1))});
  const graph::Model model = import(g, 15);
  CHECK(operators(model.graph) == "BatchNormalization");
  REQUIRE(model.notes.size() == 1);
  CHECK(model.notes[0].find("training mode") != std::string::npos);
}
