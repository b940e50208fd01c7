// SPDX-License-Identifier: Apache-2.0
// Tables of embeddings as bytes: which nodes, how near the numbers stay, and what stays as it is.
#include "tools/compile/quantize/tables.h"

#include <doctest/doctest.h>

#include "tests/compile/quantize/rewritten.h"

using namespace ingot;
using namespace ingot::test;

namespace {

auto quantize_tables(GraphBuilder& g, const std::vector<std::string>& keep = {}) {
  return rewritten(
      g, keep, [](graph::Model& model, const quantize::Keep& kept, std::set<std::string>* matched) {
        std::set<std::string> seen;
        const size_t expected = quantize::find_tables(model, kept, &seen).names.size();
        quantize::TableReport found = quantize::quantize_tables(model, kept, matched);
        CHECK(found.names.size() == expected);
        CHECK(seen == *matched);
        return found;
      });
}

/// Rows of a table of [512, 64], as numbers of positions that the input says.
ValueId rows_of(GraphBuilder& g, ValueId table, const std::string& input) {
  const ValueId at = g.node(op::Cast, {g.input(input, {2, 3})}, {{attr::to, int64_t(DType::kI64)}});
  return g.node(op::Gather, {table, at}, {{attr::axis, int64_t(0)}});
}

}  // namespace

TEST_CASE("a table that two nodes read is made into bytes once") {
  GraphBuilder g;
  const ValueId table = g.weights({512, 64});
  g.output(rows_of(g, table, "a")), g.output(rows_of(g, table, "b"));
  const auto made = quantize_tables(g);
  CHECK(made.found.names.size() == 2);
  CHECK(made.found.tables == 1);
  CHECK(made.found.signal_to_noise > 35);
  CHECK(g.count("Gather") == 4);  // numbers and scales
  CHECK(g.count("Mul") == 2);
  CHECK(made.moved > 0);
  CHECK(made.moved < 0.01);
  int tables = 0;
  for (const graph::Node& node : g.model.graph.nodes)
    if (node.op == op::Gather) tables += g.model.constant(node.inputs[0])->dtype == DType::kU8;
  CHECK(tables == 2);
  CHECK(g.model.notes.size() == 1);
}

TEST_CASE("small tables, columns, constant choices and tables of integers stay as they are") {
  GraphBuilder g;
  g.output(rows_of(g, g.weights({16, 64}), "small"));
  const ValueId at = g.node(op::Cast, {g.input("at", {2, 3})}, {{attr::to, int64_t(DType::kI64)}});
  g.output(g.node(op::Gather, {g.weights({64, 512}), at}, {{attr::axis, int64_t(1)}}));
  g.output(g.node(op::Gather, {g.weights({8, 64, 64}), at}, {{attr::axis, int64_t(0)}}));
  const auto made = quantize_tables(g);
  CHECK(g.count("Gather") == 3);
  CHECK(made.moved == 0);
  CHECK(g.model.notes.empty());
}

TEST_CASE("a table that --keep-fp32 names stays") {
  GraphBuilder g;
  const ValueId table = g.weights({512, 64});
  g.model.values[size_t(table)].name = "word.table";
  g.output(rows_of(g, table, "a"));
  const auto made = quantize_tables(g, {"word.*", "other"});
  CHECK(made.matched == std::set<std::string>{"word.*"});
  CHECK(g.count("Gather") == 1);
  CHECK(made.moved == 0);
}
