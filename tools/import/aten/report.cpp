#include "tools/import/aten/report.h"

#include <algorithm>
#include <tuple>

namespace ingot::aten {

std::string clean_line(std::string text) {
  constexpr size_t kLongest = 2000;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + " ...";
  for (char& c : text)
    if (uint8_t(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

graph::ConversionError refusal(const std::string& file,
                               std::vector<graph::Unsupported> unsupported) {
  std::vector<graph::Unsupported> all;
  for (graph::Unsupported& u : unsupported) {
    for (std::string* text : {&u.op, &u.attribute, &u.node, &u.output, &u.why, &u.hint})
      *text = clean_line(*text);
    const auto key = [](const graph::Unsupported& x) {
      return std::tie(x.op, x.attribute, x.node, x.output, x.why);
    };
    if (std::none_of(all.begin(), all.end(),
                     [&](const graph::Unsupported& x) { return key(x) == key(u); }))
      all.push_back(u);
  }
  const graph::Unsupported& u = all.at(0);
  const std::string first = u.op + (u.attribute.empty() ? "" : " " + u.attribute) +
                            (u.node.empty() ? "" : " '" + u.node + "'");
  const std::string message =
      all.size() == 1
          ? "1 thing is not supported: " + first + ": " + u.why
          : std::to_string(all.size()) + " things are not supported, " + first + " first:";
  return graph::ConversionError{4, file + ": " + message, all};
}

}  // namespace ingot::aten
