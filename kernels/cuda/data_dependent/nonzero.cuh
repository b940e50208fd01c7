// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/data_dependent/nonzero.cuh - coordinates of what is not zero, as dense rows of as
// many as there are: counted in one launch, written in the next. A block has a run of elements, so
// that the order is that of x.
#pragma once
#include "kernels/cuda/data_dependent/block.cuh"
#include "kernels/cuda/data_dependent/data_dependent_params.h"

namespace ingot::cuda {

GPU_FN bool is_nonzero(const NonZeroParams& p, int64_t at) {
  return (load_bits(p.x, at, p.bytes) & p.mask) != 0;
}

INGOT_GPU_KERNEL(nonzero_count, NonZeroParams, 256) {
  GPU_SHARED(unsigned long long, sum);
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const int64_t begin = int64_t(blockIdx.x) * p.share,
                end = begin + p.share < p.elements ? begin + p.share : p.elements;
  unsigned long long own = 0;
  GPU_ROLLED for (int64_t i = begin + threadIdx.x; i < end; i += 256) own += is_nonzero(p, i);
  atomicAdd(&sum, own);
  __syncthreads();
  if (threadIdx.x == 0) p.counts[blockIdx.x] = int64_t(sum);
}

INGOT_GPU_KERNEL(nonzero_write, NonZeroParams, 256) {
  GPU_SHARED(SumsShared, sums);
  GPU_SHARED(PlacesShared, places);
  sum_counts(p.counts, gridDim.x, blockIdx.x, &sums);
  const int64_t n = int64_t(sums.all);
  if (blockIdx.x == 0 && threadIdx.x == 0) *p.n = n;
  if (!p.y) return;
  const int64_t begin = int64_t(blockIdx.x) * p.share,
                end = begin + p.share < p.elements ? begin + p.share : p.elements;
  int64_t at = int64_t(sums.before);
  GPU_ROLLED for (int64_t first = begin; first < end; first += 256) {
    const int64_t i = first + threadIdx.x;
    const bool has = i < end && is_nonzero(p, i);
    uint32_t found;
    const uint32_t place = place_among(has, &places, &found);
    uint64_t rest = uint64_t(i);
    GPU_ROLLED for (int d = p.rank - 1; d >= 0 && has; d--) p.y[d * n + at + place] =
        int64_t(take_remainder(&rest, p.dims[d]));
    at += found;
  }
}

}  // namespace ingot::cuda
