// kernels/cuda/products/matmul_plan.cpp - batches as strides; rows of a like pixels of a convolution.
#include "kernels/cuda/conv2d/conv2d_launch.h"
#include "kernels/cuda/products/matmul_params.h"
#include "runtime/op/matmul_blocks.h"

namespace ingot::cuda {
namespace {

/// Strides of an operand's matrices along the batch dimensions of y.
void set_batch_strides(const TensorView& t, const TensorView& y, int64_t* strides) {
  int64_t step = t.dims[t.rank - 2] * t.row_stride;
  for (int i = 3; i <= y.rank; i++) {
    const int64_t own = i <= t.rank ? t.dims[t.rank - i] : 1;
    strides[y.rank - i] = own == 1 ? 0 : step;
    step *= own;
  }
}

struct Tile {
  KernelId vector, any;
  int rows, columns;
  uint32_t shared_bytes;
  double speed;
};
constexpr Tile kTiles[] = {
    {KernelId::matmul_large, KernelId::kCount, LargeTile::kPixels, LargeTile::kChannels, LargeTile::kSharedBytes, 1.0},
    {KernelId::matmul_square, KernelId::matmul_square_any, SquareTile::kPixels, SquareTile::kChannels,
     SquareTile::kSharedBytes, 0.8},
    {KernelId::matmul_small, KernelId::matmul_small_any, SmallTile::kPixels, SmallTile::kChannels,
     SmallTile::kSharedBytes, 0.6},
};

bool fits_tiles(const MatMulParams& p, const matmul::Extents& e) {
  return e.k < 1 << 30 && (double(e.m) / SmallTile::kPixels + 1) * (double(e.n) / SmallTile::kChannels + 1) < 1 << 30 &&
         p.batches < int64_t{1} << 40;
}

Status plan(const GpuWork& work) {
  const OpArguments& g = *work.arguments;
  const TensorView &a = g.inputs[0], &b = g.inputs[1], &y = g.outputs[0];
  const MatMulAttributes& t = g.as<MatMulAttributes>();
  if (y.elements() == 0) return {};
  const matmul::Extents e = matmul::extents(t, a, b);
  MatMulParams p = {};
  p.rows = rows_times_panels(a.as<float>(), t.trans_a ? 1 : a.row_stride, e.m, e.k, nullptr, e.n);
  p.rows.channel_stride = t.trans_a ? a.row_stride : 1;
  p.rows.y = y.as<float>(), p.rows.y_stride = y.row_stride;
  p.b = b.as<float>(), p.b_k = t.trans_b ? 1 : b.row_stride, p.b_n = t.trans_b ? b.row_stride : 1;
  p.batches = y.elements() / (e.m * e.n), p.y_batch = e.m * y.row_stride, p.alpha = t.alpha;
  p.batch_rank = y.rank - 2;
  set_batch_strides(a, y, p.a_strides);
  set_batch_strides(b, y, p.b_strides);
  int64_t a_steps = 0, b_steps = 0;  // their low bits say whether every matrix is aligned
  for (int d = 0; d < p.batch_rank; d++) p.dims[d] = y.dims[d], a_steps |= p.a_strides[d], b_steps |= p.b_strides[d];
  if (!fits_tiles(p, e)) return launch(work, KernelId::matmul_each, blocks_for(y.elements(), 128, work.traits), p);
  if (e.k == 0) p.rows.window.c = 1;  // nobody walks over no channels
  const bool vector_a = !t.trans_a && (e.k | a.row_stride | a_steps) % 4 == 0 && is_aligned(p.rows.x);
  p.vector_b = !t.trans_b && (e.n | b.row_stride | b_steps) % 4 == 0 && is_aligned(p.b);
  p.rows.vector_y = (y.row_stride | p.y_batch) % 4 == 0 && is_aligned(p.rows.y);
  const Tile* best = nullptr;
  double least = 0;
  int64_t tiles = 0;
  for (const Tile& tile : kTiles) {
    if (!vector_a && tile.any == KernelId::kCount) continue;
    const int64_t count = ceil_div(e.m, tile.rows) * ceil_div(e.n, tile.columns);
    const double rounds =
        double(ceil_div(count * (p.batches < 1 << 20 ? p.batches : 1 << 20), work.traits.multiprocessors));
    const double time = rounds * tile.rows * tile.columns / tile.speed;
    if (best && time >= least) continue;
    best = &tile, least = time, tiles = count;
  }
  const int64_t most = int64_t(work.traits.multiprocessors) * 32;
  return launch(work, vector_a ? best->vector : best->any, uint32_t(tiles < most ? tiles : most), p, best->shared_bytes,
                1, uint32_t(p.batches < 65535 ? p.batches : 65535));
}

constexpr GpuRow kRows[] = {{OpCode::kMatMul, "matmul", nullptr, nullptr, plan}};

}  // namespace

const Span<const GpuRow> kMatMulRows = Span<const GpuRow>(kRows);

}  // namespace ingot::cuda
