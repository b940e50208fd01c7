// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/data_dependent/block.cuh - elements as bits; what the 256 threads of a block do
// together: places for those that have something, sums, a sort.
#pragma once
#include "kernels/cuda/device/bits.cuh"
#include "kernels/cuda/device/loops.h"

namespace ingot::cuda {

/// An element of 1, 2, 4 or 8 bytes.
GPU_FN uint64_t load_bits(const char* x, int64_t at, int bytes) {
  const char* const from = x + at * bytes;
  switch (bytes) {
    case 1: return *reinterpret_cast<const uint8_t*>(from);
    case 2: return *reinterpret_cast<const uint16_t*>(from);
    case 4: return *reinterpret_cast<const uint32_t*>(from);
    default: return *reinterpret_cast<const uint64_t*>(from);
  }
}

struct PlacesShared {
  uint32_t warps[8];
};

/// Of the threads where `has` holds, how many come before this one; their number in `total`. Every
/// thread calls it.
GPU_FN uint32_t place_among(bool has, PlacesShared* s, uint32_t* total) {
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const uint32_t votes = __ballot_sync(~0u, has);
  __syncthreads();  // those of the call before were read
  if (lane == 0) s->warps[warp] = uint32_t(count_bits(votes));
  __syncthreads();
  uint32_t before = uint32_t(count_bits(votes & ((1u << lane) - 1))), sum = 0;
  GPU_ROLLED for (int w = 0; w < 8; w++) {
    if (w < warp) before += s->warps[w];
    sum += s->warps[w];
  }
  *total = sum;
  return before;
}

struct SumsShared {
  unsigned long long before, all;
};

/// The sums of counts[0 .. at) and of all `size` of them. Every thread calls it.
GPU_FN void sum_counts(const int64_t* counts, int64_t size, int64_t at, SumsShared* s) {
  if (threadIdx.x == 0) s->before = s->all = 0;
  __syncthreads();
  unsigned long long before = 0, all = 0;
  GPU_ROLLED for (int64_t i = threadIdx.x; i < size; i += 256) {
    const unsigned long long count = uint64_t(counts[i]);
    all += count;
    if (i < at) before += count;
  }
  atomicAdd(&s->before, before);
  atomicAdd(&s->all, all);
  __syncthreads();
}

/// Sorts keys[0 .. n), all different, in memory of any kind: bitonic, each step with the smaller
/// key below, so that what would lie behind n never moves.
template <class T, class Less>
GPU_FN void sort_keys(T* keys, int64_t n, Less less) {
  GPU_ROLLED for (int64_t size = 2; size / 2 < n; size *= 2)
      GPU_ROLLED for (int64_t distance = size / 2; distance > 0; distance /= 2) {
    const bool mirrors = distance == size / 2;  // the first step of a merge
    __syncthreads();
    GPU_ROLLED for (int64_t pair = threadIdx.x;; pair += 256) {
      const int64_t in_run = pair & (distance - 1), base = (pair - in_run) * 2, low = base + in_run;
      if (low >= n) break;
      const int64_t high = mirrors ? base + size - 1 - in_run : low + distance;
      if (high >= n) continue;
      const T a = keys[low], b = keys[high];
      if (!less(b, a)) continue;
      keys[low] = b;
      keys[high] = a;
    }
  }
  __syncthreads();
}

}  // namespace ingot::cuda
