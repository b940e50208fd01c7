// SPDX-License-Identifier: Apache-2.0
// tools/cli/output/html_page.h - one self-contained page: markup that is XML as well, inline style,
// data and script; nothing is fetched.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ingot::cli {

/// Text as markup shows it.
std::string escaped(const std::string& text);

/// A color for a word, the same on every page.
std::string hue_of(const std::string& word, int lightness = 72);

class HtmlPage {
 public:
  explicit HtmlPage(std::string title) : title_(std::move(title)) {}
  /// Markup of the body, in order.
  void add(const std::string& markup) { body_ += markup; }
  void heading(const std::string& text, const std::string& lead = "");
  /// A table; cells are text. Columns that start with '>' in their heading are set flush right.
  void table(const std::vector<std::string>& headings,
             const std::vector<std::vector<std::string>>& rows);
  void style(const std::string& css) { css_ += css; }
  /// `const NAME = VALUE;` before the script.
  void data(const std::string& name, const nlohmann::ordered_json& value);
  void script(const std::string& text) { script_ += text; }
  std::string text() const;
  /// @throws Failure kUnavailable.
  void write(const std::string& path) const;

 private:
  std::string title_, body_, css_, script_;
};

/// Nodes in layers from top to bottom, an edge always leads down. Nodes come in topological order.
struct LayeredNode {
  std::vector<size_t> before;  // indices of nodes that it reads
  int layer = 0;
  double x = 0;  // of its middle, in units of one node's width
};
void lay_out(std::vector<LayeredNode>* nodes);

}  // namespace ingot::cli
