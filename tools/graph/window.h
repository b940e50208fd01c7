// SPDX-License-Identifier: Apache-2.0
// tools/graph/window.h - the window of a convolution or a pool over one or two dimensions. A node
// has it as ONNX spells it (kernel_shape, strides, dilations, pads), from the import to lowering.
#pragma once
#include "tools/graph/graph.h"

namespace ingot::graph {

struct WindowSide {
  int64_t kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;

  bool is_plain() const { return stride == 1 && dilation == 1; }
  bool has_pads() const { return begin != 0 || end != 0; }
};
/// One dimension is the width.
struct Window2d {
  WindowSide h, w;

  bool has_pads() const { return h.has_pads() || w.has_pads(); }
};

/// What the node's lists lack has the defaults above.
Window2d window_of(const Node& node);
void set_window(Node* node, const Window2d& window);

}  // namespace ingot::graph
