// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/shared_windows_params.h - 3x3 windows one pixel apart, read out of a
// patch of x that a block has in shared memory. Lengths as in tensorcore_params.h.
//
// y is cut into strips of columns. A strip is one line of positions: rows of `pitch` pixels of the
// padded image, behind each other, and images behind each other; padding between two rows or two
// images is there once. Output and input have the same numbers, so that a tap is a constant number
// of positions away, and positions that are no pixel of y are computed and not stored:
//
//     4 x 3 pixels, padding 1: pitch 5     . . . . .     position 0 is the first output, and where
//                                          . x x x x     its window begins; the window of output 3
//                                          . x x x x     ends with the padding of the next row
#pragma once
#include "kernels/cuda/tensorcore/tensorcore_params.h"

namespace ingot::cuda {

constexpr int kSharedPixels = 128, kSharedTaps = 9;  // positions of a block's tile; of a window
constexpr int kSharedRing = 3;                       // taps whose weights shared memory has

/// How y is cut, see above.
struct WindowStrips {
  int pitch, columns, count;  // positions of a row, pixels of y among them; strips
  int image_rows;             // of positions, from an image to the next
  int tiles;                  // of a strip
  int patch;                  // positions that a tile reads
};
struct SharedWindowsParams {
  ProductParams product;  // split_steps: slices of 16 words of c; tiles_m: of all strips
  WindowStrips strips;
  int panels, images;                             // panels: of 16 outputs, of a tile
  FastDivisor tiles_m, tiles, pitch, image_rows;  // of product and strips
};
constexpr int kMinSharedPanels = 2, kMaxSharedPanels = 5;

/// Shared memory of a block: weights of taps, a table of where positions are in x, two patches; or
/// at the end the sums and their rows of y.
constexpr int kPatchThird = 4;  // a third of a patch in 32 positions, at most
constexpr int shared_stage_bytes(int panels) { return panels * 1024; }  // weights of a tap
constexpr int shared_table_at(int panels) { return kSharedRing * shared_stage_bytes(panels); }
constexpr int shared_patches_at(int panels) {
  return shared_table_at(panels) + kPatchThird * 96 * 4;
}
constexpr int shared_windows_bytes(int panels, int patch) {
  const int copies = shared_patches_at(panels) + patch * 2 * 64,
            sums = kSharedPixels * (panels * 16 + 4 + 1) * 4;
  return copies > sums ? copies : sums;
}
/// Positions that a patch has at most, of 48 KB.
constexpr int max_patch(int panels) {
  return ((48 << 10) - shared_patches_at(panels)) / (2 * 64) / 4 * 4;
}
static_assert(max_patch(1) <= kPatchThird * 96, "the table has all positions");

}  // namespace ingot::cuda
