// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/attention_split.h - into how many parts the keys of attention are cut: a
// few queries are few blocks, which would read all keys one tile after the other. Cycles of a
// launch of s parts, of t tiles of keys and b blocks for each part, on m multiprocessors:
//
//   ceil(b s / (2 m)) (start + ceil(t / s) tile) + (s > 1) sum
//
// Depends on extents and multiprocessors alone: scratch is asked for before addresses are known.
#pragma once
#include "kernels/cuda/attention/attention_params.h"

namespace ingot::cuda {

// Assumed: filling the pipeline and a load of memory; some 400 instructions of each of four warps,
// two blocks beside each other; a launch that starts behind this one and reads its sums.
constexpr int64_t kAttentionStart = 1150, kKeyTileCycles = 800, kSumOfParts = 1900;
constexpr int kMaxKeyParts = 32;
constexpr int64_t kKeyTile = 4096;  // numbers of a tile of keys

/// Keys of a tile of a kernel for heads of at most `head` numbers.
constexpr int64_t keys_of_tile(int head) { return kKeyTile / head; }

inline int key_parts(int64_t blocks, int64_t key_tiles, int multiprocessors) {
  int best = 1;
  int64_t least = 0;
  for (int s = 1; s <= kMaxKeyParts && (s == 1 || 2 * s <= key_tiles); s *= 2) {
    const int64_t cycles = ceil_div(blocks * s, 2 * int64_t(multiprocessors)) *
                               (kAttentionStart + ceil_div(key_tiles, s) * kKeyTileCycles) +
                           (s > 1 ? kSumOfParts : 0);
    if (s == 1 || cycles < least) least = cycles, best = s;
  }
  return best;
}

}  // namespace ingot::cuda
