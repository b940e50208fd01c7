#include "tools/import/aten/report.h"

#include <algorithm>
#include <tuple>

namespace ingot::aten {

graph::ConversionError refusal(const std::string& file,
                               std::vector<graph::Unsupported> unsupported) {
  std::vector<graph::Unsupported> all;
  for (graph::Unsupported& u : unsupported) {
    const auto key = [](const graph::Unsupported& x) {
      return std::tie(x.op, x.attribute, x.node, x.output, x.why);
    };
    if (std::none_of(all.begin(), all.end(),
                     [&](const graph::Unsupported& x) { return key(x) == key(u); }))
      all.push_back(u);
  }
  return graph::refusal(file, std::move(all));
}

}  // namespace ingot::aten
