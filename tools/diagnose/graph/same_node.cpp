// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/graph/same_node.h"

namespace ingot::compare {
namespace {

bool same(const graph::Constant& a, const graph::Constant& b) {
  if (a.dtype != b.dtype || a.dims != b.dims) return false;
  return a.bytes == b.bytes || (a.bytes && b.bytes && *a.bytes == *b.bytes);
}

bool same(const graph::Attribute& a, const graph::Attribute& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        const T& y = std::get<T>(b);
        if constexpr (std::is_same_v<T, std::shared_ptr<graph::Graph>>)
          return false;
        else if constexpr (std::is_same_v<T, graph::Constant>)
          return same(x, y);
        else
          return x == y;
      },
      a);
}

}  // namespace

bool same_node(const graph::Node& a, const graph::Node& b) {
  if (a.op != b.op || a.inputs != b.inputs || a.outputs != b.outputs ||
      a.attributes.size() != b.attributes.size())
    return false;
  for (const auto& [key, attribute] : a.attributes) {
    const auto other = b.attributes.find(key);
    if (other == b.attributes.end() || !same(attribute, other->second)) return false;
  }
  return true;
}

}  // namespace ingot::compare
