// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/device/rows.cuh - folding a row in the contract's order: element i goes to virtual
// lane i % 16, then the fixed tree 8, 4, 2, 1. The virtual lanes are half a warp, so a warp folds
// two rows; a long row is folded by a block, whose threads make the terms in any order while half a
// warp adds them up in theirs.
#pragma once
#include "kernels/cuda/device/convert.cuh"
#include "kernels/cuda/device/loops.h"

namespace ingot::cuda {

constexpr int kRowLanes = 16;
static_assert(kRowLanes == kPanel, "");

GPU_FN int row_lane() { return int(threadIdx.x % kRowLanes); }
/// Number of the row that this thread's half of a warp works on, and how many are worked on at
/// once.
GPU_FN int64_t grid_row() { return grid_thread() / kRowLanes; }
GPU_FN int64_t grid_rows() { return grid_threads() / kRowLanes; }

/// The tree over the 16 lanes; all of them get the result. Called by whole warps.
template <class T, class Join>
GPU_FN T join_lanes(T lane, Join join) {
  for (int half = kRowLanes / 2; half > 0; half /= 2) {
    const T other = __shfl_down_sync(~0u, lane, unsigned(half), kRowLanes);
    lane = join(lane, other);
  }
  return __shfl_sync(~0u, lane, 0, kRowLanes);
}
GPU_FN float sum_lanes(float lane) {
  return join_lanes(lane, [](float a, float b) { return a + b; });
}

// Loads that a thread has under way, where nothing else says how many.
constexpr int kLoadsUnderWay = 8;

/// fn(i, load(i)) for i = first, first + step and so on below n, in this order, with kAhead loads
/// under way. What needs the loaded value is fn's, so that no load waits for it.
template <int kAhead = kLoadsUnderWay, class Index, class Load, class Fn>
GPU_FN void each_loaded(Index first, Index n, int step, Load load, Fn fn) {
  GPU_ROLLED for (Index i = first; i < n; i += kAhead * step) {
    decltype(load(i)) x[kAhead];
    INGOT_UNROLL for (int k = 0; k < kAhead; k++) x[k] =
        i + k * step < n ? load(i + k * step) : decltype(load(i))();
    INGOT_UNROLL for (int k = 0; k < kAhead; k++) if (i + k * step < n) fn(i + k * step, x[k]);
  }
}

/// acc = step(acc, get(i)) for the elements of `lane` of [0, n), `kAhead` loads ahead.
template <int kAhead = kLoadsUnderWay, class T, class Get, class Step>
GPU_FN T fold_lane(int64_t n, T acc, Get get, Step step, int lane = row_lane()) {
  int64_t i = lane;
  for (; kAhead > 1 && i + (kAhead - 1) * kRowLanes < n; i += kAhead * kRowLanes) {
    decltype(get(i)) x[kAhead];
    INGOT_UNROLL for (int k = 0; k < kAhead; k++) x[k] = get(i + k * kRowLanes);
    INGOT_UNROLL for (int k = 0; k < kAhead; k++) acc = step(acc, x[k]);
  }
  GPU_ROLLED for (; i < n; i += kRowLanes) acc = step(acc, get(i));
  return acc;
}

// terms made at a time; threads of a block that folds a long row
constexpr int kChunk = 2048, kLongThreads = 256;

/// Two chunks, so that one is folded while the other is made.
struct RowChunks {
  float terms[2][kChunk];
  float result;
};

/// Tree over lanes that folded term(load(i)) for i in [0, n) from `start`; by a block of
/// kLongThreads, all of which get it.
template <class Load, class Term, class Step, class Join>
GPU_FN float fold_block(RowChunks* chunks, int64_t n, float start, Load load, Term term, Step step,
                        Join join) {
  const int thread = int(threadIdx.x);
  float acc = start;
  const auto make = [&](float* terms, int64_t begin, int first, int threads) {
    const int count = n - begin < kChunk ? int(n - begin) : kChunk;  // may be negative
    each_loaded(
        first, count, threads, [&](int i) { return load(begin + i); },
        [&](int i, auto x) { terms[i] = term(x); });
  };
  make(chunks->terms[0], 0, thread, kLongThreads);
  __syncthreads();
  for (int64_t first = 0, which = 0; first < n; first += kChunk, which = 1 - which) {
    if (thread < 32) {
      const float* terms = chunks->terms[which];
      acc = fold_lane(
          n - first < kChunk ? n - first : kChunk, acc, [&](int64_t i) { return terms[i]; }, step);
    } else {
      make(chunks->terms[1 - which], first + kChunk, thread - 32, kLongThreads - 32);
    }
    __syncthreads();
  }
  if (thread < 32) {
    const float all = join_lanes(acc, join);
    if (thread == 0) chunks->result = all;
  }
  __syncthreads();
  const float all = chunks->result;
  __syncthreads();
  return all;
}
template <class Load, class Term>
GPU_FN float sum_block(RowChunks* chunks, int64_t n, Load load, Term term) {
  const auto add = [](float a, float b) { return a + b; };
  return fold_block(chunks, n, 0.0f, load, term, add, add);
}

/// The bits of an element of f32, f16 or bf16, and what they are.
GPU_FN uint32_t load_bits(DType dtype, const char* data, int64_t at) {
  return dtype == DType::kF32 ? reinterpret_cast<const uint32_t*>(data)[at]
                              : reinterpret_cast<const uint16_t*>(data)[at];
}
GPU_FN float real_of(DType dtype, uint32_t bits) {
  if (dtype == DType::kF32) return cpu::bits_float(bits);
  return dtype == DType::kF16 ? cpu::f16_to_f32(uint16_t(bits)) : cpu::bf16_to_f32(uint16_t(bits));
}
GPU_FN float load_real(DType dtype, const char* data, int64_t at) {
  return real_of(dtype, load_bits(dtype, data, at));
}
GPU_FN void store_real(DType dtype, char* data, int64_t at, float x) {
  if (dtype == DType::kF32)
    reinterpret_cast<float*>(data)[at] = x;
  else
    reinterpret_cast<uint16_t*>(data)[at] =
        dtype == DType::kF16 ? cpu::f32_to_f16(x) : cpu::f32_to_bf16(x);
}

/// An element of a whole type, by its low bits.
GPU_FN int64_t load_whole(DType dtype, const char* data, int64_t at) {
  switch (dtype) {
    case DType::kI8: return reinterpret_cast<const int8_t*>(data)[at];
    case DType::kI16: return reinterpret_cast<const int16_t*>(data)[at];
    case DType::kU16: return reinterpret_cast<const uint16_t*>(data)[at];
    case DType::kI32: return reinterpret_cast<const int32_t*>(data)[at];
    case DType::kU32: return reinterpret_cast<const uint32_t*>(data)[at];
    case DType::kI64:
    case DType::kU64: return reinterpret_cast<const int64_t*>(data)[at];
    default: return reinterpret_cast<const uint8_t*>(data)[at];
  }
}

/// An element in the type that it is computed in: float for f32, f16 and bf16, double, uint64_t for
/// u64, int64_t for the rest.
template <class T>
GPU_FN T load_number(DType dtype, const char* data, int64_t at) {
  if constexpr (sizeof(T) == 4)
    return load_real(dtype, data, at);
  else if constexpr (T(0.5) != T(0) || T(-1) > T(0))
    return reinterpret_cast<const T*>(data)[at];
  else
    return load_whole(dtype, data, at);
}
template <class T>
GPU_FN void store_number(DType dtype, char* data, int64_t at, T x) {
  if constexpr (sizeof(T) == 4) {
    store_real(dtype, data, at, x);
  } else if constexpr (T(0.5) != T(0) || T(-1) > T(0)) {
    reinterpret_cast<T*>(data)[at] = x;
  } else {
    switch (dtype_bytes(dtype)) {
      case 1: data[at] = char(x); break;
      case 2: reinterpret_cast<uint16_t*>(data)[at] = uint16_t(x); break;
      case 4: reinterpret_cast<uint32_t*>(data)[at] = uint32_t(x); break;
      default: reinterpret_cast<T*>(data)[at] = x; break;
    }
  }
}

}  // namespace ingot::cuda
