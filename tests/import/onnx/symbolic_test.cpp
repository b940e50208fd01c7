// SPDX-License-Identifier: Apache-2.0
// tests/import/onnx/symbolic_test.cpp - shape arithmetic followed through a model, and dims bound
// or bounded by options.
#include <limits>

#include "tests/import/onnx/import_helpers.h"

using namespace ingot;
using namespace ingot::test;
using Ints = std::vector<int64_t>;

namespace {

/// x -> Shape -> dims by index.
OnnxGraph with_dims() {
  OnnxGraph g;
  g.input("x", {"N", 8, "H", "W"}).output("y").node("Shape", {"x"}, {"s"});
  for (int i = 0; i < 4; i++) {
    const std::string n = std::to_string(i);
    g.shape_input("at" + n, {i}).node("Gather", {"s", "at" + n}, {"d" + n});
  }
  return g.shape_input("two", {2}).shape_input("minus", {-1});
}

}  // namespace

TEST_CASE("symbolic: a shape computed by the model becomes dims") {
  OnnxGraph g = with_dims();
  g.node("Mul", {"d2", "d3"}, {"area"})
      .node("Concat", {"d0", "d1", "area"}, {"shape"}, {attribute("axis", int64_t(0))});
  g.node("Reshape", {"x", "shape"}, {"y"});
  const graph::Model model = import(g);
  CHECK(output_type(model) == "f32[N, 8, H*W]");
  CHECK(operators(model.graph) == "Reshape");  // the arithmetic is gone
  CHECK(model.graph.nodes[0].inputs.size() == 1);
}

TEST_CASE("symbolic: half of a width by way of floats") {
  OnnxGraph g = with_dims();
  g.initializer("half", {1}, std::vector<float>{0.5f});
  for (const char* d : {"2", "3"}) {
    const std::string n(d);
    g.node("Cast", {"d" + n}, {"f" + n}, {attribute("to", int64_t(1))})
        .node("Mul", {"f" + n, "half"}, {"h" + n});
    g.node("Floor", {"h" + n}, {"g" + n})
        .node("Cast", {"g" + n}, {"i" + n}, {attribute("to", int64_t(7))});
  }
  g.node("Concat", {"d0", "d1", "i2", "i3"}, {"sizes"}, {attribute("axis", int64_t(0))});
  g.node("Resize", {"x", "", "", "sizes"}, {"y"}, {attribute("mode", std::string("nearest"))});
  const graph::Model model = import(g);
  CHECK(output_type(model) == "f32[N, 8, H//2, W//2]");
  CHECK(operators(model.graph) == "Resize");
}

TEST_CASE("symbolic: -1 is what the other dims leave") {
  OnnxGraph g = with_dims();
  g.shape_input("eight", {8})
      .node("Concat", {"d0", "minus", "eight"}, {"shape"}, {attribute("axis", int64_t(0))});
  g.node("Reshape", {"x", "shape"}, {"y"});
  CHECK(output_type(import(g)) == "f32[N, H*W, 8]");
}

TEST_CASE("symbolic: slices, pads and joins along a symbolic dim") {
  OnnxGraph g;
  g.input("x", {1, "T"})
      .output("y")
      .shape_input("one", {1})
      .shape_input("end", {INT64_MAX})
      .shape_input("axis", {1});
  g.node("Slice", {"x", "one", "end", "axis"}, {"tail"})
      .shape_input("last", {-1})
      .shape_input("zero", {0});
  g.node("Slice", {"x", "zero", "last", "axis"}, {"head"}).node("Sub", {"tail", "head"}, {"delta"});
  g.node("Concat", {"delta", "x"}, {"both"}, {attribute("axis", int64_t(1))})
      .shape_input("pads", {0, 2, 0, 2})
      .node("Pad", {"both", "pads"}, {"y"});
  const graph::Model model = import(g);
  CHECK(output_type(model) == "f32[1, 2*T + 3]");
}

TEST_CASE("symbolic: convolutions and pools of a symbolic width") {
  OnnxGraph g;
  g.input("x", {1, 1, 32, "W"})
      .output("y")
      .initializer("w", {4, 1, 3, 3}, std::vector<float>(36, 1.0f));
  g.node("Conv", {"x", "w"}, {"c"},
         {attribute("strides", Ints{2, 2}), attribute("pads", Ints{1, 1, 1, 1})});
  g.node("MaxPool", {"c"}, {"y"},
         {attribute("kernel_shape", Ints{2, 2}), attribute("strides", Ints{2, 2})});
  CHECK(output_type(import(g)) == "f32[1, 4, 8, (W + 1)//4]");
}

TEST_CASE("symbolic: a dim that feeds computation is a sum of ones") {
  OnnxGraph g = with_dims();
  g.node("Cast", {"d3"}, {"width"}, {attribute("to", int64_t(1))})
      .node("Div", {"x", "width"}, {"y"});
  const graph::Model model = import(g);
  CHECK(output_type(model) == "f32[N, 8, H, W]");
  const std::string made = operators(model.graph);
  CHECK(made.find("Shape") == std::string::npos);
  CHECK(made.find("Expand ReduceSum") != std::string::npos);
}

TEST_CASE("symbolic: integers that outgrow a dim are data, not an error") {
  OnnxGraph g = with_dims();
  std::string at = "d3";
  for (int i = 0; i < 9; i++) {
    const std::string next = "p" + std::to_string(i);
    g.node("Add", {at, "d2"}, {next + "a"}).node("Mul", {next + "a", at}, {next});
    at = next;
  }
  g.node("Identity", {at}, {"y"});
  CHECK(output_type(import(g)) == "i64[1]");
}

TEST_CASE("symbolic: what depends on data is named") {
  OnnxGraph g;
  g.input("x", {4}).input("n", {1}, 7).output("y").node("Expand", {"x", "n"}, {"y"});
  const graph::ConversionError error = import_error(g.bytes());
  CHECK(error.exit_code == 4);
  REQUIRE(error.unsupported.size() == 1);
  CHECK(error.unsupported[0].op == "Expand");
  CHECK(error.unsupported[0].output == "y");
  CHECK(error.unsupported[0].why.find("depends on data") != std::string::npos);
}

TEST_CASE("options: dims are bound, bounded, renamed") {
  OnnxGraph g;
  g.input("x", {"N", 3, "H", "W"}).output("y").node("Relu", {"x"}, {"y"});
  importer::ImportOptions options;
  importer::add_dim(options, "N=2");
  importer::add_dim(options, "W=16..64");
  graph::Model model = import(g, 13, options);
  CHECK(output_type(model) == "f32[2, 3, H, W]");
  CHECK(model.symbols.count("N") == 0);
  CHECK(model.symbols.at("W").low == 16);
  CHECK(model.symbols.at("W").high == 64);
  CHECK(model.symbols.at("H").high == 0);
  options = {};
  importer::add_input_shape(options, "x=1x3x48xwidth");
  model = import(g, 13, options);
  CHECK(output_type(model) == "f32[1, 3, 48, width]");
  CHECK(model.symbols.size() == 1);
  options = {};
  importer::add_input_shape(options, "x=1,3,48,max_len");
  CHECK(output_type(import(g, 13, options)) == "f32[1, 3, 48, max_len]");
}

TEST_CASE("options: one symbol in two inputs is bound in both, '?' is not one symbol") {
  OnnxGraph g;
  g.input("a", {"N", "?"})
      .input("b", {"N", "?"})
      .output("y")
      .node("Concat", {"a", "b"}, {"y"}, {attribute("axis", int64_t(1))});
  importer::ImportOptions options;
  importer::add_input_shape(options, "a=4x5");
  CHECK(output_type(import(g, 13, options)) == "f32[4, b_dim1 + 5]");
}

TEST_CASE("options: those that fit nothing say what there is") {
  OnnxGraph g;
  g.input("x", {"N", 3}).output("y").node("Relu", {"x"}, {"y"});
  struct Case {
    const char* name;
    const char* shape;
    const char* dim;
    const char* says;
  };
  const Case cases[] = {{"no such input", "z=1x3", nullptr, "'x'"},
                        {"wrong rank", "x=1x3x4", nullptr, "2 dimensions"},
                        {"against a declared number", "x=1x4", nullptr, "declares 3"},
                        {"no such symbol", nullptr, "M=4", "'N'"},
                        {"bound twice", "x=2x3", "N=3", "bound"}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    importer::ImportOptions options;
    if (c.shape) importer::add_input_shape(options, c.shape);
    if (c.dim) importer::add_dim(options, c.dim);
    const graph::ConversionError error = import_error(g.bytes(), options);
    CHECK(error.exit_code == 5);
    CHECK(error.message.find(c.says) != std::string::npos);
  }
  for (const char* bad : {"x", "x=", "=1x2", "x=1xx2", "x=-1x2"}) {
    importer::ImportOptions options;
    CAPTURE(bad);
    CHECK_THROWS_AS(importer::add_input_shape(options, bad), graph::ConversionError);
  }
  for (const char* bad : {"N", "N=4..2", "N=a", "N=1..", "N=-3"}) {
    importer::ImportOptions options;
    CAPTURE(bad);
    CHECK_THROWS_AS(importer::add_dim(options, bad), graph::ConversionError);
  }
}

TEST_CASE("symbolic: shapes gathered by batches that disagree are refused") {
  for (const int batches : {2, 3}) {
    OnnxGraph g;
    g.initializer("a", {2, 2}, std::vector<int64_t>{1, 2, 3, 4}).input("x", {batches});
    g.initializer("i", {batches, 1}, std::vector<int64_t>(size_t(batches), 1));
    g.node("GatherND", {"a", "i"}, {"n"}, {attribute("batch_dims", int64_t(1))});
    g.node("Shape", {"x"}, {"s"}).node("Add", {"n", "s"}, {"y"}).output("y");
    if (batches == 2) CHECK(output_type(import(g)) == "i64[2]");
    if (batches == 3) CHECK(import_error(g.bytes(13)).message.find("batch") != std::string::npos);
  }
}

TEST_CASE("symbolic: a dimension may be 0 where that changes no node and no shape") {
  OnnxGraph g;
  g.input("past", {1, "P", 4}).input("k", {1, 1, 4}).output("present");
  g.node("Concat", {"past", "k"}, {"present"}, {attribute("axis", int64_t(1))});
  CHECK(import(g).symbols.at("P").low == 0);
  // at least one of what is expanded, and a choice that only N = 0 leaves open
  OnnxGraph most;
  most.input("x", {"N", 4}).input("z", {"M", "P"}).output("y").output("w");
  most.node("Shape", {"z"}, {"sz"}).shape_input("first", {0}).shape_input("none", {0});
  most.node("Gather", {"sz", "first"}, {"rows"}).node("Greater", {"rows", "none"}, {"any"});
  most.node("Where", {"any", "z", "none_f"}, {"w"});
  most.initializer("none_f", {1}, std::vector<float>{7.0f});
  most.node("Shape", {"x"}, {"s"}).shape_input("one", {1, 1});
  most.node("Max", {"s", "one"}, {"m"}).initializer("c", {1, 1}, std::vector<float>{2.0f});
  most.node("Expand", {"c", "m"}, {"y"});
  const graph::Model model = import(most);
  CHECK(output_type(model) == "f32[max(1, N), 4]");
  CHECK(model.symbols.at("N").low == 0);
  CHECK(model.symbols.at("M").low == 1);
  CHECK(model.symbols.at("P").low == 0);
  importer::ImportOptions options;
  options.dims["N"] = {0, 64};
  CHECK(output_type(import(most, 13, options)) == "f32[max(1, N), 4]");
}

TEST_CASE("symbolic: INT64_MAX and its negative are no limits") {
  for (const bool lower : {false, true}) {
    OnnxGraph g = with_dims();
    g.shape_input("limit", {lower ? INT64_MIN : INT64_MAX});
    g.node(lower ? "Max" : "Min", {"d2", "limit"}, {"rows"});
    g.node("Concat", {"d0", "d1", "rows", "d3"}, {"shape"}, {attribute("axis", int64_t(0))});
    g.node("Reshape", {"x", "shape"}, {"y"});
    CHECK(output_type(import(g)) == "f32[N, 8, H, W]");
  }
}

TEST_CASE("symbolic: the largest numbers are no limits of a Clip and of floats") {
  for (const bool whole : {true, false}) {
    CAPTURE(whole);
    OnnxGraph g = with_dims();
    if (whole) {
      g.initializer("low", {}, Ints{INT64_MIN}).initializer("high", {}, Ints{INT64_MAX});
      g.node("Clip", {"s", "low", "high"}, {"shape"});
    } else {
      const float infinity = std::numeric_limits<float>::infinity();
      g.initializer("high", {1}, std::vector<float>{infinity});
      g.node("Cast", {"s"}, {"f"}, {attribute("to", int64_t(1))}).node("Min", {"f", "high"}, {"m"});
      g.node("Cast", {"m"}, {"shape"}, {attribute("to", int64_t(7))});
    }
    g.initializer("c", {1}, std::vector<float>{2.0f}).node("Expand", {"c", "shape"}, {"y"});
    CHECK(output_type(import(g)) == "f32[N, 8, H, W]");
  }
}

TEST_CASE("symbolic: a part of a dimension broadcasts to that dimension") {
  OnnxGraph g;
  g.input("x", {"N", 4}).output("y").initializer("w", {32, 4}, std::vector<float>(128));
  g.initializer("zero", {1}, Ints{0}).node("Shape", {"x"}, {"s"});
  g.node("Gather", {"s", "zero"}, {"n"}).node("Slice", {"w", "zero", "n", "zero"}, {"part"});
  g.node("Add", {"x", "part"}, {"y"});  // min(32, N) rows
  CHECK(output_type(import(g)) == "f32[N, 4]");
}

TEST_CASE("symbolic: a dimension of 0 beside one of 1 is 0") {
  for (const bool by_shape : {false, true}) {
    OnnxGraph g;
    g.input("a", {"N", 3}).input("b", {"M", 3}).output("y");
    if (by_shape)
      g.node("Shape", {"b"}, {"s"}).node("Expand", {"a", "s"}, {"y"});
    else
      g.node("Add", {"a", "b"}, {"y"});
    const graph::Model model = import(g);
    CHECK(model.symbols.at("N").low == 0);
    const graph::Dim rows = model.values[size_t(model.graph.outputs[0])].dims[0];
    for (const int64_t n : {0, 1, 5}) {
      CHECK(rows.evaluate({{"N", n}, {"M", 1}}) == n);
      CHECK(rows.evaluate({{"N", 1}, {"M", n}}) == n);
      CHECK(rows.evaluate({{"N", n}, {"M", n}}) == n);
    }
  }
  for (const int64_t extent : {0, 1, 7}) {  // batches of an Einsum
    OnnxGraph g;
    g.input("a", {"N", 2, "k"})
        .input("b", {"M", "l", 5})
        .output("y")
        .node("Einsum", {"a", "b"}, {"y"}, {attribute("equation", std::string("bij,bjk->bik"))});
    importer::ImportOptions options;
    options.dims = {{"N", {0, 8}}, {"M", {0, 8}}};
    const graph::Model model = import(g, 13, options);
    const graph::Dim batch = model.values[size_t(model.graph.outputs[0])].dims[0];
    CHECK(batch.evaluate({{"N", extent}, {"M", 1}}) == extent);
    CHECK(batch.evaluate({{"N", 1}, {"M", extent}}) == extent);
  }
}

TEST_CASE("symbolic: wrapped pads may be longer than a dynamic dimension") {
  for (const int64_t pad : {1, 3}) {
    OnnxGraph g;
    g.input("x", {2, "T"}).output("y").shape_input("pads", {0, pad, 0, 0});
    g.node("Pad", {"x", "pads"}, {"y"}, {attribute("mode", std::string("wrap"))});
    const graph::Model model = import(g, 19);
    CHECK(output_type(model) == "f32[2, T + " + std::to_string(pad) + "]");
    CHECK((operators(model.graph) == "Pad") == (pad == 1));
  }
}

TEST_CASE("symbolic: dimensions called None are not one dimension") {
  OnnxGraph g;
  g.input("x", {"None", "None"}).output("y");
  g.node("Relu", {"x"}, {"y"});
  CHECK(output_type(import(g)) == "f32[x_dim0, x_dim1]");
}

TEST_CASE("symbolic: inputs that share a dimension's name and differ get names of their own") {
  // resized to the other's size: with equal sizes that would be no node
  OnnxGraph g;
  g.input("src", {1, 3, "h", "w"}).input("r", {1, 3, "h", "w"}).output("y");
  g.node("Shape", {"src"}, {"s"})
      .node("Resize", {"r", "", "", "s"}, {"u"}, {attribute("mode", std::string("nearest"))});
  g.node("Add", {"u", "src"}, {"y"});
  const graph::Model model = import(g);
  CHECK(output_type(model) == "f32[1, 3, h, w]");
  CHECK(operators(model.graph) == "Resize Add");
  CHECK(model.symbols.count("r_h") == 1);
  CHECK(model.symbols.count("r_w") == 1);
  bool is_noted = false;
  for (const std::string& note : model.notes)
    is_noted = is_noted || note.find("'r_h'") != std::string::npos;
  CHECK(is_noted);
  importer::ImportOptions fixed;
  fixed.input_shapes = {{"src", {1, 3, 8, 8}}, {"r", {1, 3, 4, 4}}};
  CHECK(output_type(import(g, 13, fixed)) == "f32[1, 3, 8, 8]");
  importer::ImportOptions same;  // the caller says that they are one
  const graph::Dims dims = {1, 3, graph::Dim::symbol("a"), graph::Dim::symbol("b")};
  same.input_shapes = {{"src", dims}, {"r", dims}};
  CHECK(operators(import(g, 13, same).graph) == "Add");
  // half of it joined to it: nothing but another extent
  OnnxGraph half;
  half.input("src", {1, 3, "h"}).input("r", {1, 3, "h"}).output("y");
  half.node("MaxPool", {"src"}, {"p"},
            {attribute("kernel_shape", Ints{2}), attribute("strides", Ints{2})});
  half.node("Concat", {"p", "r"}, {"y"}, {attribute("axis", int64_t(1))});
  CHECK(import(half).symbols.count("r_h") == 1);
  // half of it beside it
  OnnxGraph beside;
  beside.input("src", {1, 3, "h"}).input("r", {1, 3, "h"}).output("y");
  beside.node("MaxPool", {"src"}, {"p"},
              {attribute("kernel_shape", Ints{2}), attribute("strides", Ints{2})});
  beside.node("Add", {"p", "r"}, {"y"});
  CHECK(import(beside).symbols.count("r_h") == 1);
  // without such a sign they stay one
  OnnxGraph tied;
  tied.input("a", {"n", 4}).input("b", {"n", 4}).output("y").node("Add", {"a", "b"}, {"y"});
  CHECK(import(tied).symbols.size() == 1);
}
