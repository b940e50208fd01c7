// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/product_extents.h - windows and rows as the extents of a product, counted
// in 32 bits; what else plans of products share: the epilogue, split-K. Host code.
#pragma once
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/gemm/tile_model.h"
#include "kernels/cuda/tensorcore/tensorcore_params.h"
#include "runtime/base/checked_math.h"
#include "runtime/op/conv2d.h"

namespace ingot::cuda {

constexpr int64_t kMaxExtent = int64_t{1} << 30;

/// An extent that params hold as int; where it is too large *fits becomes false.
inline int narrow(int64_t n, bool* fits) {
  *fits = *fits && n >= -kMaxExtent && n <= kMaxExtent;
  return *fits ? int(n) : 0;
}
inline bool is_aligned(const void* p, uint32_t bytes = 16) {
  return reinterpret_cast<uintptr_t>(p) % bytes == 0;
}

/// x as `lines` rows of k words.
inline void set_rows(ProductParams* p, int64_t lines, int64_t k, int64_t stride, bool* fits) {
  p->m = narrow(lines, fits), p->pixel_stride = stride, p->channel_stride = 1;
  p->c = narrow(k > 0 ? k : 1, fits);  // kernels divide by it, also where there is nothing to sum
  p->h = p->oh = 1, p->width = p->ow = p->m;
  p->kernel_h = p->kernel_w = p->stride_h = p->stride_w = p->dilation_h = p->dilation_w = 1;
}

/// Whether windows are pixels, and these lie in order.
inline bool is_pointwise(const Conv2dAttributes& t) {
  return t.groups == 1 && t.kernel_h == 1 && t.kernel_w == 1 && t.stride_h == 1 &&
         t.stride_w == 1 && !t.pad_top && !t.pad_left && !t.pad_bottom && !t.pad_right;
}
/// Windows over n images of h x width pixels of c words.
inline void set_windows(ProductParams* p, const Conv2dAttributes& t, int64_t n, int64_t h,
                        int64_t width, int64_t c, const TensorType& y, bool* fits) {
  // Padding moves the first tap of a pixel by as much as a kernel and the pads are long.
  const int64_t reach_h = h + t.pad_top + t.pad_bottom + int64_t(t.dilation_h) * t.kernel_h;
  const int64_t reach_w = width + t.pad_left + t.pad_right + int64_t(t.dilation_w) * t.kernel_w;
  int64_t reach = 0;
  if (!checked_mul(reach_h, reach_w, &reach) || !checked_mul(reach, n + 1, &reach))
    reach = kMaxExtent + 1;
  narrow(reach, fits);
  p->m = narrow(y.rows(), fits), p->c = narrow(c, fits);
  p->h = narrow(h, fits), p->width = narrow(width, fits), p->oh = narrow(y.dims[1], fits),
  p->ow = narrow(y.dims[2], fits);
  p->kernel_h = int(t.kernel_h), p->kernel_w = int(t.kernel_w), p->stride_h = int(t.stride_h),
  p->stride_w = int(t.stride_w);
  p->dilation_h = int(t.dilation_h), p->dilation_w = int(t.dilation_w), p->pad_top = int(t.pad_top),
  p->pad_left = int(t.pad_left);
}

inline void set_epilogue(ProductParams* p, const TensorView& y, const TensorView* bias,
                         const TensorView* residual, const ActivationSpec& activation,
                         bool residual_first) {
  p->y = y.as<float>(), p->y_stride = y.row_stride;
  p->bias = bias ? bias->as<const float>() : nullptr;
  p->residual = residual ? residual->as<const float>() : nullptr,
  p->residual_stride = residual ? int64_t{residual->row_stride} : 0;
  p->activation = activation, p->residual_first = residual_first, p->alpha = 1;
  p->y_f16 = y.dtype == DType::kF16, p->residual_f16 = residual && residual->dtype == DType::kF16;
  p->is_vector = is_aligned(p->y, p->y_f16 ? 8 : 16) && is_aligned(p->bias) &&
                 is_aligned(p->residual, p->residual_f16 ? 8 : 16) && p->y_stride % 4 == 0 &&
                 p->residual_stride % 4 == 0;
}

inline void set_steps(ProductParams* p) {
  p->columns = int(round_up(p->o, 4)), p->steps = int(ceil_div(p->k, 16));
}
/// Cuts steps into parts, at most as many as are asked for: stages of two steps are whole.
inline void set_splits(ProductParams* p, int splits) {
  p->split_steps = p->steps ? int(round_up(ceil_div(p->steps, splits), 2)) : 2;
  p->splits = p->steps ? int(ceil_div(p->steps, p->split_steps)) : 1;
}
/// Of one matrix.
inline uint64_t partial_bytes(const ProductParams& p) {
  if (p.splits == 1) return 0;
  return uint64_t(p.splits) * uint64_t(p.m) * uint64_t(p.columns) * 4;
}
/// Counters for tiles of `tile` numbers whose last blocks add the parts, where that takes less time
/// than another kernel and there are as many; else null.
inline uint32_t* take_counters(const GpuWork& work, const ProductParams& p, int64_t batches,
                               int64_t blocks, double tile) {
  constexpr int64_t kMaxBatches = 65535;  // of one launch
  const double sums = double(batches) * p.m * p.o;
  if (p.splits == 1 || !work.counters || batches > kMaxBatches ||
      last_block_cycles(p.splits, tile) >=
          adding_cycles(p.splits, sums, work.traits.multiprocessors))
    return nullptr;
  return work.counters->take(uint64_t(batches) * uint64_t(blocks));
}
/// The sum of the parts of `batches` matrices, by the product's own parameters.
inline Status launch_add_splits(const GpuWork& work, ProductParams* p, int64_t batches) {
  p->batch_first = int(batches);
  const int64_t fours = batches * p->m * (p->columns / 4);
  return launch(work, KernelId::add_splits, blocks_for(fours, 256, work.traits), *p);
}

}  // namespace ingot::cuda
