// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv_transpose2d/conv_transpose2d_plan.cpp - the row of transposed convolutions.
#include "kernels/cuda/conv2d/conv2d_launch.h"
#include "kernels/cuda/conv_transpose2d/conv_transpose2d_params.h"
#include "runtime/op/conv_transpose2d.h"

namespace ingot::cuda {
namespace {

bool supports_conv_transpose(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  const TensorView* bias = a.optional(2);
  const Packing packing =
      a.as<ConvTranspose2dAttributes>().groups == 1 ? Packing::kPanels16 : Packing::kDense;
  return a.inputs[1].packing == packing && (!bias || bias->packing == Packing::kVector16);
}

Status plan_conv_transpose(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const ConvTranspose2dAttributes& t = a.as<ConvTranspose2dAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  if (y.elements() == 0) return {};
  ConvTransposeParams p = {};
  p.x = x.as<float>(), p.w = a.inputs[1].as<float>(), p.y = y.as<float>();
  p.bias = a.optional(2) ? a.inputs[2].as<float>() : nullptr;
  p.groups = t.groups, p.h = x.dims[1], p.width = x.dims[2], p.c = x.dims[3] / p.groups;
  p.oh = y.dims[1], p.ow = y.dims[2], p.outputs = y.dims[3] / p.groups;
  p.kernel_h = t.kernel_h, p.kernel_w = t.kernel_w, p.stride_h = t.stride_h,
  p.stride_w = t.stride_w;
  p.dilation_h = t.dilation_h, p.dilation_w = t.dilation_w, p.pad_top = t.pad_top,
  p.pad_left = t.pad_left;
  p.x_stride = x.row_stride, p.y_stride = y.row_stride;
  const int64_t k = p.kernel_h * p.kernel_w * p.c;
  const bool panels = t.groups == 1;
  p.panel_stride = kPanel * k, p.lane_stride = panels ? 1 : k, p.step = panels ? kPanel : 1,
  p.w_group = p.outputs * k;
  p.vector_w = panels && is_aligned(p.w);
  p.vector_y = (p.y_stride | (p.groups > 1 ? p.outputs : 0)) % 4 == 0 &&
               is_aligned(p.y, y.dtype == DType::kF16 ? 8 : 16);
  p.y_f16 = y.dtype == DType::kF16;
  p.epilogue = epilogue_params(t.activation, false);
  const int64_t across = ceil_div(p.ow, p.stride_w), phases = p.stride_w < p.ow ? p.stride_w : p.ow;
  p.count = y.dims[0] * p.oh * ceil_div(across, kTransposePixels) * phases * p.groups *
            ceil_div(p.outputs, 4);
  const KernelId kernel =
      x.dtype == DType::kF16 ? KernelId::conv_transpose_f16 : KernelId::conv_transpose;
  return launch(work, kernel, blocks_for(p.count, 128, work.traits), p);
}

constexpr GpuKernelEntry kConvTransposeTable[] = {{OpCode::kConvTranspose2d,
                                                   "conv_transpose2d",
                                                   supports_conv_transpose,
                                                   nullptr,
                                                   plan_conv_transpose,
                                                   {},
                                                   each_may_be_f16}};

}  // namespace

const Span<const GpuKernelEntry> kConvTransposeRows =
    Span<const GpuKernelEntry>(kConvTransposeTable);

}  // namespace ingot::cuda
