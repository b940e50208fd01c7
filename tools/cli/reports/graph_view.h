// SPDX-License-Identifier: Apache-2.0
// tools/cli/reports/graph_view.h - a graph on a page: layers from top to bottom that scroll and
// zoom, a field that finds nodes, and a panel with what is known of the one that was clicked.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/cli/output/html_page.h"

namespace ingot::cli {

struct GraphNode {
  std::string head, name;  // the two lines of its box
  std::string note;        // more lines for the pointer that rests on it
  std::string color;
  bool is_marked = false;      // a thick border
  std::vector<size_t> before;  // nodes that it reads; they come before it
  std::vector<std::pair<std::string, std::string>> rows;  // what a click shows
};

/// Adds the controls, the graph and the panel. A search looks into both lines and all rows. `first`
/// (-1: none) is chosen when the page opens, and by a button of that label.
void add_graph(const std::vector<GraphNode>& nodes, HtmlPage* page, int64_t first = -1,
               const std::string& first_label = "");

}  // namespace ingot::cli
