// The image of a comparison: the source's graph in layers, coloured by the error of each node.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "tools/cli/output/html_page.h"
#include "tools/cli/output/terminal.h"
#include "tools/cli/reports/compare_report.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kWidth = 168, kHeight = 34, kRow = 58, kMargin = 24;

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
std::string colour(const NodeError& e) {
  if (e.instructions.empty() || !e.known) return "#e4e7ec";
  const double worst = std::max(e.whole, e.alone);
  if (worst > 1) return "#ef6a5a";
  const double t = worst <= 1e-4 ? 0 : std::min(1.0, (std::log10(worst) + 4) / 4);
  char text[32];
  snprintf(text, sizeof text, "hsl(%d,62%%,%d%%)", int(145 - 95 * t), 78);
  return text;
}

std::string clipped(const std::string& text, size_t most) {
  return text.size() <= most ? text : "..." + text.substr(text.size() - most + 3);
}

Json details(const DivergenceAnswer& a, const compare::SourceState& state, const NodeError& e) {
  Json out = {
      {"op", state.op}, {"name", state.name}, {"dims", state.dims}, {"unknown", state.why_unknown}};
  out["sources"] = Json::array();
  for (const uint32_t s : state.sources) out["sources"].push_back(source_text(a, s));
  out["instructions"] = Json::array();
  for (const uint32_t index : e.instructions) {
    const CheckedInstruction& i = a.program.instructions[index];
    Json one = {{"index", index}, {"op", i.op}, {"kernel", i.kernel}, {"value", i.name}};
    if (i.known)
      one["alone"] = compare::text(i.alone_error, i.dims),
      one["whole"] = compare::text(i.whole_error, i.dims);
    if (i.conversion_error.elements) one["conversion"] = compare::text(i.conversion_error, i.dims);
    if (i.kernel_error.elements) one["naive"] = compare::text(i.kernel_error, i.dims);
    out["instructions"].push_back(one);
  }
  return out;
}

const char* const kScript = R"(
const panel = document.getElementById('panel');
function row(k, v){ const r = document.createElement('tr'); for (const t of [k, v]) {
  const c = document.createElement('td'); c.textContent = t; r.appendChild(c); } return r; }
function show(i){
  const n = nodes[i], t = document.createElement('table');
  t.appendChild(row('node', n.op + ' ' + n.name));
  t.appendChild(row('output', '[' + n.dims.join(',') + ']'));
  for (const s of n.sources) t.appendChild(row('source', s));
  if (n.unknown) t.appendChild(row('no reference', n.unknown));
  if (!n.instructions.length) t.appendChild(row('in the file', 'no instruction: folded, a view, or never run'));
  for (const x of n.instructions) {
    t.appendChild(row('instruction ' + x.index, x.op + ' by ' + x.kernel + ', ' + x.value));
    if (x.whole) t.appendChild(row('  gathered up to here', x.whole));
    if (x.alone) t.appendChild(row('  alone', x.alone));
    if (x.conversion) t.appendChild(row('  naive kernels against the source', x.conversion));
    if (x.naive) t.appendChild(row('  kernel against the naive one', x.naive));
  }
  panel.replaceChildren(t);
  for (const g of document.querySelectorAll('g.node')) g.classList.toggle('chosen', g.dataset.i == i);
}
for (const g of document.querySelectorAll('g.node')) g.addEventListener('click', () => show(+g.dataset.i));
function go(i){ if (i < 0) return; show(i);
  document.querySelector('g.node[data-i="' + i + '"]').scrollIntoView({block:'center', inline:'center'}); }
document.getElementById('find').addEventListener('keydown', e => { if (e.key !== 'Enter') return;
  const q = e.target.value.toLowerCase();
  go(nodes.findIndex(n => (n.op + ' ' + n.name + ' ' + n.sources.join(' ')).toLowerCase().includes(q))); });
document.getElementById('first').addEventListener('click', () => go(first));
if (first >= 0) go(first);
)";

std::string node_markup(const compare::SourceState& state, const NodeError& e,
                        const LayeredNode& at, size_t i, bool is_first) {
  const double x = kMargin + at.x * (kWidth + 14);
  const int y = kMargin + at.layer * kRow;
  char head[200];
  snprintf(head, sizeof head,
           "<g class=\"node%s\" data-i=\"%zu\" transform=\"translate(%.1f,%d)\">",
           is_first ? " first" : "", i, x, y);
  std::string out = head;
  out += "<rect width=\"" + std::to_string(kWidth) + "\" height=\"" + std::to_string(kHeight) +
         "\" rx=\"5\" fill=\"" + colour(e) + "\"/><text x=\"8\" y=\"14\" class=\"op\">" +
         escaped(state.op) + "</text><text x=\"8\" y=\"28\">" + escaped(clipped(state.name, 24)) +
         "</text><title>" + escaped(state.op + " " + state.name + "\n" + e.text) + "</title></g>\n";
  return out;
}

void add_graph(const DivergenceAnswer& a, HtmlPage* page) {
  std::vector<LayeredNode> layout(a.source.size());
  std::map<graph::ValueId, size_t> maker;
  for (size_t i = 0; i < a.source.size(); i++) {
    std::set<size_t> before;
    for (const graph::ValueId id : a.source[i].inputs)
      if (const auto made = maker.find(id); made != maker.end()) before.insert(made->second);
    layout[i].before.assign(before.begin(), before.end());
    for (const graph::ValueId id : a.source[i].outputs)
      if (id >= 0) maker[id] = i;
  }
  lay_out(&layout);
  double width = 0;
  int layers = 0;
  for (const LayeredNode& node : layout)
    width = std::max(width, node.x + 1), layers = std::max(layers, node.layer + 1);
  std::string edges, boxes;
  Json nodes = Json::array();
  int64_t first = -1;
  for (size_t i = 0; i < a.source.size(); i++) {
    const compare::SourceState& state = a.source[i];
    const NodeError e = error_of(a, state);
    const bool is_first = first < 0 && !a.sources.empty() &&
                          std::count(state.sources.begin(), state.sources.end(), a.sources[0]);
    if (is_first) first = int64_t(i);
    for (const size_t before : layout[i].before) {
      const double x0 = kMargin + layout[before].x * (kWidth + 14) + kWidth / 2.0,
                   x1 = kMargin + layout[i].x * (kWidth + 14) + kWidth / 2.0;
      const int y0 = kMargin + layout[before].layer * kRow + kHeight,
                y1 = kMargin + layout[i].layer * kRow;
      char path[160];
      snprintf(path, sizeof path, "<path d=\"M%.1f %dC%.1f %d %.1f %d %.1f %d\"/>\n", x0, y0, x0,
               y0 + 14, x1, y1 - 14, x1, y1);
      edges += path;
    }
    boxes += node_markup(state, e, layout[i], i, is_first);
    nodes.push_back(details(a, state, e));
  }
  char size[160];
  snprintf(size, sizeof size,
           "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\">\n",
           int(2 * kMargin + width * (kWidth + 14)), 2 * kMargin + layers * kRow);
  page->add(std::string("<div id=\"graph\">") + size + "<g fill=\"none\" stroke=\"#a8b0bd\">" +
            edges + "</g>\n" + boxes + "</svg></div>\n");
  page->data("nodes", nodes);
  page->data("first", first);
}

}  // namespace

void write_compare_html(const DivergenceAnswer& a, const std::string& source,
                        const std::string& file, const std::string& path) {
  HtmlPage page("ingot compare " + file);
  page.style(
      "#graph{height:70vh;overflow:auto;border:1px solid var(--line);border-radius:6px}#graph "
      "svg{margin:auto}"
      "g.node{cursor:pointer}g.node rect{stroke:#8a94a3}g.node .op{font-weight:600}g.first "
      "rect{stroke:#b3261e;stroke-width:3}"
      "g.chosen rect{stroke:var(--accent);stroke-width:3}#panel{min-height:80px}"
      ".key span{display:inline-block;padding:1px 10px;border-radius:4px;margin-right:6px}");
  page.add("<header><h1>" + escaped(a.headline()) + "</h1><p>" +
           escaped(source + " against " + file + ", " + a.program.isa) +
           (a.value.empty() ? "" : "<br/>value " + escaped("'" + a.value + "': " + a.detail)) +
           "</p></header>\n<section>\n");
  page.heading("Graph of the source", "Click a node for its shapes and errors.");
  page.add(
      "<p class=\"key\"><span style=\"background:hsl(145,62%,78%)\">far inside the tolerance</span>"
      "<span style=\"background:hsl(50,62%,78%)\">near it</span><span "
      "style=\"background:#ef6a5a\">beyond</span>"
      "<span style=\"background:#e4e7ec\">not compared</span> <input id=\"find\" "
      "placeholder=\"find a node, Enter\"/> "
      "<button id=\"first\">first divergence</button></p>\n");
  add_graph(a, &page);
  page.add(
      "</section>\n<section><div id=\"panel\"><p>No node chosen.</p></div></section>\n<section>\n");
  page.heading("Outputs", "Against the " + a.outputs_against + ".");
  std::vector<std::vector<std::string>> rows;
  for (const CheckedOutput& o : a.outputs)
    rows.push_back({o.comparison.passed ? "ok" : "FAIL", check::summary(o.comparison, o.dims)});
  page.table({"", "output"}, rows);
  for (const std::string& text : a.notes) page.add("<p>note: " + escaped(text) + "</p>\n");
  page.add("</section>\n");
  page.script(kScript);
  page.write(path);
}

}  // namespace ingot::cli
