// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/window.h"

namespace ingot::graph {

Window2d window_of(const Node& node) {
  const std::vector<int64_t> kernel = node.integers(attr::kernel_shape),
                             strides = node.integers(attr::strides),
                             dilations = node.integers(attr::dilations),
                             pads = node.integers(attr::pads);
  const auto at = [](const std::vector<int64_t>& list, size_t i, int64_t otherwise) {
    return i < list.size() ? list[i] : otherwise;
  };
  const size_t dimensions = kernel.size();
  const auto side = [&](size_t i) {
    return WindowSide{at(kernel, i, 1), at(strides, i, 1), at(dilations, i, 1), at(pads, i, 0),
                      at(pads, dimensions + i, 0)};
  };
  if (dimensions < 2) return {{}, dimensions ? side(0) : WindowSide{}};
  return {side(0), side(1)};
}

void set_window(Node* node, const Window2d& window) {
  const WindowSide &h = window.h, &w = window.w;
  node->attributes[attr::kernel_shape] = std::vector<int64_t>{h.kernel, w.kernel};
  node->attributes[attr::strides] = std::vector<int64_t>{h.stride, w.stride};
  node->attributes[attr::dilations] = std::vector<int64_t>{h.dilation, w.dilation};
  node->attributes[attr::pads] = std::vector<int64_t>{h.begin, w.begin, h.end, w.end};
}

}  // namespace ingot::graph
