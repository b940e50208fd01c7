// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/reduce/fold.cuh - Reduce. Orders: runtime/op/reduce.h.
//   columns   neighbouring outputs are neighbouring threads, one chain each down the reduced
//             positions
//   rows      half a warp an output; rows of up to 8 elements a thread; few long rows a block
#pragma once
#include "kernels/cpu/reduce/folds.inl"
#include "kernels/cpu/reduce/wide_fold.inl"
#include "kernels/cuda/device/convert.cuh"
#include "kernels/cuda/device/f16.cuh"
#include "kernels/cuda/device/rows.cuh"
#include "kernels/cuda/reduce/reduce_params.h"

namespace ingot::cuda {

/// Offset of position i.
GPU_FN int64_t walk_offset(const Walk& w, uint64_t i) {
  int64_t at = 0;
  GPU_ROLLED for (int d = w.rank - 1; d > 0; d--) at +=
      int64_t(take_remainder(&i, w.dims[d])) * w.strides[d];
  return at + int64_t(i) * w.strides[0];
}
/// First element of output o.
GPU_FN int64_t output_offset(const ReduceParams& p, int64_t o) {
  uint64_t position = uint64_t(o);
  const uint64_t column = take_remainder(&position, p.columns);
  return walk_offset(p.kept, position) + int64_t(column);
}

/// Loads that a fold is ahead by: the usual ones are worth the code.
template <class Fold>
inline constexpr int kLoadsAhead = 1;
template <>
inline constexpr int kLoadsAhead<cpu::tensors::FoldSum<V>> = 4;
template <>
inline constexpr int kLoadsAhead<cpu::tensors::FoldSquare<V>> = 4;
template <>
inline constexpr int kLoadsAhead<cpu::tensors::FoldMax<V>> = 4;

/// acc = step(acc, get(offset)) over the reduced positions in row-major order, `kAhead` loads
/// ahead.
template <int kAhead, class T, class Get, class Step>
GPU_FN T fold_positions(const ReduceParams& p, int64_t base, T acc, Get get, Step step) {
  GPU_ROLLED for (int64_t done = 0, o = 0; done < p.positions; done += p.inner, o++) {
    const int64_t at = base + walk_offset(p.outer, uint64_t(o));
    int64_t i = 0;
    for (; kAhead > 1 && i + kAhead <= p.inner; i += kAhead) {
      T x[kAhead];
      INGOT_UNROLL for (int k = 0; k < kAhead; k++) x[k] = get(at + (i + k) * p.inner_stride);
      INGOT_UNROLL for (int k = 0; k < kAhead; k++) acc = step(acc, x[k]);
    }
    GPU_ROLLED for (; i < p.inner; i++) acc = step(acc, get(at + i * p.inner_stride));
  }
  return acc;
}

/// body(fold) for the fold that a kind starts with; `all`: of every kind, else sums, maxima and
/// minima.
template <bool all, class Body>
GPU_FN float with_fold(ReduceKind kind, Body body) {
  using namespace cpu::tensors;
  switch (kind) {
    case ReduceKind::kMax: return body(FoldMax<V>());
    case ReduceKind::kMin: return body(FoldMin<V>());
    case ReduceKind::kProd:
      if constexpr (all) return body(FoldProd<V>());
      break;
    case ReduceKind::kL1:
      if constexpr (all) return body(FoldL1<V>());
      break;
    case ReduceKind::kL2:
    case ReduceKind::kSumSquare:
      if constexpr (all) return body(FoldSquare<V>());
      break;
    case ReduceKind::kLogSumExp:
      if constexpr (all) return body(FoldExp<V>());
      break;
    case ReduceKind::kSum:
    case ReduceKind::kMean:
    case ReduceKind::kLogSum: break;
  }
  return body(FoldSum<V>());
}
/// What is subtracted before exponentials: exp(inf), exp(-inf) and NaN go their own way.
GPU_FN float finite_or_zero(float top) { return V::abs(top) < __builtin_inff() ? top : 0.0f; }
GPU_FN float finish_f32(ReduceKind kind, float x, float count, float shift) {
  switch (kind) {
    case ReduceKind::kMean: return x / count;
    case ReduceKind::kL2: return V::sqrt(x);
    case ReduceKind::kLogSum: return cpu::Math<V>::log(x);
    case ReduceKind::kLogSumExp: return cpu::Math<V>::log(x) + shift;
    case ReduceKind::kSum:
    case ReduceKind::kMin:
    case ReduceKind::kMax:
    case ReduceKind::kProd:
    case ReduceKind::kL1:
    case ReduceKind::kSumSquare: break;
  }
  return x;
}
/// fold_all(a fold, its shift) gives all of an output's elements folded; of a logarithm of
/// exponentials first the largest.
template <bool all, class FoldAll>
GPU_FN float reduce_f32(const ReduceParams& p, FoldAll fold_all) {
  float shift = 0, result = 0;
  GPU_ROLLED for (int pass = all && p.kind == ReduceKind::kLogSumExp ? 0 : 1; pass < 2; pass++) {
    result = with_fold<all>(pass == 0 ? ReduceKind::kMax : p.kind,
                            [&](auto fold) { return fold_all(fold, shift); });
    if (all && pass == 0) shift = finite_or_zero(result);
  }
  const float count = float(p.positions * p.length);
  if constexpr (all) return finish_f32(p.kind, result, count, shift);
  return p.kind == ReduceKind::kMean ? result / count : result;
}

template <class Load>
GPU_FN void reduce_columns(const ReduceParams& p, Load load) {
  GPU_ROLLED for (int64_t o = grid_thread(); o < p.outputs; o += grid_threads()) {
    const int64_t base = output_offset(p, o);
    const float result = reduce_f32<true>(p, [&](auto fold, float shift) {
      using Fold = decltype(fold);
      return fold_positions<kLoadsAhead<Fold>>(
          p, base, Fold::kStart, load, [&](float a, float b) { return Fold::step(a, b, shift); });
    });
    store_float(reinterpret_cast<float*>(p.y), o, p.y_dtype == DType::kF16, result);
  }
}
INGOT_GPU_KERNEL_BLOCKS(reduce_columns_f32, ReduceParams, 128, 8) {
  const float* x = reinterpret_cast<const float*>(p.x);
  reduce_columns(p, [&](int64_t at) { return x[at]; });
}
INGOT_GPU_KERNEL_BLOCKS(reduce_columns_f16, ReduceParams, 128, 8) {
  const uint16_t* x = reinterpret_cast<const uint16_t*>(p.x);
  reduce_columns(p, [&](int64_t at) { return widen_f16(x[at]); });
}

INGOT_GPU_KERNEL_BLOCKS(reduce_rows_f32, ReduceParams, 128, 8) {
  const float* x = reinterpret_cast<const float*>(p.x);
  GPU_ROLLED for (int64_t o = grid_row(); o - o % 2 < p.outputs;
                  o += grid_rows()) {  // both halves of a warp go round equally often
    const bool is_live = o < p.outputs;
    const int64_t base = is_live ? output_offset(p, o) : 0;
    const float result = reduce_f32<true>(p, [&](auto fold, float shift) {
      using Fold = decltype(fold);
      float acc = Fold::kStart;
      GPU_ROLLED for (int64_t done = 0, k = 0; is_live && done < p.positions;
                      done += p.inner, k++) {
        const float* outer = x + base + walk_offset(p.outer, uint64_t(k));
        GPU_ROLLED for (int64_t i = 0; i < p.inner; i++, outer += p.inner_stride) acc =
            fold_lane<2 * kLoadsAhead<Fold>>(
                p.length, acc, [&](int64_t j) { return outer[j]; },
                [&](float a, float b) { return Fold::step(a, b, shift); });
      }
      return join_lanes(acc, [](float a, float b) { return Fold::join(a, b); });
    });
    if (is_live && row_lane() == 0) reinterpret_cast<float*>(p.y)[o] = result;
  }
}

// Below: sums, maxima and minima alone.

/// Joining a lane that no element reached changes nothing, so eight lanes are enough.
INGOT_GPU_KERNEL(reduce_short_f32, ReduceParams, 128) {
  const float* x = reinterpret_cast<const float*>(p.x);
  GPU_ROLLED for (int64_t o = grid_thread(); o < p.outputs; o += grid_threads()) {
    const float* row = x + output_offset(p, o);
    float elements[8];
    INGOT_UNROLL for (int e = 0; e < 8; e++) elements[e] = e < p.length ? row[e] : 0;
    reinterpret_cast<float*>(p.y)[o] = reduce_f32<false>(p, [&](auto fold, float shift) {
      using Fold = decltype(fold);
      float lanes[8];
      INGOT_UNROLL for (int e = 0; e < 8; e++) lanes[e] =
          e < p.length ? Fold::step(Fold::kStart, elements[e], shift) : Fold::kStart;
      INGOT_UNROLL for (int half = 4; half > 0; half /= 2)
          INGOT_UNROLL for (int e = 0; e < half; e++) lanes[e] =
              Fold::join(lanes[e], lanes[e + half]);
      return lanes[0];
    });
  }
}

INGOT_GPU_KERNEL(reduce_long_f32, ReduceParams, 256) {
  GPU_SHARED(RowChunks, chunks);
  const float* x = reinterpret_cast<const float*>(p.x);
  GPU_ROLLED for (int64_t o = blockIdx.x; o < p.outputs; o += gridDim.x) {
    const float* row = x + output_offset(p, o);
    const float result = reduce_f32<false>(p, [&](auto fold, float shift) {
      using Fold = decltype(fold);
      return fold_block(
          &chunks, p.length, Fold::kStart, [&](int64_t i) { return row[i]; },
          [](float v) { return v; }, [&](float a, float b) { return Fold::step(a, b, shift); },
          [](float a, float b) { return Fold::join(a, b); });
    });
    if (threadIdx.x == 0) reinterpret_cast<float*>(p.y)[o] = result;
  }
}

/// Of any type but f32: half a warp an output where the last dimension is reduced, else a thread.
template <class T>
GPU_FN void reduce_wide(const ReduceParams& p) {
  const cpu::tensors::WideFold<T, false> fold(p.kind, p.dtype);
  const int log = p.in_rows ? 4 : 0, lanes = 1 << log, lane = int(threadIdx.x) & (lanes - 1);
  static_assert(kRowLanes == 1 << 4, "");
  const int64_t step = grid_threads() >> log;
  // Both halves of a warp go round equally often.
  GPU_ROLLED for (int64_t o = grid_thread() >> log;
                  p.in_rows ? o - o % 2 < p.outputs : o < p.outputs; o += step) {
    const bool is_live = o < p.outputs;
    const int64_t base = is_live ? output_offset(p, o) : 0;
    T acc = fold.start;
    GPU_ROLLED for (int64_t done = 0, k = 0; is_live && done < p.positions; done += p.inner, k++) {
      int64_t at = base + walk_offset(p.outer, uint64_t(k));
      GPU_ROLLED for (int64_t i = 0; i < p.inner; i++, at += p.inner_stride)
          GPU_ROLLED for (int64_t j = lane; j < p.length; j += lanes) acc =
              fold.step(acc, load_number<T>(p.dtype, p.x, at + j));
    }
    if (p.in_rows) acc = join_lanes(acc, [&](T a, T b) { return fold.join(a, b); });
    if (is_live && lane == 0)
      store_number(p.dtype, p.y, o, fold.finish(acc, p.positions * p.length));
  }
}
INGOT_GPU_KERNEL_BLOCKS(reduce_any, ReduceParams, 128, 4) {
  switch (p.dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: return reduce_wide<float>(p);
    case DType::kF64: return reduce_wide<double>(p);
    case DType::kU64: return reduce_wide<uint64_t>(p);
    default: return reduce_wide<int64_t>(p);
  }
}

}  // namespace ingot::cuda
