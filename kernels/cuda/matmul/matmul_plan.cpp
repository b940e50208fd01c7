// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/matmul/matmul_plan.cpp - batches as strides; rows of a like pixels of a
// convolution.
#include "kernels/cuda/conv2d/conv2d_launch.h"
#include "kernels/cuda/matmul/matmul_params.h"
#include "runtime/op/matmul_blocks.h"

namespace ingot::cuda {
namespace {

/// Strides of an operand's matrices along the batch dimensions of y.
void set_batch_strides(const TensorView& t, const TensorView& y, int64_t* strides) {
  int64_t step = t.dims[t.rank - 2] * t.row_stride;
  for (int i = 3; i <= y.rank; i++) {
    const int64_t own = i <= t.rank ? int64_t{t.dims[t.rank - i]} : 1;
    strides[y.rank - i] = own == 1 ? 0 : step;
    step *= own;
  }
}

constexpr TileKernel kMatMulTiles[] = {
    make_tile_kernel<LargeTile>(KernelId::matmul_large, KernelId::kCount, "128x64", 1.0),
    make_tile_kernel<SquareTile>(KernelId::matmul_square, KernelId::matmul_square_any, "64x64",
                                 0.8),
    make_tile_kernel<SmallTile>(KernelId::matmul_small, KernelId::matmul_small_any, "32x32", 0.6),
};

/// The operands as the kernels see them, and how a is read.
struct MatMulJob {
  MatMulParams p = {};
  matmul::Extents e;
  bool fits = false, vector_a = false;
};

bool fits_tiles(const MatMulParams& p, const matmul::Extents& e) {
  return e.k < 1 << 30 &&
         (double(e.m) / SmallTile::kPixels + 1) * (double(e.n) / SmallTile::kChannels + 1) <
             1 << 30 &&
         p.batches < int64_t{1} << 40;
}

/// @pre y is not empty
MatMulJob matmul_job(const OpArguments& g) {
  const TensorView &a = g.inputs[0], &b = g.inputs[1], &y = g.outputs[0];
  const MatMulAttributes& t = g.as<MatMulAttributes>();
  MatMulJob j;
  const matmul::Extents e = j.e = matmul::extents(t, a, b);
  MatMulParams& p = j.p;
  p.rows = rows_times_panels(a.as<float>(), t.trans_a ? 1 : int64_t{a.row_stride}, e.m, e.k,
                             nullptr, e.n);
  p.rows.channel_stride = t.trans_a ? int64_t{a.row_stride} : 1;
  p.rows.y = y.as<float>(), p.rows.y_stride = y.row_stride;
  p.b = b.as<float>(), p.b_k = t.trans_b ? 1 : int64_t{b.row_stride},
  p.b_n = t.trans_b ? int64_t{b.row_stride} : 1;
  p.batches = y.elements() / (e.m * e.n), p.y_batch = e.m * y.row_stride, p.alpha = t.alpha;
  p.batch_rank = y.rank - 2;
  set_batch_strides(a, y, p.a_strides);
  set_batch_strides(b, y, p.b_strides);
  int64_t a_steps = 0, b_steps = 0;  // their low bits say whether every matrix is aligned
  for (int d = 0; d < p.batch_rank; d++)
    p.dims[d] = y.dims[d], a_steps |= p.a_strides[d], b_steps |= p.b_strides[d];
  j.fits = fits_tiles(p, e);
  if (!j.fits) return j;
  if (e.k == 0) p.rows.window.c = 1;  // nobody walks over no channels
  j.vector_a = !t.trans_a && (e.k | a.row_stride | a_steps) % 4 == 0 && is_aligned(p.rows.x);
  p.vector_b = !t.trans_b && (e.n | b.row_stride | b_steps) % 4 == 0 && is_aligned(p.b);
  p.rows.vector_y = (y.row_stride | p.y_batch) % 4 == 0 && is_aligned(p.rows.y);
  return j;
}

void list_variants(const MatMulJob& j, const GpuTraits& traits, VariantList* list) {
  if (!j.fits) return list->add({"one_each", 1, kOneEachVariant}, 0);
  const ProductExtents extents = {j.p.batches, j.e.m, j.e.n, j.e.k};
  for (const TileKernel& tile : kMatMulTiles)
    if (j.vector_a || tile.any != KernelId::kCount)
      list->add({tile.cost.name, 1, uint16_t(&tile - kMatMulTiles)},
                model_cycles(tile.cost, extents, 1, traits.multiprocessors));
  if (j.p.batches <= kMaxOneEach / (j.e.m * j.e.n))
    list->add({"one_each", 1, kOneEachVariant}, 1e300);
}

Status plan_matmul(const GpuWork& work) {
  const int64_t outputs = work.arguments->outputs[0].elements();
  if (outputs == 0) return {};
  const MatMulJob j = matmul_job(*work.arguments);
  VariantList variants;
  list_variants(j, work.traits, &variants);
  const uint16_t variant = variants.pick(work.variant).id;
  if (variant == kOneEachVariant)
    return launch(work, KernelId::matmul_each, blocks_for(outputs, 128, work.traits), j.p);
  const TileKernel& tile = kMatMulTiles[variant];
  const int64_t tiles = ceil_div(j.e.m, tile.cost.m) * ceil_div(j.e.n, tile.cost.o);
  const int64_t most = int64_t(work.traits.multiprocessors) * 32;
  return launch(work, j.vector_a ? tile.vector : tile.any, uint32_t(tiles < most ? tiles : most),
                j.p, tile.shared_bytes, 1, uint32_t(j.p.batches < 65535 ? j.p.batches : 65535));
}

uint32_t list_matmul(const OpArguments& a, const GpuTraits& traits, GpuPrecision, GpuVariant* out) {
  if (a.outputs[0].elements() == 0) return 0;
  VariantList variants;
  list_variants(matmul_job(a), traits, &variants);
  return variants.copy(out);
}

constexpr GpuKernelEntry kMatmulTable[] = {
    {OpCode::kMatMul, "matmul", nullptr, nullptr, plan_matmul, {list_matmul, nullptr}}};

}  // namespace

const Span<const GpuKernelEntry> kMatMulRows = Span<const GpuKernelEntry>(kMatmulTable);

}  // namespace ingot::cuda
