// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/quantized/quantized_tiles_plan.cpp - products of bytes as tiles of tensor cores.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/quantized/quantized_tiles.h"
#include "kernels/cuda/tensorcore/product_extents.h"
#include "kernels/cuda/tensorcore/tile_choice.h"
#include "runtime/op/quantized_blocks.h"

namespace ingot::cuda {
namespace {

constexpr uint16_t kEach = kTileKinds;  // id of the variant of one output a thread
// Of one output a thread: how many of them a multiprocessor has at a time, and the cycles of a
// word of k, which some 25 instructions of each of these threads take. Not measured.
constexpr int64_t kResident = 1024;
constexpr double kWordCycles = 200;

constexpr TileKind kKinds[] = {TileKind::kWide, TileKind::kSquare, TileKind::kFlat};

bool has_kernel(QuantizedLoad load, TileKind kind) {
  return load != QuantizedLoad::kBytes || kind == TileKind::kSquare;
}
KernelId kernel_of(QuantizedLoad load, TileKind kind) {
  const bool wide = kind == TileKind::kWide, flat = kind == TileKind::kFlat;
  if (load == QuantizedLoad::kBytes) return KernelId::quantized_bytes_64x64;
  if (load == QuantizedLoad::kRows)
    return wide   ? KernelId::quantized_rows_128x64
           : flat ? KernelId::quantized_rows_32x128
                  : KernelId::quantized_rows_64x64;
  return wide   ? KernelId::quantized_windows_128x64
         : flat ? KernelId::quantized_windows_32x128
                : KernelId::quantized_windows_64x64;
}

}  // namespace

bool is_each(const GpuVariant& variant) { return variant.id == kEach; }

QuantizedTiles quantized_tiles(const OpArguments& a, const QuantizedProductParams& each) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const Conv2dAttributes t = quantized::geometry(each.t);
  const bool is_linear = a.inputs[1].rank == 2;
  const int64_t depth = each.depth, words = ceil_div(each.length, 4);
  QuantizedTiles q;
  QuantizedTileParams& p = q.p;
  q.fits = x.dtype == DType::kU8 && each.packing == Packing::kPanels16x4 && each.length > 0 &&
           t.method == ConvMethod::kDirect && is_aligned(each.w);
  if (!q.fits) return q;
  p.finish = each.finish;
  const bool is_row = is_linear || is_pointwise(t);
  if (is_row)
    set_rows(&p, y.rows(), depth, each.x_pixel, &q.fits);
  else
    set_windows(&p, t, x.dims[0], each.in_h, each.in_w, depth, y, &q.fits);
  p.pixel_stride = each.x_pixel;  // in bytes, for the kernel of bytes
  const int64_t outputs = each.outputs.divisor;
  p.x = static_cast<const float*>(each.x), p.w = reinterpret_cast<const float*>(each.w);
  p.o = narrow(outputs, &q.fits), p.readable = narrow(round_up(outputs, kPanel), &q.fits);
  p.k = narrow(each.runs * words, &q.fits);
  p.panel_stride = int64_t{p.k} * kPanel, p.n_stride = 1, p.k_stride = kPanel;
  p.steps = int(ceil_div(p.k, 16)), p.splits = 1, p.split_steps = p.steps;
  p.plane = fast_divisor(is_linear ? 1 : int64_t{y.dims[1]} * y.dims[2]);
  p.border = each.t.x_zero * 0x01010101u;
  p.counts_numbers = p.finish.requant == RequantMode::kToFloat ? p.finish.rows[3] != nullptr
                                                               : p.finish.w_zero != 0;
  p.runs = narrow(each.runs, &q.fits), p.run_bytes = narrow(each.length, &q.fits);
  p.run_words = narrow(words, &q.fits), p.depth = fast_divisor(depth);
  p.by_row = is_row || each.runs == t.kernel_h;
  p.in_words = depth % 4 == 0 && p.pixel_stride % 4 == 0 && is_aligned(each.x, 4);
  q.fits = q.fits && ceil_div(p.m, kFlatTile.m) * ceil_div(p.o, kSquareTile.o) < kMaxExtent;
  if (depth % 16 || each.x_pixel % 16 || !is_aligned(each.x) || t.kernel_h > kMaxTapRows ||
      t.kernel_w > 16)
    return q;
  p.c = int(depth / 4), p.pixel_stride = each.x_pixel / 4;
  q.load = is_row ? QuantizedLoad::kRows : QuantizedLoad::kWindows;
  return q;
}

void list_quantized_variants(const QuantizedTiles& tiles, const GpuTraits& traits,
                             VariantList* list) {
  const QuantizedTileParams& p = tiles.p;
  double rounds = 0;
  if (tiles.fits && traits.has_tensor_cores()) {
    for (const TileKind kind : kKinds)
      if (has_kernel(tiles.load, kind))
        list->add(
            {kTileCosts[int(kind)].name, 1, uint16_t(kind)},
            model_cycles(kTileCosts[int(kind)], {1, p.m, p.o, p.k}, 1, traits.multiprocessors));
    rounds = double(ceil_div(int64_t{p.m} * p.o, kResident * traits.multiprocessors));
  }
  list->add({"each", 1, kEach}, rounds * p.k * kWordCycles);
}

Status launch_tiles(const GpuWork& work, const QuantizedTiles& tiles, const GpuVariant& variant) {
  const TileKind kind = TileKind(variant.id);
  const ProductTile tile = tile_of(kind);
  QuantizedTileParams p = tiles.p;
  p.tiles_m = int(ceil_div(p.m, tile.m));
  // Steps that were computed are read with the first pixels.
  p.is_early = work.constants.has(p.w) && !p.finish.steps;
  return launch(work, kernel_of(tiles.load, kind),
                uint32_t(p.tiles_m) * uint32_t(ceil_div(p.o, tile.o)), p,
                uint32_t(tile.shared_bytes(kWordWeights)));
}

}  // namespace ingot::cuda
