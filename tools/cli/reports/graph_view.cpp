// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/reports/graph_view.h"

#include <algorithm>
#include <cstdio>

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kWidth = 168, kHeight = 34, kColumn = kWidth + 14, kRow = 58, kMargin = 24;

const char* const kStyle =
    "#graph{height:70vh;overflow:auto;border:1px solid var(--line);border-radius:6px}#graph "
    "svg{margin:auto;transform-origin:0 0}"
    "g.node{cursor:pointer}g.node rect{stroke:#8a94a3}g.node .op{font-weight:600}g.marked "
    "rect{stroke:#b3261e;stroke-width:3}"
    "g.chosen rect{stroke:var(--accent);stroke-width:3}#panel{min-height:80px}";

const char* const kScript = R"(
const panel = document.getElementById('panel'), view = document.getElementById('graph'),
  drawing = view.querySelector('svg'),
  whole = [drawing.width.baseVal.value, drawing.height.baseVal.value];
let zoom = 1;
function row(k, v){ const r = document.createElement('tr'); for (const t of [k, v]) {
  const c = document.createElement('td'); c.textContent = t; r.appendChild(c); } return r; }
function show(i){
  const t = document.createElement('table');
  for (const [k, v] of nodes[i].rows) t.appendChild(row(k, v));
  panel.replaceChildren(t);
  for (const g of document.querySelectorAll('g.node'))
    g.classList.toggle('chosen', g.dataset.i == i);
}
function go(i){ if (i < 0) return; show(i);
  const box = document.querySelector('g.node[data-i="' + i + '"]');
  box.scrollIntoView({block:'center', inline:'center'}); }
function scale(to){ zoom = Math.min(4, Math.max(0.02, to));
  drawing.setAttribute('viewBox', '0 0 ' + whole[0] + ' ' + whole[1]);
  drawing.setAttribute('width', whole[0] * zoom); drawing.setAttribute('height', whole[1] * zoom); }
const texts = nodes.map(n => (n.head + ' ' + n.name + ' ' + n.rows.flat().join(' ')).toLowerCase());
let found = -1;
document.getElementById('find').addEventListener('keydown', e => { if (e.key !== 'Enter') return;
  const q = e.target.value.toLowerCase();
  const next = texts.findIndex((t, i) => i > found && t.includes(q));
  found = next >= 0 ? next : texts.findIndex(t => t.includes(q));
  go(found); });
document.getElementById('find').addEventListener('input', () => { found = -1; });
for (const g of document.querySelectorAll('g.node'))
  g.addEventListener('click', () => show(+g.dataset.i));
document.getElementById('in').addEventListener('click', () => scale(zoom * 1.25));
document.getElementById('out').addEventListener('click', () => scale(zoom / 1.25));
document.getElementById('fit').addEventListener('click', () =>
  scale(Math.min(view.clientWidth / whole[0], view.clientHeight / whole[1])));
view.addEventListener('wheel', e => { if (!e.ctrlKey) return; e.preventDefault();
  scale(zoom * (e.deltaY < 0 ? 1.1 : 1 / 1.1)); }, {passive: false});
const button = document.getElementById('first');
if (button) button.addEventListener('click', () => go(first));
if (first >= 0) go(first);
)";

/// Its end, from the beginning of a character of UTF-8.
std::string clipped(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  size_t from = text.size() - most + 3;
  while (from < text.size() && (text[from] & 0xc0) == 0x80) from++;
  return "..." + text.substr(from);
}

double left_of(const LayeredNode& at) { return kMargin + at.x * kColumn; }
int top_of(const LayeredNode& at) { return kMargin + at.layer * kRow; }

std::string box_of(const GraphNode& node, const LayeredNode& at, size_t i) {
  char head[200];
  snprintf(head, sizeof head,
           "<g class=\"node%s\" data-i=\"%zu\" transform=\"translate(%.1f,%d)\">",
           node.is_marked ? " marked" : "", i, left_of(at), top_of(at));
  return head + ("<rect width=\"" + std::to_string(kWidth) + "\" height=\"") +
         std::to_string(kHeight) + "\" rx=\"5\" fill=\"" + node.color +
         "\"/><text x=\"8\" y=\"14\" class=\"op\">" + escaped(clipped(node.head, 22)) +
         "</text><text x=\"8\" y=\"28\">" + escaped(clipped(node.name, 22)) + "</text><title>" +
         escaped(node.head + " " + node.name + "\n" + node.note) + "</title></g>\n";
}

std::string edge_of(const LayeredNode& from, const LayeredNode& to) {
  const double x0 = left_of(from) + kWidth / 2.0, x1 = left_of(to) + kWidth / 2.0;
  const int y0 = top_of(from) + kHeight, y1 = top_of(to);
  char path[160];
  snprintf(path, sizeof path, "<path d=\"M%.1f %dC%.1f %d %.1f %d %.1f %d\"/>\n", x0, y0, x0,
           y0 + 14, x1, y1 - 14, x1, y1);
  return path;
}

}  // namespace

void add_graph(const std::vector<GraphNode>& nodes, HtmlPage* page, int64_t first,
               const std::string& first_label) {
  std::vector<LayeredNode> layout(nodes.size());
  for (size_t i = 0; i < nodes.size(); i++) layout[i].before = nodes[i].before;
  lay_out(&layout);
  double width = 0;
  int layers = 0;
  std::string edges, boxes;
  Json data = Json::array();
  for (size_t i = 0; i < nodes.size(); i++) {
    width = std::max(width, layout[i].x + 1), layers = std::max(layers, layout[i].layer + 1);
    for (const size_t before : nodes[i].before) edges += edge_of(layout[before], layout[i]);
    boxes += box_of(nodes[i], layout[i], i);
    Json rows = Json::array();
    for (const auto& [key, value] : nodes[i].rows) rows.push_back({key, value});
    data.push_back({{"head", nodes[i].head}, {"name", nodes[i].name}, {"rows", rows}});
  }
  page->style(kStyle);
  page->add(
      "<p><input id=\"find\" placeholder=\"find a node, Enter; again: the next\"/> "
      "<button id=\"in\">+</button> <button id=\"out\">-</button> <button id=\"fit\">whole "
      "graph</button>" +
      (first < 0 ? "" : " <button id=\"first\">" + escaped(first_label) + "</button>") + "</p>\n");
  char size[160];
  snprintf(size, sizeof size,
           "<div id=\"graph\"><svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
           "height=\"%d\">\n<g fill=\"none\" stroke=\"#a8b0bd\">",
           int(2 * kMargin + width * kColumn), 2 * kMargin + layers * kRow);
  page->add(size + edges + "</g>\n" + boxes +
            "</svg></div>\n<div id=\"panel\"><p>No node chosen.</p></div>\n");
  page->data("nodes", data);
  page->data("first", first);
  page->script(kScript);
}

}  // namespace ingot::cli
