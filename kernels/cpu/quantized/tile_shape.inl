// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/tile_shape.inl - what a tile of products of bytes is asked for.
#pragma once
#include "kernels/cpu/gemm/tile.inl"
#include "kernels/cpu/quantized/requantize.inl"

namespace ingot::cpu {
namespace {

struct WeightBounds;  // of pixels_avx2.inl
class AmxTiles;       // of pixels_amx.inl

/// Where the pixels of a call are: rows of `row` of them.
struct PixelRows {
  int64_t row = 0, down = 0, out_down = 0;  // strides of rows in bytes
};

/// What the tiles of one call share. Sizes in bytes.
struct Int8TileShape {
  const Segment* segments = nullptr;
  int64_t segment_count = 0, segment_length = 0;  // length: a multiple of 4
  int64_t pixel_stride = 0, panel_stride = 0, out_stride = 0;
  int64_t plane = 0;  // of 16-bit pixels: lower bytes lie so far behind the upper ones; else 0
  const Requantization* requantization = nullptr;
  int64_t steps_stride = 0;                // between pixels; 0: one for all
  const int32_t* signed_starts = nullptr;  // of Dot::kSigned, of the tile's first panel
  const WeightBounds* bounds = nullptr;    // INGOT_PIXEL_LANES; null: tiles of the other kind
  AmxTiles* tiles = nullptr;               // INGOT_SIMD_AMX
  const int32_t* starts(int64_t output) const {
    if constexpr (Dot::kSigned) return signed_starts;
    return requantization->starts(output);
  }
};

/// Where one tile is. Pixels come in two halves, as in gemm_tile. `sums`: of the bytes of each
/// pixel's window, where weights have a zero point; else null. `steps`: of to_float.
struct Int8TileAt {
  const uint8_t* a = nullptr;
  int64_t half = 0;
  const int8_t* b = nullptr;
  int64_t output = 0;  // the first channel of it
  uint8_t* out = nullptr;
  int64_t out_half = 0;
  const int32_t* sums = nullptr;
  int64_t sums_half = 0;
  const RowQuantParams* steps = nullptr;
  int64_t steps_half = 0;
  int64_t cols = 0;        // outputs of it that exist
  int32_t* raw = nullptr;  // sums go there, a row of panels a pixel, and nothing else is done
};

}  // namespace
}  // namespace ingot::cpu
