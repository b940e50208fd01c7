// tests/onnx/control_test.cpp - If over dims: which branch is cast, and for which extents.
#include "tests/onnx/import_helpers.h"
#include "tools/graph/comparison.h"

using namespace ingot;
using namespace ingot::test;

namespace {

/// y is x flat where `dim`//4 is 1, else x.
OnnxGraph guarded(const std::string& dim) {
  OnnxGraph g, flat, as_it_is;
  flat.shape_input("minus", {-1}).node("Reshape", {"x", "minus"}, {"a"}).output("a");
  as_it_is.node("Identity", {"x"}, {"b"}).output("b");
  g.input("x", {"B", "T"}).output("y").node("Shape", {"x"}, {"s"}).node("Size", {"x"}, {"area"});
  g.shape_input("at", {1}).node("Gather", {"s", "at"}, {"T"}).shape_input("four", {4}).shape_input("one", {1});
  g.node("Div", {dim, "four"}, {"quarter"}).node("Equal", {"quarter", "one"}, {"c"});
  return g.node("If", {"c"}, {"y"},
                {graph_attribute("then_branch", flat.proto), graph_attribute("else_branch", as_it_is.proto)});
}

}  // namespace

TEST_CASE("control: an If that a dimension decides is cast for the extents that take one branch, and says so") {
  const graph::Model model = import(guarded("T"));
  CHECK(output_type(model) == "f32[B*T]");
  CHECK(model.symbols.at("T").low == 4);
  CHECK(model.symbols.at("T").high == 7);
  CHECK(model.symbols.at("B").high == 0);
  REQUIRE(model.notes.size() == 1);
  CHECK(model.notes[0].find("'T' is cast for 4..7") != std::string::npos);
}

TEST_CASE("control: bounds and extents at hand choose the other branch") {
  onnx::ImportOptions options;
  onnx::add_dim(options, "T=9");
  CHECK(output_type(import(guarded("T"), 13, options)) == "f32[B, 9]");
  onnx::ImportOptions range;
  onnx::add_dim(range, "T=8..20");
  CHECK(output_type(import(guarded("T"), 13, range)) == "f32[B, T]");
  onnx::ImportOptions across;  // both answers lie within: the first is taken, cut to the bounds
  onnx::add_dim(across, "T=6..20");
  CHECK(import(guarded("T"), 13, across).symbols.at("T").high == 7);
  onnx::ImportOptions expected;
  expected.expected_inputs["x"] = {12, 3, 9};  // with a leading axis of steps
  const graph::Model model = import(guarded("T"), 13, expected);
  CHECK(output_type(model) == "f32[B, T]");
  CHECK(model.symbols.at("T").low == 8);
  CHECK(model.symbols.at("T").high == 0);
}

TEST_CASE("control: a choice by two dimensions is refused, and says what would help") {
  const graph::CastError error = import_error(guarded("area").bytes());
  CHECK(error.exit_code == 4);
  CHECK(error.message.find("B*T") != std::string::npos);
  CHECK(error.message.find("--dim") != std::string::npos);
}

TEST_CASE("comparison: bounds that decide are found by trying, and proved beyond") {
  using graph::Comparison;
  const graph::Dim t = graph::Dim::symbol("T");
  const auto runs = graph::deciding_bounds({Comparison::Kind::kAtLeast, t / 3, 2, true});  // T//3 < 2
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].holds);
  CHECK(runs[0].bounds.low == 1);
  CHECK(runs[0].bounds.high == 5);
  CHECK(runs[1].bounds.low == 6);
  CHECK(runs[1].bounds.high == 0);
  const graph::Dim bounded = graph::Dim::symbol("T", 5, 8);  // (T*T) % 2 == T % 2, which no bound proves
  const graph::Dim odd = bounded - bounded / 2 * 2, square = bounded * bounded - bounded * bounded / 2 * 2;
  CHECK(graph::answer({Comparison::Kind::kEqual, odd, square, false}) == true);
  CHECK(graph::answer({Comparison::Kind::kEqual, odd, square, true}) == false);
  CHECK(!graph::answer({Comparison::Kind::kEqual, t, 3, false}));
  CHECK(graph::deciding_bounds({Comparison::Kind::kEqual, t, graph::Dim::symbol("U"), false}).empty());
}

namespace {

/// y = Loop(count, condition, x) with the body's inputs i, go, a.
OnnxGraph loop_of(OnnxGraph g, const std::string& count, OnnxGraph body, size_t outputs = 1) {
  std::vector<std::string> names = {"y"};
  if (outputs == 2) names.push_back("rows");
  for (const std::string& name : names) g.output(name);
  return g.node("Loop", {count, "", "x"}, names, {graph_attribute("body", body.proto)});
}
OnnxGraph body_of(const std::string& condition) {
  OnnxGraph body;
  body.input("i", {}, 7).input("go", {}, 9).input("a", {"B", "T"});
  return body.node("Relu", {"a"}, {"b"}).output(condition);
}
OnnxGraph with_x() {
  OnnxGraph g;
  return g.input("x", {"B", "T"});
}

}  // namespace

TEST_CASE("control: a loop needs a bound, and the refusal says what would give one") {
  OnnxGraph body = body_of("go");
  body.output("b");
  const graph::CastError counted = import_error(loop_of(with_x().input("n", {}, 7), "n", body).bytes());
  CHECK(counted.exit_code == 4);
  CHECK(counted.message.find("nothing bounds the loop") != std::string::npos);
  REQUIRE(counted.unsupported.size() == 1);
  CHECK(counted.unsupported[0].hint.find("constant") != std::string::npos);
  const graph::CastError endless = import_error(loop_of(with_x(), "", body).bytes());
  CHECK(endless.exit_code == 4);
  CHECK(endless.message.find("nothing bounds") != std::string::npos);
  const graph::Model model = import(loop_of(with_x().initializer("n", {}, std::vector<int64_t>{3}), "n", body));
  CHECK(operators(model.graph) == "Loop");
  CHECK(model.graph.nodes[0].dims("most") == graph::Dims{3});
  CHECK(output_type(model) == "f32[B, T]");
}

TEST_CASE("control: rows whose number only the run knows are refused, those of a count are stacked") {
  OnnxGraph always = body_of("go"), early = body_of("less");
  always.output("b").output("b2").node("Neg", {"b"}, {"b2"});
  early.output("b").output("b2").node("Neg", {"b"}, {"b2"});
  early.node("ReduceSum", {"b"}, {"sum"}, {attribute("keepdims", int64_t(0))})
      .initializer("limit", {}, std::vector<float>{3})
      .node("Less", {"sum", "limit"}, {"less"});
  const auto with_count = [] { return with_x().initializer("n", {}, std::vector<int64_t>{3}); };
  CHECK(output_type(import(loop_of(with_count(), "n", always, 2)), 1) == "f32[3, B, T]");
  const graph::CastError error = import_error(loop_of(with_count(), "n", early, 2).bytes());
  CHECK(error.exit_code == 4);
  CHECK(error.message.find("end it early") != std::string::npos);
}

TEST_CASE("control: what a loop carries keeps its shape") {
  OnnxGraph body = body_of("go");
  body.node("Concat", {"b", "a"}, {"longer"}, {attribute("axis", int64_t(1))}).output("longer");
  const graph::CastError error =
      import_error(loop_of(with_x().initializer("n", {}, std::vector<int64_t>{3}), "n", body).bytes());
  CHECK(error.exit_code == 4);
  CHECK(error.message.find("[B, 2*T] after it") != std::string::npos);
}
