// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/linear/weight_tiles_plan.cpp - products of many rows with weights of 8 and 4 bits as
// tiles of tensor cores: x is f16, or becomes that in scratch.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/linear/weight_tiles.h"
#include "kernels/cuda/tensorcore/product_extents.h"
#include "kernels/cuda/tensorcore/tile_choice.h"
#include "runtime/op/linear.h"

namespace ingot::cuda {
namespace {

constexpr TileKind kKinds[] = {TileKind::kWide, TileKind::kSquare, TileKind::kFlat};
/// Cycles of a step besides those of the tile: a thread makes 16 weights, of the flat tile 32.
constexpr double kUnpackCycles[] = {60, 60, 110};
constexpr int kRowPiece = 8;  // numbers of a row that a thread makes f16 at a time

#define INGOT_KERNEL_OF(type, bits)                     \
  (wide   ? KernelId::weights_##type##_w##bits##_128x64 \
   : flat ? KernelId::weights_##type##_w##bits##_32x128 \
          : KernelId::weights_##type##_w##bits##_64x64)
KernelId kernel_of(const WeightTileShape& shape, TileKind kind) {
  const bool wide = kind == TileKind::kWide, flat = kind == TileKind::kFlat;
  if (shape.is_f16) return shape.bits == 8 ? INGOT_KERNEL_OF(f16, 8) : INGOT_KERNEL_OF(f16, 4);
  return shape.bits == 8 ? INGOT_KERNEL_OF(tf32, 8) : INGOT_KERNEL_OF(tf32, 4);
}
#undef INGOT_KERNEL_OF
/// Of x as f16, in front of the sums of parts.
uint64_t rows_bytes(const WeightTiles& t) {
  if (!t.shape.is_f16) return 0;
  return align256(uint64_t(t.p.m) * uint64_t(t.rows.pieces.divisor) * kRowPiece * 2);
}

}  // namespace

WeightTiles weight_tiles(const OpArguments& a, const PackedWeights& w, const GpuTraits& traits,
                         GpuPrecision precision) {
  const LinearAttributes& t = a.as<LinearAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  WeightTiles q;
  WeightTileParams& p = q.p;
  q.shape = {is_in_f16(precision, traits), w.bits};
  const bool is_multiplied = precision != GpuPrecision::kExact && traits.has_tensor_cores();
  const bool are_steps = w.blocks == 1 || w.block.divisor % q.shape.step_numbers() == 0;
  if (!is_multiplied || !are_steps || !w.is_aligned || w.k <= 0) return q;
  q.fits = true, q.converts = q.shape.is_f16 && x.dtype != DType::kF16;
  p.weights = w;
  set_epilogue(&p, y, a.optional(2), a.optional(3), t.activation, t.residual_first);
  const int64_t pieces = ceil_div(w.k, kRowPiece), numbers = q.shape.is_f16 ? 2 : 1,
                piece = 4 * numbers, words = q.shape.is_f16 ? pieces * (kRowPiece / 2) : w.k;
  set_rows(&p, y.rows(), words, q.converts ? words : x.row_stride / numbers, &q.fits);
  p.x = x.as<const float>();
  p.o = narrow(y.row_length(), &q.fits),
  p.readable = narrow(round_up(y.row_length(), kPanel), &q.fits), p.k = narrow(words, &q.fits);
  narrow(w.k, &q.fits);
  if (!q.converts) q.fits = q.fits && w.k % piece == 0 && x.row_stride % piece == 0;
  q.is_aligned = q.converts || is_aligned(p.x);
  q.fits = q.fits && ceil_div(p.m, kFlatTile.m) * ceil_div(p.o, kSquareTile.o) < kMaxExtent;
  set_steps(&p);
  q.rows.x = p.x, q.rows.x_stride = x.row_stride, q.rows.k = int(q.fits ? w.k : 0);
  q.rows.pieces = fast_divisor(pieces), q.rows.count = int64_t{p.m} * pieces;
  q.rows.is_aligned = x.row_stride % 4 == 0 && is_aligned(p.x);
  return q;
}

void list_weight_tiles(const WeightTiles& tiles, const GpuTraits& traits, VariantList* list) {
  const WeightTileParams& p = tiles.p;
  for (int i = 0; i < 3; i++) {
    TileCost cost = kTileCosts[int(kKinds[i])];
    cost.step_cycles += kUnpackCycles[i];
    for (int parts = 1; may_split(p.steps, parts); parts *= 2)
      list->add({cost.name, uint16_t(parts), uint16_t(kKinds[i])},
                model_cycles(cost, {1, p.m, p.o, p.k}, parts, traits.multiprocessors));
  }
}

uint64_t weight_tiles_scratch(const WeightTiles& tiles, int parts) {
  ProductParams p = tiles.p;
  set_splits(&p, parts ? parts : 1);
  // A binding to come may have x as f32.
  return rows_bytes(tiles) + partial_bytes(p);
}

Status launch_weight_tiles(const GpuWork& work, const WeightTiles& tiles,
                           const GpuVariant& variant) {
  WeightTileParams p = tiles.p;
  const TileKind kind = TileKind(variant.id);
  const ProductTile tile = tile_of(kind);
  const uint64_t rows = rows_bytes(tiles);
  int parts = variant.parts;
  if (tiles.converts && work.scratch_bytes < rows) return Status(Code::kLimitExceeded);
  const uint64_t left = work.scratch_bytes < rows ? 0 : work.scratch_bytes - rows;
  for (set_splits(&p, parts); partial_bytes(p) > left; set_splits(&p, parts)) parts /= 2;
  if (p.splits > 1) p.partial = reinterpret_cast<float*>(work.scratch + rows);
  if (tiles.converts) {
    RowsAsHalvesParams r = tiles.rows;
    r.to = reinterpret_cast<uint32_t*>(work.scratch);
    p.x = reinterpret_cast<const float*>(work.scratch);
    INGOT_TRY(launch(work, KernelId::rows_as_halves, blocks_for(r.count, 128, work.traits), r));
  }
  p.tiles_m = int(ceil_div(p.m, tile.m));
  p.is_early = work.constants.has(p.weights.numbers) && work.constants.has(p.weights.scales) &&
               work.constants.has_or_null(p.weights.zeros);
  const uint32_t blocks = uint32_t(p.tiles_m) * uint32_t(ceil_div(p.o, tile.o));
  p.counters = take_counters(work, p, 1, blocks, double(tile.m) * tile.o);
  INGOT_TRY(launch(work, kernel_of(tiles.shape, kind), blocks, p,
                   uint32_t(tile.shared_bytes(tiles.shape.tile_bytes())), uint32_t(p.splits)));
  return p.splits == 1 || p.counters ? Status() : launch_add_splits(work, &p, 1);
}

}  // namespace ingot::cuda
