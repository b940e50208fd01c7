// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/quantize/int8_operands.h"

#include "tools/compile/passes/common/constants.h"
#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"
#include "tools/graph/window.h"

namespace ingot::passes::quantize {
namespace {

/// [N, C, ...] as [N, C, H, W]; of one dimension as an image of height 1.
Dims with_height(Dims dims) {
  if (dims.size() == 3) dims.insert(dims.begin() + 2, Dim(1));
  return dims;
}

}  // namespace

Attributes window(const Node& node) {
  const graph::Window2d window = graph::window_of(node);
  return {{attr::kernel_h, window.h.kernel},     {attr::kernel_w, window.w.kernel},
          {attr::stride_h, window.h.stride},     {attr::stride_w, window.w.stride},
          {attr::dilation_h, window.h.dilation}, {attr::dilation_w, window.w.dilation},
          {attr::pad_top, window.h.begin},       {attr::pad_bottom, window.h.end},
          {attr::pad_left, window.w.begin},      {attr::pad_right, window.w.end}};
}

Dims image_dims(const Dims& dims) { return permuted(with_height(dims), to_channels_last(4)); }
ValueId image_of(Editor& e, ValueId x, const Node& node) {
  const ValueId high = e.reshape(x, with_height(e.dims(x)), node);
  const ValueId image = e.transpose(high, to_channels_last(4), node);
  e.value(image).layout = "NHWC";
  return image;
}
/// And back to the dims of what `node` makes.
ValueId from_image(Editor& e, ValueId image, const Node& node) {
  const Dims dims = e.dims(node.outputs[0]);
  return e.reshape(e.transpose(image, inverse(to_channels_last(4)), node), dims, node);
}

/// As the formula gives it with these pads.
bool windows_fit(const Editor& e, const Node& node) {
  const Dims x = image_dims(e.dims(node.inputs[0])), y = image_dims(e.dims(node.outputs[0]));
  const graph::Window2d window = graph::window_of(node);
  const auto fits = [](const graph::WindowSide& s, const Dim& in, const Dim& out) {
    return s.begin >= 0 && s.end >= 0 &&
           (in + Dim(s.begin + s.end - s.dilation * (s.kernel - 1) - 1)) / Dim(s.stride) + Dim(1) ==
               out;
  };
  return fits(window.h, x[1], y[1]) && fits(window.w, x[2], y[2]);
}

void set_groups(int64_t groups, int64_t outputs, int64_t each, Attributes* attributes) {
  (*attributes)[attr::groups] = groups;
  (*attributes)[attr::method] = std::string(groups == 1                      ? "direct"
                                            : each == 1 && groups == outputs ? "depthwise"
                                                                             : "grouped");
}

void limit(const Output& to, Attributes* attributes) {
  (*attributes)[attr::requant] = std::string("float_even");
  (*attributes)[attr::y_zero] = to.params.zero;
  (*attributes)[attr::low] = to.low, (*attributes)[attr::high] = to.high;
}

}  // namespace ingot::passes::quantize
