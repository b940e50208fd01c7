// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/pool2d/pool2d_plan.cpp - Pool2d.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/movement/strides.h"
#include "kernels/cuda/pool2d/pool2d_params.h"

namespace ingot::cuda {
namespace {

Status plan_pool(const GpuWork& work) {
  const TensorView &x = work.arguments->inputs[0], &y = work.arguments->outputs[0];
  if (y.elements() == 0) return {};
  PoolParams p = {};
  p.x = x.as<const float>();
  p.y = y.as<float>();
  p.t = work.arguments->as<Pool2dAttributes>();
  p.in_h = x.dims[1];
  p.in_w = x.dims[2];
  p.x_pixel = x.row_stride;
  p.y_pixel = y.row_stride;
  p.x_f16 = x.dtype == DType::kF16, p.y_f16 = y.dtype == DType::kF16;
  // in f16 eight bytes are enough: as if addresses were those of f32
  uint64_t bits = uint64_t(y.dims[3] | p.x_pixel | p.y_pixel) * 4;
  bits |= reinterpret_cast<uintptr_t>(p.x) << p.x_f16 | reinterpret_cast<uintptr_t>(p.y) << p.y_f16;
  const int width = widest_unit(bits) == 16 ? 4 : 1;
  p.channels = fast_divisor(y.dims[3] / width);
  p.width = fast_divisor(y.dims[2]);
  p.height = fast_divisor(y.dims[1]);
  p.dilation_h = fast_divisor(p.t.dilation_h);
  p.dilation_w = fast_divisor(p.t.dilation_w);
  p.count = y.elements() / width;
  return launch(work, width == 4 ? KernelId::pool2d_4 : KernelId::pool2d_1,
                blocks_for(p.count, 128, work.traits), p);
}

constexpr GpuKernelEntry kPool2dTable[] = {
    {OpCode::kPool2d, "pool2d", nullptr, nullptr, plan_pool, {}, each_may_be_f16}};

}  // namespace

const Span<const GpuKernelEntry> kPool2dRows = Span<const GpuKernelEntry>(kPool2dTable);

}  // namespace ingot::cuda
