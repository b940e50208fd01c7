// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/sort/radix.cuh - one digit of a radix sort: count, scan, place. Pairs with equal
// digits keep their order, so that what is grouped by a sort is walked in the order of the CPU.
#pragma once
#include "kernels/cuda/device/bits.cuh"
#include "kernels/cuda/gather/scatter_params.h"

namespace ingot::cuda {

GPU_FN int digit_of(const SortParams& p, uint64_t key) {
  return int(key >> p.shift & (kSortDigits - 1));
}

INGOT_GPU_KERNEL(sort_count, SortParams, 256) {
  GPU_SHARED_ARRAY(uint32_t, counts, [kSortDigits]);
  counts[threadIdx.x] = 0;
  __syncthreads();
  const int64_t begin = int64_t(blockIdx.x) * p.share,
                end = begin + p.share < p.count ? begin + p.share : p.count;
  for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x)
    atomicAdd(&counts[digit_of(p, p.keys[i])], 1u);
  __syncthreads();
  p.places[int64_t(threadIdx.x) * gridDim.x + blockIdx.x] = counts[threadIdx.x];
}

/// One block; a thread a digit. Its grid is one block, so `share` says how many blocks counted.
INGOT_GPU_KERNEL(sort_scan, SortParams, 256) {
  GPU_SHARED_ARRAY(uint64_t, sums, [kSortDigits]);
  const int64_t blocks = p.share;
  uint64_t* own = p.places + int64_t(threadIdx.x) * blocks;
  uint64_t sum = 0;
  for (int64_t b = 0; b < blocks; b++) sum += own[b];
  sums[threadIdx.x] = sum;
  for (int step = 1; step < kSortDigits; step *= 2) {
    __syncthreads();
    const uint64_t before = int(threadIdx.x) >= step ? sums[threadIdx.x - step] : 0;
    __syncthreads();
    sums[threadIdx.x] += before;
  }
  uint64_t at = sums[threadIdx.x] - sum;
  for (int64_t b = 0; b < blocks; b++) {
    const uint64_t pairs = own[b];
    own[b] = at;
    at += pairs;
  }
}

INGOT_GPU_KERNEL(sort_place, SortParams, 256) {
  constexpr int kWarps = 256 / 32;
  // Of this round: pairs of a warp, then those of the warps before it.
  GPU_SHARED_ARRAY(uint32_t, before, [kWarps][kSortDigits]);
  GPU_SHARED_ARRAY(uint64_t, next, [kSortDigits]);  // where the next pair of a digit goes
  const int warp = int(threadIdx.x / 32), lane = int(threadIdx.x % 32);
  next[threadIdx.x] = p.places[int64_t(threadIdx.x) * gridDim.x + blockIdx.x];
  const int64_t begin = int64_t(blockIdx.x) * p.share,
                end = begin + p.share < p.count ? begin + p.share : p.count;
  for (int64_t first = begin; first < end; first += blockDim.x) {
    for (int w = 0; w < kWarps; w++) before[w][threadIdx.x] = 0;
    __syncthreads();
    const int64_t i = first + threadIdx.x;
    const bool is_live = i < end;
    const uint64_t key = is_live ? p.keys[i] : 0;
    const int digit = digit_of(p, key);
    uint32_t peers = __ballot_sync(~0u, is_live);  // lanes with the same digit
    for (int bit = 0; bit < 8; bit++) {
      const uint32_t ones = __ballot_sync(~0u, digit >> bit & 1);
      peers &= (digit >> bit & 1) ? ones : ~ones;
    }
    const int rank = count_bits(peers & ((1u << lane) - 1));
    if (is_live && rank == 0) before[warp][digit] = uint32_t(count_bits(peers));
    __syncthreads();
    uint32_t sum = 0;
    for (int w = 0; w < kWarps; w++) {
      const uint32_t pairs = before[w][threadIdx.x];
      before[w][threadIdx.x] = sum;
      sum += pairs;
    }
    __syncthreads();
    if (is_live) {
      const uint64_t to = next[digit] + before[warp][digit] + uint32_t(rank);
      p.sorted_keys[to] = key;
      p.sorted_numbers[to] = p.numbers[i];
    }
    __syncthreads();
    next[threadIdx.x] += sum;
  }
}

INGOT_GPU_KERNEL(clear_words, ClearParams, 256) {
  for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) p.words[i] = 0;
}

}  // namespace ingot::cuda
