// SPDX-License-Identifier: Apache-2.0
// runtime/op/conv_transpose2d.cpp - the contract of a transposed convolution.
#include "runtime/op/conv_transpose2d.h"

#include "runtime/op/conv_rules.h"
#include "runtime/op/conv_transpose_blocks.h"

namespace ingot {
namespace {

using rules::refuse;

/// (in - 1) * stride - pads + dilation * (kernel - 1) + 1 + output padding, which is below the
/// stride.
bool agrees(int64_t in, int64_t out, uint32_t pads, uint32_t kernel, uint32_t stride,
            uint32_t dilation) {
  int64_t least = 0;
  if (in < 1 || !checked_mul<int64_t>(in - 1, stride, &least)) return false;
  if (!checked_add<int64_t>(least, int64_t(dilation) * (int64_t(kernel) - 1) + 1 - int64_t(pads),
                            &least))
    return false;
  return out >= 1 && out >= least && out - least < int64_t(stride);
}

bool check_extents(const ConvTranspose2dAttributes& t, const TensorType& x, const TensorType& y,
                   Violation* v) {
  if (y.dims[0] != x.dims[0])
    return refuse(v, "conv_transpose2d keeps the batch", rules::output(0), x.dims[0], y.dims[0]);
  if (!agrees(x.dims[1], y.dims[1], t.pad_top + t.pad_bottom, t.kernel_h, t.stride_h, t.dilation_h))
    return refuse(v, "conv_transpose2d's OH follows from H", rules::output(0), x.dims[1],
                  y.dims[1]);
  if (!agrees(x.dims[2], y.dims[2], t.pad_left + t.pad_right, t.kernel_w, t.stride_w, t.dilation_w))
    return refuse(v, "conv_transpose2d's OW follows from W", rules::output(0), x.dims[2],
                  y.dims[2]);
  return true;
}

bool check_conv_transpose2d(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kConvTranspose2dContract, {0x3u, 1u, 0x6u}, v) ||
      !conv::check_f32(a, v))
    return false;
  const ConvTranspose2dAttributes& t = a.as<ConvTranspose2dAttributes>();
  const TensorType &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  if (!conv::check_window(conv::window_of(t), v) || !conv::check_epilogue(t.activation, v))
    return false;
  if (x.rank != 4) return refuse(v, "conv_transpose2d's x is a batch of images", 0, 4, x.rank);
  if (y.rank != 4)
    return refuse(v, "conv_transpose2d's y is [N,OH,OW,O]", rules::output(0), 4, y.rank);
  if (w.rank != 4)
    return refuse(v, "conv_transpose2d's weights are [O, kernel_h, kernel_w, C / groups]", 1, 4,
                  w.rank);
  const int64_t c = x.dims[3], o = w.dims[0];
  if (y.dims[3] != o)
    return refuse(v, "conv_transpose2d's y is [N,OH,OW,O]", rules::output(0), o, y.dims[3]);
  if (t.groups < 1 || c % t.groups != 0)
    return refuse(v, "conv_transpose2d.groups divides the channels", Violation::kAttribute, c,
                  t.groups);
  if (o % t.groups != 0)
    return refuse(v, "conv_transpose2d.groups divides the outputs", Violation::kAttribute, o,
                  t.groups);
  const int64_t dims[4] = {o, t.kernel_h, t.kernel_w, c / t.groups};
  if (!conv::check_weights(w, 1, t.groups == 1 ? Packing::kPanels16 : Packing::kDense, dims, 4, v))
    return false;
  if (!conv::check_bias(a.optional(2), 2, o, v) || !check_extents(t, x, y, v)) return false;
  uint64_t bytes = 0;
  if (!conv::transpose_scratch(t, x.dims[2], c, y.dims[1], y.dims[2], o, &bytes) ||
      bytes >= conv::kMaxScratchBytes)
    return refuse(v, "conv_transpose2d's scratch is below 2^46 bytes", Violation::kAttribute);
  return true;
}

ScratchNeed conv_transpose2d_scratch(const OpArguments& a, int) {
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  uint64_t bytes = 0;
  if (y.elements() == 0 ||
      !conv::transpose_scratch(a.as<ConvTranspose2dAttributes>(), x.dims[2], x.dims[3], y.dims[1],
                               y.dims[2], y.dims[3], &bytes))
    return {};
  return {bytes, 0};
}

ScratchNeed conv_transpose2d_scratch_bound(const OpArguments& a, int) {
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  uint64_t bytes = 0;
  if (y.elements() == 0 ||
      !conv::transpose_scratch_bound(a.as<ConvTranspose2dAttributes>(), x.dims[2], x.dims[3],
                                     y.dims[1], y.dims[2], y.dims[3], &bytes))
    return {};
  return {bytes, 0};
}

}  // namespace

const OpContract kConvTranspose2dContract = {OpCode::kConvTranspose2d,
                                             1,
                                             2,
                                             3,
                                             1,
                                             1,
                                             check_conv_transpose2d,
                                             nullptr,
                                             conv_transpose2d_scratch,
                                             0x1u,
                                             0x1u,
                                             rules::for_rebinding(conv_transpose2d_scratch_bound)};

}  // namespace ingot
