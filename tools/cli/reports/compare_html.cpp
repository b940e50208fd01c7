// SPDX-License-Identifier: Apache-2.0
// The image of a comparison: the source's graph in layers, colored by the error of each node.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "tools/cli/output/terminal.h"
#include "tools/cli/reports/compare_report.h"
#include "tools/cli/reports/graph_view.h"

namespace ingot::cli {
namespace {

/// The worst that the instructions of a node did.
struct NodeError {
  std::vector<uint32_t> instructions;
  bool known = false;
  double whole = 0, alone = 0;  // ratios of the tolerance: gathered up to here; by itself
  std::string text;
};

NodeError error_of(const DivergenceAnswer& a, const compare::SourceState& state) {
  NodeError e;
  for (uint32_t i = 0; i < a.program.instructions.size(); i++) {
    const CheckedInstruction& instruction = a.program.instructions[i];
    const bool is_from = std::any_of(state.sources.begin(), state.sources.end(), [&](uint32_t s) {
      return std::count(instruction.sources.begin(), instruction.sources.end(), s) > 0;
    });
    if (!is_from || !instruction.ran) continue;
    e.instructions.push_back(i);
    e.alone =
        std::max({e.alone, instruction.kernel_error.ratio(), instruction.alone_error.ratio()});
    if (!instruction.known) continue;
    e.known = true;
    if (instruction.whole_error.ratio() >= e.whole) {
      e.whole = instruction.whole_error.ratio();
      e.text = compare::text(instruction.whole_error, instruction.dims);
    }
  }
  return e;
}

/// Green where little of the tolerance is used, red where it is passed, grey where nothing is
/// known.
std::string color(const NodeError& e) {
  if (e.instructions.empty() || !e.known) return "#e4e7ec";
  const double worst = std::max(e.whole, e.alone);
  if (worst > 1) return "#ef6a5a";
  const double t = worst <= 1e-4 ? 0 : std::min(1.0, (std::log10(worst) + 4) / 4);
  char text[32];
  snprintf(text, sizeof text, "hsl(%d,62%%,%d%%)", int(145 - 95 * t), 78);
  return text;
}

std::string dims_text(const std::vector<int64_t>& dims) {
  std::string out;
  for (const int64_t extent : dims) out += (out.empty() ? "" : ",") + std::to_string(extent);
  return "[" + out + "]";
}

/// What a click on a node shows.
std::vector<std::pair<std::string, std::string>> rows_of(const DivergenceAnswer& a,
                                                         const compare::SourceState& state,
                                                         const NodeError& e) {
  std::vector<std::pair<std::string, std::string>> rows = {{"node", state.op + " " + state.name},
                                                           {"output", dims_text(state.dims)}};
  for (const uint32_t s : state.sources) rows.emplace_back("source", source_text(a, s));
  if (!state.why_unknown.empty()) rows.emplace_back("no reference", state.why_unknown);
  if (e.instructions.empty())
    rows.emplace_back("in the file", "no instruction: folded, a view, or never run");
  for (const uint32_t index : e.instructions) {
    const CheckedInstruction& i = a.program.instructions[index];
    rows.emplace_back("instruction " + std::to_string(index),
                      i.op + " by " + i.kernel + ", " + i.name);
    if (i.known) {
      rows.emplace_back("  gathered up to here", compare::text(i.whole_error, i.dims));
      rows.emplace_back("  alone", compare::text(i.alone_error, i.dims));
    }
    if (i.conversion_error.elements)
      rows.emplace_back("  naive kernels against the source",
                        compare::text(i.conversion_error, i.dims));
    if (i.kernel_error.elements)
      rows.emplace_back("  kernel against the naive one", compare::text(i.kernel_error, i.dims));
  }
  return rows;
}

/// Of a node that its source gave no name, its output's.
std::string name_of(const DivergenceAnswer& a, const compare::SourceState& state) {
  if (!state.name.empty() || state.sources.empty()) return state.name;
  const uint32_t source = state.sources[0];
  return source < a.source_nodes.size() ? a.source_nodes[source].output : "";
}

/// The source's nodes, and which of them diverges first (-1: none).
std::vector<GraphNode> nodes_of(const DivergenceAnswer& a, int64_t* first) {
  std::vector<GraphNode> nodes;
  std::map<graph::ValueId, size_t> maker;
  *first = -1;
  for (size_t i = 0; i < a.source.size(); i++) {
    const compare::SourceState& state = a.source[i];
    const NodeError e = error_of(a, state);
    const std::string name = name_of(a, state);
    GraphNode node{state.op, name, e.text, color(e), false, {}, rows_of(a, state, e)};
    std::set<size_t> before;
    for (const graph::ValueId id : state.inputs)
      if (const auto made = maker.find(id); made != maker.end()) before.insert(made->second);
    node.before.assign(before.begin(), before.end());
    for (const graph::ValueId id : state.outputs)
      if (id >= 0) maker[id] = i;
    node.is_marked = *first < 0 && !a.sources.empty() &&
                     std::count(state.sources.begin(), state.sources.end(), a.sources[0]);
    if (node.is_marked) *first = int64_t(i);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace

void write_compare_html(const DivergenceAnswer& a, const std::string& source,
                        const std::string& file, const std::string& path) {
  HtmlPage page("ingot compare " + file);
  page.style(".key span{display:inline-block;padding:1px 10px;border-radius:4px;margin-right:6px}");
  page.add("<header><h1>" + escaped(a.headline()) + "</h1><p>" +
           escaped(source + " against " + file + ", " + a.program.isa) +
           (a.value.empty() ? "" : "<br/>value " + escaped("'" + a.value + "': " + a.detail)) +
           "</p></header>\n<section>\n");
  page.heading("Graph of the source", "Click a node for its shapes and errors.");
  page.add(
      "<p class=\"key\"><span style=\"background:hsl(145,62%,78%)\">far inside the tolerance</span>"
      "<span style=\"background:hsl(50,62%,78%)\">near it</span><span "
      "style=\"background:#ef6a5a\">beyond</span>"
      "<span style=\"background:#e4e7ec\">not compared</span></p>\n");
  int64_t first;
  const std::vector<GraphNode> nodes = nodes_of(a, &first);
  add_graph(nodes, &page, first, "first divergence");
  page.add("</section>\n<section>\n");
  page.heading("Outputs", "Against the " + a.outputs_against + ".");
  std::vector<std::vector<std::string>> rows;
  for (const CheckedOutput& o : a.outputs)
    rows.push_back({o.comparison.passed ? "ok" : "FAIL", check::summary(o.comparison, o.dims)});
  page.table({"", "output"}, rows);
  for (const std::string& text : a.notes) page.add("<p>note: " + escaped(text) + "</p>\n");
  page.add("</section>\n");
  page.write(path);
}

}  // namespace ingot::cli
