// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/bottleneck_params.h - what the kernels of an inverted bottleneck take:
// pointwise (expand), depthwise 3x3 (window), pointwise (project). Words are 4 bytes: an f32, or
// two neighboring channels in f16.
#pragma once
#include "kernels/cuda/gemm/epilogue_params.h"
#include "kernels/cuda/tensorcore/tensorcore_params.h"

namespace ingot::cuda {

constexpr int kExpandedSlice = 32;   // expanded channels in shared memory at a time
constexpr int kExpandedPitch = 144;  // bytes of a pixel of them, f32
constexpr int kCellWidth = 4, kCellHeight = 2, kCellPixels = 8;  // the columns of one product
constexpr int kMaxCells = 8;         // of a block's tile, two for each warp
constexpr int kMaxPatchGroups = 20;  // of eight pixels, five for each warp
constexpr int kBlockOutputs = 64;    // of a block
constexpr int kChannelRows = 11, kChannelRow = kExpandedSlice * 4;  // taps, two biases; bytes
constexpr int kBottleneckWarps = 4;

/// Bounds of a clamp, each rounded to f16 and in both halves.
struct HalvesClamp {
  uint32_t low, high;
};

/// A block has tile_h x tile_w pixels of one image of y, in cells of 2 x 4, and 64 outputs. Its
/// patch is what the windows of the tile see of x, counted row by row.
///
///   shared memory:  expanded | patch | weights of expand | weights of project | channels
///
/// expanded: a slice of the expanded pixels, in their place later the operand of project, and at
/// the end the sums. channels: taps, bias of the window, bias of expand, each a row of 32 floats.
struct BottleneckParams {
  const float *x, *expand_w, *expand_bias, *window_w, *window_bias, *project_w;
  int64_t image_stride;                  // of x, in words
  int pixel_pieces, row_pieces;          // from pixel to pixel and row to row of x, 16 bytes each
  uint32_t expand_panel, project_panel;  // from panel to panel of weights, in 16 bytes
  int padded;                            // expanded channels up to a multiple of 16
  int h, width, c, oh, ow;               // c in words; oh, ow: of y
  int steps;                             // 16 words of c
  int expand_panels, project_panels, expanded, k;        // k: expanded channels in words
  int stride, pad_top, pad_left;                         // of the window
  int tile_h, tile_w, tiles_h, tiles_w, cells, cells_w;  // tiles: of an image
  int output_blocks;                                     // of 64 outputs
  int patch_w, patch_pixels, groups;                     // groups: eight pixels of the patch each
  int patch_inverse, cell_inverse;                       // 2^16 / patch_w and 2^8 / cells_w, above
  int patch_at, expand_at, project_at, channels_at;      // in shared memory, in bytes
  EpilogueParams expand, window;                         // what is no clamp is one by infinities
  HalvesClamp expand_halves, window_halves;              // the same bounds
  ProductParams project;  // the epilogue: y, residual, bias, activation, o
};

}  // namespace ingot::cuda
