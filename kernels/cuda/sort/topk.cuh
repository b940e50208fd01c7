// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/sort/topk.cuh - TopK, a block a line: the k-th best key is found digit by digit,
// what is at least as good is collected (equals in the order of their index), and the k pairs are
// sorted. Every element has a key of whole numbers, the best the smallest; pairs of key and index
// are all different, so no sort decides anything.
#pragma once
#include "kernels/cuda/device/bits.cuh"
#include "kernels/cuda/device/convert.cuh"
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/reduce/reduce_params.h"

namespace ingot::cuda {

struct TopKPair {
  uint64_t key, index;
};
GPU_FN bool comes_before(const TopKPair& a, const TopKPair& b) {
  return a.key < b.key || (a.key == b.key && a.index < b.index);
}

/// Keys ascend with values: NaN above all numbers, both zeros equal.
GPU_FN uint64_t ascending_key(float x) {
  if (x != x) return 0xffffffffu;
  const uint32_t bits = cpu::float_bits(x == 0 ? 0.0f : x);
  return bits >> 31 ? uint32_t(~bits) : bits | 0x80000000u;
}
GPU_FN uint64_t ascending_key(double x) {
  if (x != x) return ~uint64_t{0};
  uint64_t bits;
  const double same = x == 0 ? 0.0 : x;
  memcpy(&bits, &same, sizeof bits);
  return bits >> 63 ? ~bits : bits | uint64_t{1} << 63;
}

/// 32 bits suffice for the key of any type but these.
GPU_FN bool has_wide_key(DType t) {
  return t == DType::kF64 || t == DType::kI64 || t == DType::kU64;
}
GPU_FN uint64_t key_of(const TopKParams& p, int64_t at) {
  uint64_t key = 0;
  switch (p.dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: key = ascending_key(load_as<float>(p.dtype, p.x, at)); break;
    case DType::kF64: key = ascending_key(reinterpret_cast<const double*>(p.x)[at]); break;
    case DType::kU64: key = reinterpret_cast<const uint64_t*>(p.x)[at]; break;
    case DType::kI64:
      key = reinterpret_cast<const uint64_t*>(p.x)[at] ^ uint64_t { 1 } << 63;
      break;
    case DType::kU32: key = reinterpret_cast<const uint32_t*>(p.x)[at]; break;
    default: key = uint32_t(load_as<int64_t>(p.dtype, p.x, at)) ^ 0x80000000u; break;
  }
  if (!p.largest) return key;
  return has_wide_key(p.dtype) ? ~key : uint32_t(~key);
}

struct TopKShared {
  unsigned long long counts[256];
  uint32_t warps[8];
  uint64_t key;    // of the k-th best
  int64_t equals;  // how many with that key belong to the best
  unsigned long long collected;
};

/// Finds the k-th best key of a line and how many of its equals belong to the best k. @pre k < n.
GPU_FN void select_key(const TopKParams& p, int64_t base, int64_t step, TopKShared* s) {
  const int thread = int(threadIdx.x);
  uint64_t prefix = 0;
  int64_t wanted = p.k;
  GPU_ROLLED for (int shift = has_wide_key(p.dtype) ? 56 : 24; shift >= 0; shift -= 8) {
    s->counts[thread] = 0;
    __syncthreads();
    GPU_ROLLED for (int64_t i = thread; i < p.n; i += 256) {
      const uint64_t key = key_of(p, base + i * step);
      if (shift == 56 || (key >> shift >> 8) == (prefix >> shift >> 8))
        atomicAdd(&s->counts[key >> shift & 255], 1ull);
    }
    __syncthreads();
    if (thread == 0) {
      int digit = 0;
      while (wanted > int64_t(s->counts[digit])) wanted -= int64_t(s->counts[digit++]);
      s->key = prefix | uint64_t(digit) << shift;
      s->equals = wanted;
    }
    __syncthreads();
    prefix = s->key;
    wanted = s->equals;
  }
}

/// The k pairs of a line, in any order.
GPU_FN void collect_best(const TopKParams& p, int64_t base, int64_t step, TopKShared* s,
                         TopKPair* pairs) {
  const int thread = int(threadIdx.x), lane = thread % 32, warp = thread / 32;
  int64_t equals = 0;  // seen so far
  if (thread == 0) s->collected = 0;
  __syncthreads();
  const uint64_t limit = s->key;
  GPU_ROLLED for (int64_t first = 0; first < p.n; first += 256) {
    const int64_t i = first + thread;
    const uint64_t key = i < p.n ? key_of(p, base + i * step) : ~uint64_t{0};
    const bool is_equal = i < p.n && key == limit;
    const uint32_t votes = __ballot_sync(~0u, is_equal);
    if (lane == 0) s->warps[warp] = uint32_t(count_bits(votes));
    __syncthreads();
    int64_t before = equals + count_bits(votes & ((1u << lane) - 1));
    for (int w = 0; w < 8; w++) {
      if (w < warp) before += s->warps[w];
      equals += s->warps[w];
    }
    if (i < p.n && (key < limit || (is_equal && before < s->equals)))
      pairs[atomicAdd(&s->collected, 1ull)] = {key, uint64_t(i)};
    __syncthreads();
  }
}

/// Bitonic; `count` is a power of two.
GPU_FN void sort_pairs(TopKPair* pairs, int64_t count) {
  GPU_ROLLED for (int64_t size = 2; size <= count; size *= 2)
      GPU_ROLLED for (int64_t distance = size / 2; distance > 0; distance /= 2) {
    __syncthreads();
    GPU_ROLLED for (int64_t i = threadIdx.x; i < count / 2; i += 256) {
      const int64_t low = 2 * i - (i & (distance - 1)), high = low + distance;
      const TopKPair a = pairs[low], b = pairs[high];
      if (comes_before(b, a) == ((low & size) == 0)) {
        pairs[low] = b;
        pairs[high] = a;
      }
    }
  }
  __syncthreads();
}

INGOT_GPU_KERNEL_BLOCKS(topk_lines, TopKParams, 256, 2) {
  GPU_SHARED(TopKShared, s);
  TopKPair* pairs = p.in_shared
                        ? gpu_shared<TopKPair>()
                        : reinterpret_cast<TopKPair*>(p.room) + int64_t(blockIdx.x) * p.padded;
  const int64_t inner = p.inner.divisor;
  GPU_ROLLED for (int64_t line = blockIdx.x; line < p.lines; line += gridDim.x) {
    uint64_t outer = uint64_t(line);
    const int64_t column = int64_t(take_remainder(&outer, p.inner)),
                  base = int64_t(outer) * p.n * inner + column;
    if (p.k < p.n) {
      select_key(p, base, inner, &s);
      collect_best(p, base, inner, &s, pairs);
    } else {
      GPU_ROLLED for (int64_t i = threadIdx.x; i < p.n; i += 256)
          pairs[i] = {key_of(p, base + i * inner), uint64_t(i)};
    }
    GPU_ROLLED for (int64_t i = p.k + threadIdx.x; i < p.padded; i += 256)
        pairs[i] = {~uint64_t{0}, ~uint64_t{0}};
    sort_pairs(pairs, p.padded);
    GPU_ROLLED for (int64_t i = threadIdx.x; i < p.k; i += 256) {
      const int64_t to = (int64_t(outer) * p.k + i) * inner + column,
                    from = base + int64_t(pairs[i].index) * inner;
      p.indices[to] = int64_t(pairs[i].index);
      switch (dtype_bytes(p.dtype)) {
        case 1: p.values[to] = p.x[from]; break;
        case 2:
          reinterpret_cast<uint16_t*>(p.values)[to] = reinterpret_cast<const uint16_t*>(p.x)[from];
          break;
        case 4:
          reinterpret_cast<uint32_t*>(p.values)[to] = reinterpret_cast<const uint32_t*>(p.x)[from];
          break;
        default:
          reinterpret_cast<uint64_t*>(p.values)[to] = reinterpret_cast<const uint64_t*>(p.x)[from];
          break;
      }
    }
    __syncthreads();
  }
}

}  // namespace ingot::cuda
