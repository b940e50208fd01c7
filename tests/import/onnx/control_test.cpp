// SPDX-License-Identifier: Apache-2.0
// tests/import/onnx/control_test.cpp - If over dims: which branch is converted, and for which
// extents.
#include <algorithm>

#include "tests/import/onnx/import_helpers.h"
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
  g.shape_input("at", {1})
      .node("Gather", {"s", "at"}, {"T"})
      .shape_input("four", {4})
      .shape_input("one", {1});
  g.node("Div", {dim, "four"}, {"quarter"}).node("Equal", {"quarter", "one"}, {"c"});
  return g.node(
      "If", {"c"}, {"y"},
      {graph_attribute("then_branch", flat.proto), graph_attribute("else_branch", as_it_is.proto)});
}

}  // namespace

TEST_CASE("import: an If of constant condition is its branch, any other keeps both") {
  const auto branch = [](const char* op) {
    return OnnxGraph().node(op, {"x"}, {"z"}).output("z").proto;
  };
  const std::vector<Proto> branches = {graph_attribute("then_branch", branch("Exp")),
                                       graph_attribute("else_branch", branch("Neg"))};
  OnnxGraph fixed;
  fixed.input("x", {2})
      .output("y")
      .shape_input("two", {2})
      .node("Shape", {"x"}, {"s"})
      .node("Equal", {"s", "two"}, {"c"});
  fixed.node("If", {"c"}, {"y"}, branches);
  CHECK(operators(import(fixed).graph) == "Exp");
  OnnxGraph open;
  open.input("x", {2}).input("c", {}, 9).output("y").node("If", {"c"}, {"y"}, branches);
  const graph::Model model = import(open);
  CHECK(operators(model.graph) == "If");
  CHECK(operators(*model.graph.nodes[0].subgraph(attr::else_branch)) == "Neg");
  CHECK(output_type(model) == "f32[2]");
}

TEST_CASE(
    "control: an If that a dimension decides is converted for the extents that take one branch, "
    "and "
    "says so") {
  const graph::Model model = import(guarded("T"));
  CHECK(output_type(model) == "f32[B*T]");
  CHECK(model.symbols.at("T").low == 4);
  CHECK(model.symbols.at("T").high == 7);
  CHECK(model.symbols.at("B").high == 0);
  REQUIRE(model.notes.size() == 1);
  CHECK(model.notes[0].find("'T' is converted for 4..7") != std::string::npos);
}

TEST_CASE("control: bounds and extents at hand choose the other branch") {
  importer::ImportOptions options;
  importer::add_dim(options, "T=9");
  CHECK(output_type(import(guarded("T"), 13, options)) == "f32[B, 9]");
  importer::ImportOptions range;
  importer::add_dim(range, "T=8..20");
  CHECK(output_type(import(guarded("T"), 13, range)) == "f32[B, T]");
  importer::ImportOptions across;  // both answers lie within: the first is taken, cut to the bounds
  importer::add_dim(across, "T=6..20");
  CHECK(import(guarded("T"), 13, across).symbols.at("T").high == 7);
  importer::ImportOptions expected;
  expected.expected_inputs["x"] = {12, 3, 9};  // with a leading axis of steps
  const graph::Model model = import(guarded("T"), 13, expected);
  CHECK(output_type(model) == "f32[B, T]");
  CHECK(model.symbols.at("T").low == 8);
  CHECK(model.symbols.at("T").high == 0);
}

namespace {

/// x [1, T] summed to [1] where T // divisor is `expected`, else to [1, 1].
OnnxGraph summed(const std::string& name, const std::string& divisor, const std::string& expected) {
  OnnxGraph g, flat, kept;
  flat.node("ReduceSum", {"x", "last"}, {name + "f"}, {attribute("keepdims", int64_t(0))})
      .output(name + "f");
  kept.node("ReduceSum", {"x", "last"}, {name + "k"}, {attribute("keepdims", int64_t(1))})
      .output(name + "k");
  g.node("Shape", {"x"}, {name + "s"}).node("Gather", {name + "s", "last"}, {name + "T"});
  g.node("Div", {name + "T", divisor}, {name + "q"})
      .node("Equal", {name + "q", expected}, {name + "c"});
  g.node("If", {name + "c"}, {name},
         {graph_attribute("then_branch", flat.proto), graph_attribute("else_branch", kept.proto)});
  g.output(name);
  return g;
}

OnnxGraph by_data(const OnnxGraph& then_branch, const OnnxGraph& else_branch) {
  OnnxGraph g;
  g.input("x", {1, "T"}).input("c", {}, 9).output("y");
  g.shape_input("last", {1}).shape_input("eight", {8}).shape_input("forty", {40});
  g.shape_input("one", {1}).shape_input("zero", {0});
  return g.node("If", {"c"}, {"y"},
                {graph_attribute("then_branch", then_branch.proto),
                 graph_attribute("else_branch", else_branch.proto)});
}

}  // namespace

TEST_CASE(
    "control: a branch that runs for some extents of a dimension is guarded, the model has those "
    "of the other") {
  const graph::Model model =
      import(by_data(summed("narrow", "eight", "one"), summed("wide", "forty", "zero")));
  CHECK(output_type(model) == "f32[1]");
  CHECK(model.symbols.at("T").low == 8);
  CHECK(model.symbols.at("T").high == 39);
  const auto has_note = [&](const char* text) {
    return std::any_of(model.notes.begin(), model.notes.end(), [&](const std::string& note) {
      return note.find(text) != std::string::npos;
    });
  };
  CHECK(has_note("'T' is converted for 8..39"));
  CHECK(has_note("above T = 15"));
  const graph::Node* choice = nullptr;
  for (const graph::Node& node : model.graph.nodes)
    if (node.op == op::If) choice = &node;
  REQUIRE(choice);
  const auto narrow = choice->subgraph(attr::then_branch),
             wide = choice->subgraph(attr::else_branch);
  CHECK(operators(*wide) == "ReduceSum");
  REQUIRE(narrow->nodes.back().op == op::If);
  CHECK(!narrow->nodes.back().has(attr::else_branch));
  CHECK(operators(*narrow->nodes.back().subgraph(attr::then_branch)) == "Slice ReduceSum");
}

TEST_CASE("control: no branch is kept that no extent of the model could run") {
  // [1] from 40 to 79 in the one, below 40 in the other: both make [1, 1] from 80 on.
  const graph::Model model =
      import(by_data(summed("far", "forty", "one"), summed("near", "forty", "zero")));
  CHECK(output_type(model) == "f32[1, 1]");
  CHECK(model.symbols.at("T").low == 80);
}

TEST_CASE("control: a choice by two dimensions is refused, and says what would help") {
  const graph::ConversionError error = import_error(guarded("area").bytes());
  CHECK(error.exit_code == 4);
  CHECK(error.message.find("B*T") != std::string::npos);
  REQUIRE(error.unsupported.size() == 1);
  CHECK(error.unsupported[0].hint.find("--dim") != std::string::npos);
}

TEST_CASE("comparison: bounds that decide are found by trying, and proved beyond") {
  using graph::Comparison;
  const graph::Dim t = graph::Dim::symbol("T");
  // T//3 < 2
  const auto runs = graph::deciding_bounds({Comparison::Kind::kAtLeast, t / 3, 2, true});
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].holds);
  CHECK(runs[0].bounds.low == 1);
  CHECK(runs[0].bounds.high == 5);
  CHECK(runs[1].bounds.low == 6);
  CHECK(runs[1].bounds.high == 0);
  // (T*T) % 2 == T % 2, which no bound proves
  const graph::Dim bounded = graph::Dim::symbol("T", 5, 8);
  const graph::Dim odd = bounded - bounded / 2 * 2,
                   square = bounded * bounded - bounded * bounded / 2 * 2;
  CHECK(graph::answer({Comparison::Kind::kEqual, odd, square, false}) == true);
  CHECK(graph::answer({Comparison::Kind::kEqual, odd, square, true}) == false);
  CHECK(!graph::answer({Comparison::Kind::kEqual, t, 3, false}));
  CHECK(graph::deciding_bounds({Comparison::Kind::kEqual, t, graph::Dim::symbol("U"), false})
            .empty());
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
  const graph::ConversionError counted =
      import_error(loop_of(with_x().input("n", {}, 7), "n", body).bytes());
  CHECK(counted.exit_code == 4);
  CHECK(counted.message.find("nothing bounds the loop") != std::string::npos);
  REQUIRE(counted.unsupported.size() == 1);
  CHECK(counted.unsupported[0].hint.find("constant") != std::string::npos);
  const graph::ConversionError endless = import_error(loop_of(with_x(), "", body).bytes());
  CHECK(endless.exit_code == 4);
  CHECK(endless.message.find("nothing bounds") != std::string::npos);
  const graph::Model model =
      import(loop_of(with_x().initializer("n", {}, std::vector<int64_t>{3}), "n", body));
  CHECK(operators(model.graph) == "Loop");
  CHECK(model.graph.nodes[0].dims(attr::most) == graph::Dims{3});
  CHECK(output_type(model) == "f32[B, T]");
}

TEST_CASE("control: rows of a count are stacked, those that end early are as many as were made") {
  OnnxGraph always = body_of("go"), early = body_of("less");
  always.output("b").output("b2").node("Neg", {"b"}, {"b2"});
  early.output("b").output("b2").node("Neg", {"b"}, {"b2"});
  early.node("ReduceSum", {"b"}, {"sum"}, {attribute("keepdims", int64_t(0))})
      .initializer("limit", {}, std::vector<float>{3})
      .node("Less", {"sum", "limit"}, {"less"});
  const auto with_count = [] { return with_x().initializer("n", {}, std::vector<int64_t>{3}); };
  CHECK(output_type(import(loop_of(with_count(), "n", always, 2)), 1) == "f32[3, B, T]");
  const graph::Model ended = import(loop_of(with_count(), "n", early, 2));
  REQUIRE(ended.data_dependent.size() == 1);
  const auto& [rows, symbol] = *ended.data_dependent.begin();
  CHECK(symbol.bound == graph::Dim(3));
  CHECK(ended.values[size_t(ended.graph.outputs[1])].dims.at(0).text().find(rows) !=
        std::string::npos);
}

TEST_CASE("control: what a loop carries grows up to a bound, which somebody states") {
  OnnxGraph body = body_of("go");
  body.node("Concat", {"b", "a"}, {"longer"}, {attribute("axis", int64_t(1))}).output("longer");
  const OnnxGraph loop =
      loop_of(with_x().initializer("n", {}, std::vector<int64_t>{100}), "n", body);
  const graph::ConversionError error = import_error(loop.bytes());
  CHECK(error.exit_code == 4);
  REQUIRE(error.unsupported.size() == 1);
  CHECK(error.unsupported[0].hint.find("--max-elements HIGH") != std::string::npos);
  importer::ImportOptions options;
  options.max_elements = 64;
  const graph::Model grown = import(loop, 13, options);
  CHECK(grown.data_dependent.size() == 2);  // inside, and behind the loop
  for (const auto& [name, symbol] : grown.data_dependent)
    CHECK(symbol.bound == max(graph::Dim::symbol("T"), graph::Dim(64)));
}

namespace {

/// A loop whose body appends x to the sequence that it carries.
OnnxGraph appending(int64_t iterations, OnnxGraph body) {
  body.input("i", {}, 7).input("go", {}, 9);
  body.proto.message(11, Proto().text(1, "before"));
  body.node("SequenceInsert", {"before", "x"}, {"after"}).output("go").output("after");
  OnnxGraph g = with_x().initializer("n", {}, std::vector<int64_t>{iterations});
  return g.node("SequenceEmpty", {}, {"none"})
      .node("Loop", {"n", "", "none"}, {"all"}, {graph_attribute("body", body.proto)})
      .node("ConcatFromSequence", {"all"}, {"y"},
            {attribute("axis", int64_t(0)), attribute("new_axis", int64_t(1))})
      .output("y");
}

}  // namespace

TEST_CASE("control: what a loop appends is rows, unless its body reads the sequence") {
  CHECK(output_type(import(appending(100, {}))) == "f32[100, B, T]");
  for (const std::vector<std::string>& unread : {std::vector<std::string>{}, {"other"}}) {
    const auto body = [&] { return OnnxGraph().node("SequenceInsert", {"before", "x"}, unread); };
    const graph::ConversionError error = import_error(appending(100, body()).bytes());
    CHECK(error.exit_code == 4);
    CHECK(error.message.find("append one tensor") != std::string::npos);
    CHECK(output_type(import(appending(3, body()))) == "f32[3, B, T]");  // written out
  }
}

TEST_CASE("control: a loop that appends parts of other extents is written out, or refused") {
  const auto splitting = [](int64_t iterations, size_t from) {
    OnnxGraph body;
    body.input("i", {1}, 7).input("go", {}, 9);
    body.proto.message(11, Proto().text(1, "before"));
    body.node("Gather", {"offsets", "i"}, {"start"})
        .node("Add", {"i", "one"}, {"next"})
        .node("Gather", {"offsets", "next"}, {"end"})
        .node("Slice", {"x", "start", "end", "axis"}, {"part"})
        .node("SequenceInsert", {"before", "part"}, {"after"})
        .output("go")
        .output("after");
    std::vector<int64_t> offsets(size_t(iterations) + 1, int64_t(from));
    offsets[0] = 0;
    OnnxGraph g;
    g.input("x", {2, 5}).initializer("n", {}, std::vector<int64_t>{iterations});
    return g.shape_input("offsets", offsets)
        .shape_input("one", {1})
        .shape_input("axis", {1})
        .initializer("last", {}, std::vector<int64_t>{0})
        .node("SequenceEmpty", {}, {"none"})
        .node("Loop", {"n", "", "none"}, {"parts"}, {graph_attribute("body", body.proto)})
        .node("SequenceAt", {"parts", "last"}, {"y"})
        .output("y");
  };
  CHECK(output_type(import(splitting(2, 3))) == "f32[2, 3]");
  const graph::ConversionError error = import_error(splitting(65, 3).bytes());
  CHECK(error.exit_code == 4);
  CHECK(error.message.find("each iteration tells") != std::string::npos);
}

TEST_CASE("control: few iterations whose shapes follow from the iteration are written out") {
  const auto growing = [](int64_t iterations) {
    OnnxGraph body;
    body.input("i", {}, 7).input("go", {}, 9).input("a", {"B", "T"});
    body.node("Unsqueeze", {"i", "zero"}, {"at"})
        .node("Slice", {"a", "zero", "at", "one"}, {"part"})
        .node("Concat", {"a", "part"}, {"b"}, {attribute("axis", int64_t(1))})
        .node("ReduceSum", {"b"}, {"sum"}, {attribute("keepdims", int64_t(0))})
        .output("go")
        .output("b")
        .output("sum");
    OnnxGraph g;
    g.input("x", {2, 5})
        .initializer("n", {}, std::vector<int64_t>{iterations})
        .initializer("zero", {1}, std::vector<int64_t>{0})
        .initializer("one", {1}, std::vector<int64_t>{1});
    return loop_of(g, "n", body, 2);
  };
  const graph::Model model = import(growing(4));
  CHECK(output_type(model) == "f32[2, 11]");  // 5 + 0 + 1 + 2 + 3
  CHECK(output_type(model, 1) == "f32[4]");
  CHECK(operators(model.graph).find("Loop") == std::string::npos);
  CHECK(import_error(growing(65).bytes()).exit_code == 4);
}
