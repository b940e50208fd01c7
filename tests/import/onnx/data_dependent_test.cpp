// SPDX-License-Identifier: Apache-2.0
// Sizes that only the data tells: which symbols stand for them, what they are at most, and what is
// refused with the way out.
#include "tests/import/onnx/import_helpers.h"

using namespace ingot;
using namespace ingot::test;

namespace {

std::string bounds(const graph::Model& model) {
  std::string all;
  for (const auto& [name, symbol] : model.data_dependent)
    all += (all.empty() ? "" : ", ") + name + " <= " + symbol.bound.text();
  return all;
}

}  // namespace

TEST_CASE(
    "data-dependent: NonZero, Compress and TopK have data-dependent dims, at most what their "
    "inputs "
    "allow") {
  OnnxGraph g;
  g.input("x", {2, "W"}).output("y").node("NonZero", {"x"}, {"y"});
  graph::Model model = import(g);
  CHECK(output_type(model) == "i64[2, y.count]");
  CHECK(bounds(model) == "y.count <= 2*W");

  OnnxGraph c;
  c.input("x", {5, 3}).input("keep", {5}, 9).output("y");
  c.node("Compress", {"x", "keep"}, {"y"}, {attribute("axis", int64_t(0))});
  model = import(c);
  CHECK(operators(model.graph) == "NonZero Reshape Gather");
  CHECK(model.data_dependent.size() == 1);
  CHECK(model.data_dependent.begin()->second.bound == graph::Dim(5));

  OnnxGraph t;
  t.input("x", {4, 9}).input("k", {1}, 7).output("v").output("i");
  t.node("TopK", {"x", "k"}, {"v", "i"}, {attribute("axis", int64_t(1))});
  model = import(t);
  CHECK(model.data_dependent.size() == 1);
  CHECK(model.data_dependent.begin()->second.bound == graph::Dim(9));
  CHECK(operators(model.graph) == "Reshape ResolveDim TopK");
}

TEST_CASE("data-dependent: what makes a size stays, even if only extents need it") {
  OnnxGraph g;  // as many ones as x has elements that are not zero: no data flows from NonZero
  g.input("x", {12}).output("y").node("NonZero", {"x"}, {"where"}).node("Shape", {"where"}, {"s"});
  g.shape_input("one", {1})
      .node("Gather", {"s", "one"}, {"n"})
      .node("ConstantOfShape", {"n"}, {"y"});
  const graph::Model model = import(g);
  CHECK(operators(model.graph).find("NonZero") == 0);
}

TEST_CASE("data-dependent: NonZero of a constant is a constant") {
  OnnxGraph g;
  g.input("x", {4}).output("y").initializer("c", {2, 2}, std::vector<float>{0, 1, -0.0f, 2});
  g.node("NonZero", {"c"}, {"where"})
      .shape_input("last", {1})
      .node("Gather", {"where", "last"}, {"at"}, {attribute("axis", int64_t(0))});
  g.node("Gather", {"x", "at"}, {"y"});
  const graph::Model model = import(g);
  CHECK(operators(model.graph) == "Gather");
  CHECK(output_type(model) == "f32[1, 2]");
}

TEST_CASE("data-dependent: a size from an input needs a bound, which --dim states") {
  OnnxGraph g;
  g.input("n", {1}, 7).input("x", {1}).output("y");
  g.node("Expand", {"x", "n"}, {"y"});
  const graph::ConversionError refused = import_error(g.bytes(13));
  CHECK(refused.exit_code == 4);
  REQUIRE(refused.unsupported.size() == 1);
  CHECK(refused.unsupported[0].hint ==
        "or give its upper bound: --dim 'n=1..HIGH', or of all such sizes: --max-elements "
        "HIGH");
  importer::ImportOptions options;
  importer::add_dim(options, "n=1..40");
  const graph::Model model = import(g, 13, options);
  CHECK(output_type(model) == "f32[n]");
  CHECK(bounds(model) == "n <= 40");
  importer::add_dim(options, "m=1..40");
  CHECK(import_error(g.bytes(13), options).exit_code == 5);
}

TEST_CASE("data-dependent: an integer input with a bound is a size, and so is what is made of it") {
  OnnxGraph g;  // as many elements as n / 8 says
  g.input("n", {}, 7).output("y").initializer("zero", {}, std::vector<int64_t>{0});
  g.initializer("one", {}, std::vector<int64_t>{1});
  g.initializer("eight", {}, std::vector<int64_t>{8});
  g.node("Div", {"n", "eight"}, {"most"}).node("Range", {"zero", "most", "one"}, {"y"});
  importer::ImportOptions options;
  importer::add_dim(options, "n=0..640");
  const graph::Model model = import(g, 17, options);
  CHECK(bounds(model) == "n <= 640");
  CHECK(output_type(model) == "i64[n//8]");

  // Without one the refusal names the size and the input that decides it.
  const graph::ConversionError refused = import_error(g.bytes(17));
  REQUIRE(refused.unsupported.size() == 1);
  CHECK(refused.unsupported[0].hint ==
        "give its upper bound: --dim 'most=1..HIGH', or of what it is computed from: --dim "
        "'n=1..HIGH', or of all such sizes: --max-elements HIGH");
}

TEST_CASE("data-dependent: the hint names what bounds a size, and bounds of that are enough") {
  for (const char* op : {"ReduceMax", "ReduceProd", "ReduceSum"}) {
    OnnxGraph g;
    g.input("n", {2}, 7).output("y").initializer("zero", {}, std::vector<int64_t>{0});
    g.initializer("one", {}, std::vector<int64_t>{1});
    g.node(op, {"n"}, {"most"}, {attribute("keepdims", int64_t(0))});
    g.node("Range", {"zero", "most", "one"}, {"y"});
    const graph::ConversionError refused = import_error(g.bytes(17));
    CAPTURE(refused.message);
    REQUIRE(refused.unsupported.size() == 1);
    CHECK(refused.unsupported[0].hint.find("--dim 'n.0=1..HIGH' --dim 'n.1=1..HIGH'") !=
          std::string::npos);
    importer::ImportOptions options;
    importer::add_dim(options, "n.0=1..4");
    importer::add_dim(options, "n.1=1..6");
    CHECK(import(g, 17, options).data_dependent.size() > 0);
  }
}

TEST_CASE("data-dependent: elements of an input have bounds of their own") {
  OnnxGraph g;
  g.input("s", {2}, 7).input("x", {1, 1}).output("y").node("Expand", {"x", "s"}, {"y"});
  importer::ImportOptions options;
  importer::add_dim(options, "s.0=1..4");
  importer::add_dim(options, "s.1=1..6");
  const graph::Model model = import(g, 13, options);
  CHECK(output_type(model) == "f32[s.0, s.1]");
  CHECK(bounds(model) == "s.0 <= 4, s.1 <= 6");
}

TEST_CASE("data-dependent: a dimension and an input of one name are two sizes") {
  OnnxGraph g;
  g.input("x", {"n"}).input("n", {1}, 7).input("one", {1}).output("y").output("z");
  g.node("Expand", {"one", "n"}, {"y"}).node("Relu", {"x"}, {"z"});
  importer::ImportOptions options;
  importer::add_dim(options, "n=1..5");
  options.max_elements = 9;
  const graph::Model model = import(g, 13, options);
  CHECK(output_type(model, 1) == "f32[n]");
  CHECK(output_type(model, 0) == "f32[n_2]");
  CHECK(bounds(model) == "n_2 <= 9");
}

TEST_CASE("data-dependent: a size that must equal an operand's does so when it runs") {
  const auto made = [](const char* op, const std::vector<std::string>& inputs) {
    OnnxGraph g;
    g.input("l", {}, 7).output("y").initializer("zero", {}, std::vector<int64_t>{0});
    g.initializer("one", {}, std::vector<int64_t>{1});
    g.initializer("w", {5, 3}, std::vector<float>(15, 1));
    g.initializer("v", {5}, std::vector<float>(5, 1));
    g.shape_input("axes", {0});
    g.node("Range", {"zero", "l", "one"}, {"r"});
    g.node("Cast", {"r"}, {"f"}, {attribute("to", int64_t(1))});
    g.node("Unsqueeze", {"f", "axes"}, {"u"}).node(op, inputs, {"y"});
    importer::ImportOptions options;
    options.max_elements = 16;
    return output_type(import(g, 17, options));
  };
  CHECK(made("MatMul", {"u", "w"}) == "f32[1, 3]");
  CHECK(made("Gemm", {"u", "w"}) == "f32[1, 3]");
  CHECK(made("LayerNormalization", {"u", "v"}) == "f32[1, 5]");
}
