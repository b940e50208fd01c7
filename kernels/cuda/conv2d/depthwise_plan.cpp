// kernels/cuda/conv2d/depthwise_plan.cpp - which windows have a kernel of their own.
#include "kernels/cuda/conv2d/conv2d_launch.h"
#include "kernels/cuda/conv2d/depthwise_params.h"

namespace ingot::cuda {
namespace {

struct Line {
  KernelId kernel;
  int64_t pixels;  // of a thread
};
constexpr Line kAny = {KernelId::depthwise_any, 1};

/// kAny where the window has no kernel of its own.
Line line_of(const ConvJob& j) {
  const Conv2dAttributes& t = *j.t;
  const bool aligned = is_aligned(j.w) && is_aligned(j.bias);
  if (!aligned || t.kernel_h != t.kernel_w || t.dilation_w != 1 || t.stride_w > 2) return kAny;
  const bool two = t.stride_w == 2;
  if (t.kernel_h == 3) return {two ? KernelId::depthwise_3x3_stride2 : KernelId::depthwise_3x3, 4};
  if (t.kernel_h == 5) return {two ? KernelId::depthwise_5x5_stride2 : KernelId::depthwise_5x5, 4};
  return kAny;
}

}  // namespace

void list_depthwise(const ConvJob& j, ChoiceList* list) {
  if (line_of(j).pixels > 1) list->add({"row_of_4", 1, kRowOf4Way}, 0);
  list->add({"one_pixel", 1, kOnePixelWay}, 1);
}

Status launch_depthwise(const GpuWork& work, const ConvJob& j) {
  const Conv2dAttributes& t = *j.t;
  const conv::Extents& e = j.e;
  if (e.n == 0 || e.oh == 0 || e.ow == 0 || e.o == 0) return {};
  DepthwiseParams p = {};
  p.x = j.x, p.w = j.w, p.bias = j.bias, p.residual = j.residual, p.y = j.y;
  p.h = e.h, p.width = e.w, p.c = e.c, p.oh = e.oh, p.ow = e.ow;
  p.kernel_h = t.kernel_h, p.kernel_w = t.kernel_w, p.stride_h = t.stride_h, p.stride_w = t.stride_w;
  p.dilation_h = t.dilation_h, p.dilation_w = t.dilation_w, p.pad_top = t.pad_top, p.pad_left = t.pad_left;
  p.x_stride = j.x_stride, p.y_stride = j.y_stride, p.residual_stride = j.residual_stride;
  p.tap_stride = round_up(e.c, kPanel);
  p.epilogue = epilogue_params(t.activation, t.residual_first);
  p.vector_x = j.x_stride % 4 == 0 && is_aligned(j.x);
  p.vector_y =
      j.y_stride % 4 == 0 && is_aligned(j.y) && (!j.residual || (j.residual_stride % 4 == 0 && is_aligned(j.residual)));
  ChoiceList ways;
  list_depthwise(j, &ways);
  const Line line = ways.pick(work.choice).id == kOnePixelWay ? kAny : line_of(j);
  p.count = e.n * e.oh * ceil_div(e.ow, line.pixels) * ceil_div(e.c, 4);
  return launch(work, line.kernel, blocks_for(p.count, 128, work.traits), p);
}

}  // namespace ingot::cuda
