// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/output/html_page.h"

#include <algorithm>
#include <cstdio>

#include "tools/files/output_file.h"

namespace ingot::cli {
namespace {

const char* const kStyle = R"(
:root{--ink:#1d2430;--soft:#5c6675;--line:#d5dae2;--back:#f6f7f9;--card:#fff;--accent:#2f6fde}
*{box-sizing:border-box}
body{margin:0;font:14px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--back)}
header{padding:18px 24px 6px}
h1{font-size:20px;margin:0 0 2px}
h2{font-size:16px;margin:0 0 6px}
p{margin:2px 0 8px;color:var(--soft)}
section{background:var(--card);border:1px solid var(--line);border-radius:8px;margin:12px 24px;padding:14px 16px;overflow:auto}
table{border-collapse:collapse;font-size:13px}
th,td{padding:3px 12px 3px 0;text-align:left;vertical-align:top;border-bottom:1px solid #eceff3}
th{color:var(--soft);font-weight:600}
td.r,th.r{text-align:right;font-variant-numeric:tabular-nums}
svg{display:block}
svg text{font:12px system-ui,sans-serif;fill:var(--ink)}
.soft{color:var(--soft)} .bad{color:#b3261e;font-weight:600} .good{color:#1d7a3c;font-weight:600}
)";

}  // namespace

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') out += c;
        break;
    }
  }
  return out;
}

std::string hue_of(const std::string& word, int lightness) {
  uint32_t hash = 2166136261u;
  for (const char c : word) hash = (hash ^ uint8_t(c)) * 16777619u;
  char text[40];
  snprintf(text, sizeof text, "hsl(%u,55%%,%d%%)", hash % 360, lightness);
  return text;
}

void HtmlPage::heading(const std::string& text, const std::string& lead) {
  add("<h2>" + escaped(text) + "</h2>\n");
  if (!lead.empty()) add("<p>" + escaped(lead) + "</p>\n");
}

void HtmlPage::table(const std::vector<std::string>& headings,
                     const std::vector<std::vector<std::string>>& rows) {
  std::vector<bool> right;
  std::string out = "<table><thead><tr>";
  for (const std::string& heading : headings) {
    right.push_back(!heading.empty() && heading[0] == '>');
    out += std::string("<th") + (right.back() ? " class=\"r\">" : ">") +
           escaped(heading.substr(right.back())) + "</th>";
  }
  out += "</tr></thead><tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (size_t i = 0; i < row.size(); i++)
      out += std::string("<td") + (i < right.size() && right[i] ? " class=\"r\">" : ">") +
             escaped(row[i]) + "</td>";
    out += "</tr>\n";
  }
  add(out + "</tbody></table>\n");
}

void HtmlPage::data(const std::string& name, const nlohmann::ordered_json& value) {
  std::string json = value.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  std::string safe;
  for (const char c : json) {  // neither "</script" nor "]]>" can end it early
    if (c == '<')
      safe += "\\u003c";
    else if (c == '>')
      safe += "\\u003e";
    else
      safe += c;
  }
  script_ += "const " + name + " = " + safe + ";\n";
}

std::string HtmlPage::text() const {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>" +
         escaped(title_) + "</title>\n<style>" + kStyle + css_ + "</style>\n</head>\n<body>\n" +
         body_ + "<script>\n//<![CDATA[\n" + script_ + "\n//]]>\n</script>\n</body>\n</html>\n";
}

void HtmlPage::write(const std::string& path) const {
  const std::string all = text();
  host::OutputFile file(path);
  file.write(all.data(), all.size());
  file.commit();
}

void lay_out(std::vector<LayeredNode>* nodes) {
  std::vector<std::vector<size_t>> layers;
  for (size_t i = 0; i < nodes->size(); i++) {
    LayeredNode& node = (*nodes)[i];
    for (const size_t before : node.before)
      node.layer = std::max(node.layer, (*nodes)[before].layer + 1);
    layers.resize(std::max(layers.size(), size_t(node.layer) + 1));
    layers[size_t(node.layer)].push_back(i);
  }
  for (std::vector<size_t>& layer : layers) {
    const auto wish = [&](size_t i) {  // the middle of what it reads
      const LayeredNode& node = (*nodes)[i];
      double sum = 0;
      for (const size_t before : node.before) sum += (*nodes)[before].x;
      return node.before.empty() ? 0.0 : sum / double(node.before.size());
    };
    std::stable_sort(layer.begin(), layer.end(),
                     [&](size_t a, size_t b) { return wish(a) < wish(b); });
    double next = -1e9, shift = 0;
    for (const size_t i : layer) {
      const double at = std::max(next, wish(i));
      (*nodes)[i].x = at;
      shift += at - wish(i);
      next = at + 1;
    }
    for (const size_t i : layer) (*nodes)[i].x -= shift / double(layer.size());
  }
  double least = 0;
  for (const LayeredNode& node : *nodes) least = std::min(least, node.x);
  for (LayeredNode& node : *nodes) node.x -= least;
}

}  // namespace ingot::cli
