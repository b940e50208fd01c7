// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/window_strips.h - how y is cut into strips and tiles for the kernel that
// shares windows in shared memory (shared_windows_params.h), and what that costs. Host code, of
// plans.
#pragma once
#include "kernels/cuda/gemm/tile_model.h"
#include "kernels/cuda/tensorcore/product_extents.h"
#include "kernels/cuda/tensorcore/shared_windows_params.h"

namespace ingot::cuda {

/// Whether a window is 3x3 with neighbors one pixel apart. @pre p is of windows
inline bool has_shared_windows(const ProductParams& p) {
  return p.kernel_h == 3 && p.kernel_w == 3 && p.stride_h == 1 && p.stride_w == 1 &&
         p.dilation_h == 1 && p.dilation_w == 1 && p.oh > 0 && p.ow > 0 && p.m > 0 && p.c > 0;
}

/// The fewest tiles that do with patches of at most `max_positions`; count is 0 where there are
/// none, or more than 32 bits count.
inline WindowStrips cut_strips(const ProductParams& p, int max_positions) {
  const int64_t images = p.m / (int64_t{p.oh} * p.ow);
  // Padding that two neighbors have in common is there once, as much as windows reach over.
  const auto shared = [](int extent, int out, int pad) {
    const int behind = out + 2 - pad - extent, both = behind < pad ? behind : pad;
    return both < 0 ? 0 : both < 2 ? both : 2;
  };
  WindowStrips best = {};
  const int rows = p.oh + 2 - shared(p.h, p.oh, p.pad_top);
  const int64_t of_pixel = p.pixel_stride / 4;
  if (of_pixel >= kMaxExtent || images * p.h * p.width * of_pixel >= kMaxExtent) return best;
  // the first count that patches have room for, and some more: strips of even widths
  const int widest = (max_positions - kSharedPixels - 2) / 2 - 2,
            first = p.ow <= widest ? 1 : int(ceil_div(p.ow, widest));
  for (int count = first; count < first + 8 && count <= p.ow; count++) {
    WindowStrips s = {};
    s.columns = int(ceil_div(p.ow, count)), s.count = count, s.image_rows = rows;
    s.pitch = s.columns + 2 - (count == 1 ? shared(p.width, p.ow, p.pad_left) : 0);
    const int64_t patch = round_up(int64_t{kSharedPixels} + 2 * s.pitch + 2, 4);
    const int64_t positions = ((images - 1) * rows + p.oh - 1) * s.pitch + s.columns,
                  tiles = ceil_div(positions, kSharedPixels);
    if (patch > max_positions || positions + patch >= kMaxExtent) continue;
    // of the narrowest tile; launches count blocks in 32 bits
    if (tiles * count * ceil_div(p.o, 32) >= kMaxExtent) continue;
    s.patch = int(patch), s.tiles = int(tiles);
    if (best.count == 0 || tiles * count < int64_t{best.tiles} * best.count) best = s;
  }
  return best;
}

/// Cycles by the formula of gemm/tile_model.h, the tile's m that of strips: a step is an eight of
/// words and a tap, of which the block fetches a ninth of the patch.
inline double shared_windows_cycles(const ProductParams& p, const WindowStrips& strips, int o,
                                    double step_cycles, int parts, int multiprocessors) {
  const double fetch = (strips.patch * 64.0 / kSharedTaps + o * 64) / kL2Cycle,
               step = step_cycles > fetch ? step_cycles : fetch;
  const int64_t blocks = int64_t{strips.tiles} * strips.count * ceil_div(p.o, o) * parts,
                eights = ceil_div(p.c, 8), of_part = ceil_div(ceil_div(p.c, 16), parts) * 2;
  return cycles_of_blocks(
      double(blocks), double(eights < of_part ? eights : of_part) / 2 * kSharedTaps * step, parts,
      double(kSharedPixels) * o, double(p.m) * double(p.o), multiprocessors);
}

}  // namespace ingot::cuda
