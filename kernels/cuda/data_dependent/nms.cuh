// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/data_dependent/nms.cuh - non-maximum suppression, a block a class of a batch:
// candidates are sorted by score, then go by 256 against those picked before; which of the 256 are
// free of each other is found one after the other from bits that all threads made. Arithmetic of
// boxes: kernels/cpu/data_dependent/box.inl.
#pragma once
#include "kernels/cpu/data_dependent/box.inl"
#include "kernels/cuda/data_dependent/block.cuh"
#include "kernels/cuda/data_dependent/data_dependent_params.h"
#include "kernels/cuda/device/lane.h"

namespace ingot::cuda {

using cpu::tensors::Box;

namespace {  // as Box is

struct NmsShared {
  uint64_t keys[kNmsSharedKeys];
  Box boxes[256];
  uint32_t overlaps
      [256][9];  // by candidate, a bit for each before it in its tile; 9 words: no bank conflicts
  uint32_t is_free[8], is_picked[8];
  PlacesShared places;
};

/// Ascends where scores fall; of equal scores the lower index first.
GPU_FN uint64_t nms_key(float score, uint32_t index) {
  const uint32_t bits = score == 0 ? 0 : cpu::float_bits(score);
  const uint32_t rising = bits >> 31 ? ~bits : bits | 0x80000000u;
  return uint64_t(uint32_t(~rising)) << 32 | index;
}

/// Keys of the boxes of a class that may be picked, in any memory; their number.
GPU_FN int64_t collect_candidates(const NmsParams& p, const float* scores, uint64_t* keys,
                                  NmsShared* s) {
  int64_t found = 0;
  GPU_ROLLED for (int64_t first = 0; first < p.count; first += 256) {
    const int64_t i = first + threadIdx.x;
    const float score = i < p.count ? scores[i] : 0;
    const bool may = i < p.count && score == score && (!p.lowest || score > *p.lowest);
    uint32_t more;
    const uint32_t place = place_among(may, &s->places, &more);
    if (may) keys[found + place] = nms_key(score, uint32_t(i));
    found += more;
  }
  __syncthreads();
  return found;
}

/// The candidate of this thread against those of its tile that come before it, as bits, and against
/// all that were picked before the tile: false where it overlaps one of these.
GPU_FN bool compare_boxes(const NmsParams& p, const float* boxes, uint32_t index, bool is_live,
                          const uint32_t* picked, int64_t kept, NmsShared* s) {
  const int thread = int(threadIdx.x);
  const float threshold = p.threshold ? *p.threshold : 0.0f;
  Box own = {};
  GPU_ROLLED for (int word = 0; word < 8; word++) s->overlaps[thread][word] = 0;
  GPU_ROLLED for (int64_t first = -256; first < kept; first += 256) {
    const bool is_tile = first < 0;
    const int64_t left = is_tile ? 256 : kept - first;
    const uint32_t at = is_tile ? index : thread < left ? picked[first + thread] : 0;
    __syncthreads();  // the boxes before were read
    s->boxes[thread] = cpu::tensors::box_at(boxes + int64_t(at) * 4, p.is_center);
    __syncthreads();
    if (is_tile) own = s->boxes[thread];
    const int size = is_tile ? thread : left < 256 ? int(left) : 256;
    GPU_ROLLED for (int k = 0; k < size && is_live; k++) {
      if (!cpu::tensors::overlaps(own, s->boxes[k], threshold)) continue;
      if (is_tile)
        s->overlaps[thread][k / 32] |= 1u << (k % 32);
      else
        is_live = false;
    }
  }
  return is_live;
}

/// The first warp picks from a tile, in order, as many as there is room for. Lane w has the word w
/// of those picked.
GPU_FN void pick_in_order(int64_t room, NmsShared* s) {
  const int lane = int(threadIdx.x);
  uint32_t own = 0;
  int64_t kept = 0;
  GPU_ROLLED for (int i = 0; i < 256 && kept < room; i++) {
    if (!(s->is_free[i / 32] >> (i % 32) & 1)) continue;
    const uint32_t against = lane < 8 ? s->overlaps[i][lane] & own : 0;
    if (__ballot_sync(~0u, against != 0)) continue;
    if (lane == i / 32) own |= 1u << (i % 32);
    kept++;
  }
  if (lane < 8) s->is_picked[lane] = own;
}

GPU_FN int64_t pick_boxes(const NmsParams& p, const float* boxes, const uint64_t* keys,
                          int64_t candidates, int64_t most, uint32_t* picked, NmsShared* s) {
  const int thread = int(threadIdx.x), lane = thread % 32, warp = thread / 32;
  int64_t kept = 0;
  GPU_ROLLED for (int64_t first = 0; first < candidates && kept < most; first += 256) {
    const bool is_live = first + thread < candidates;
    const uint32_t index = is_live ? uint32_t(keys[first + thread]) : 0;
    const uint32_t votes =
        __ballot_sync(~0u, compare_boxes(p, boxes, index, is_live, picked, kept, s));
    if (lane == 0) s->is_free[warp] = votes;
    __syncthreads();
    if (warp == 0) pick_in_order(most - kept, s);
    __syncthreads();
    uint32_t more;
    const bool is_picked = s->is_picked[warp] >> lane & 1;
    const uint32_t place = place_among(is_picked, &s->places, &more);
    if (is_picked) picked[kept + place] = index;
    kept += more;
    __syncthreads();
  }
  return kept;
}

}  // namespace

INGOT_GPU_KERNEL_BLOCKS(nms_select, NmsParams, 256, 2) {
  GPU_SHARED(NmsShared, s);
  const int64_t asked = p.most ? *p.most : 0, most = asked < 0        ? 0
                                                     : asked < p.room ? asked
                                                                      : p.room;
  uint64_t* const own = p.keys + int64_t(blockIdx.x) * p.count;
  int64_t batch = 0, of_batch = blockIdx.x;
  GPU_ROLLED for (int64_t list = blockIdx.x; list < p.lists;
                  list += gridDim.x, of_batch += gridDim.x) {
    GPU_ROLLED for (; of_batch >= p.classes; of_batch -= p.classes) batch++;
    int64_t kept = 0;
    if (most > 0) {
      const float* boxes = p.boxes + batch * p.count * 4;
      const int64_t candidates = collect_candidates(p, p.scores + list * p.count, own, &s);
      uint64_t* keys = own;
      if (candidates <= kNmsSharedKeys) {
        keys = s.keys;
        GPU_ROLLED for (int64_t i = threadIdx.x; i < candidates; i += 256) keys[i] = own[i];
      }
      sort_keys(keys, candidates, [](uint64_t a, uint64_t b) { return a < b; });
      kept = pick_boxes(p, boxes, keys, candidates, most, p.picked + list * p.room, &s);
    }
    if (threadIdx.x == 0) p.counts[list] = kept;
  }
}

/// A block has some of the batches.
INGOT_GPU_KERNEL(nms_write, NmsWriteParams, 256) {
  GPU_SHARED(SumsShared, sums);
  GPU_ROLLED for (int64_t batch = blockIdx.x; batch < p.batches; batch += gridDim.x) {
    const int64_t first = batch * p.classes;
    __syncthreads();
    sum_counts(p.counts, p.batches * p.classes, first, &sums);
    if (batch == 0 && threadIdx.x == 0) *p.n = int64_t(sums.all);
    int64_t* to = p.y + int64_t(sums.before) * 3;
    GPU_ROLLED for (int64_t of_batch = 0; of_batch < p.classes; of_batch++) {
      const int64_t count = p.counts[first + of_batch];
      GPU_ROLLED for (int64_t i = threadIdx.x; i < count; i += 256) {
        to[i * 3] = batch;
        to[i * 3 + 1] = of_batch;
        to[i * 3 + 2] = p.picked[(first + of_batch) * p.room + i];
      }
      to += count * 3;
    }
  }
  if (p.batches == 0 && blockIdx.x == 0 && threadIdx.x == 0) *p.n = 0;
}

}  // namespace ingot::cuda
