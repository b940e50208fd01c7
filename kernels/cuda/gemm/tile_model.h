// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/gemm/tile_model.h - what a product costs in each variant of cutting it, by a model
// that knows extents and multiprocessors alone; plans of products list their variants with it,
// the cost model's own choice first. No figure of it was measured: `ingot tune` is.
//
//   t(tile) = cycles of a block for a step of 16 words of k: the larger of computing and of
//   fetching (m + o) * 64 bytes at 48 a cycle
//   waves   = ceil(batches * ceil(m / tile.m) * ceil(o / tile.o) * parts / multiprocessors)
//   time    = waves * (ceil(steps / parts) * t + 600)
//           + (parts > 1: the less of
//                3000 + (parts + 2) * batches * m * o / (8 * multiprocessors)   partial sums, 32
//                bytes a cycle and processor, in another kernel
//                550 + parts * tile.m * tile.o * 4 / 48   by the last block of each tile)
//
// 600 and 3000 are the cycles to fill a pipeline and to start another kernel, 550 a load of memory.
#pragma once
#include "kernels/cuda/gemm/cycle_rates.h"
#include "runtime/base/checked_math.h"
#include "runtime/device/gpu/kernel_set.h"

namespace ingot::cuda {

/// A tile as files name it, its extents, and what computing a step of k takes.
struct TileCost {
  const char* name;
  int m, o;
  double step_cycles;
};

/// Of sums in f32: 128 a cycle, less what loads of shared memory take (`speed`: less of it in
/// larger tiles).
constexpr TileCost f32_tile(const char* name, int m, int o, double speed) {
  return {name, m, o, m * o * 16 / 128.0 / speed};
}

struct ProductExtents {
  int64_t batches, m, o, k;  // batches: groups as well
};

/// Cycles of adding `parts` partial sums of each of `sums` numbers: by another kernel; by the block
/// of a tile of `tile` numbers that ends last.
inline double adding_cycles(int parts, double sums, int multiprocessors) {
  return 3000 + (parts + 2) * sums / (8.0 * multiprocessors);
}
inline double last_block_cycles(int parts, double tile) {
  return kMemoryLatency + parts * tile * 4 / kL2Cycle;
}

/// Of blocks that take `each` cycles beside filling their pipelines, and of adding `parts` partial
/// sums of each of `sums` numbers, of tiles of `tile` numbers.
inline double cycles_of_blocks(double blocks, double each, int parts, double tile, double sums,
                               int multiprocessors) {
  double waves = blocks / multiprocessors;
  if (waves < double(int64_t{1} << 52))
    waves = double(int64_t((blocks + multiprocessors - 1) / multiprocessors));
  const double time = waves * (each + kFill);
  if (parts <= 1) return time;
  const double apart = adding_cycles(parts, sums, multiprocessors),
               last = last_block_cycles(parts, tile);
  return time + (last < apart ? last : apart);
}

inline double model_cycles(const TileCost& tile, const ProductExtents& e, int parts,
                           int multiprocessors) {
  const double fetch = (tile.m + tile.o) * 64 / kL2Cycle,
               step = tile.step_cycles > fetch ? tile.step_cycles : fetch;
  const double blocks =
      double(e.batches) * double(ceil_div(e.m, tile.m)) * double(ceil_div(e.o, tile.o)) * parts;
  return cycles_of_blocks(blocks, double(ceil_div(ceil_div(e.k, 16), parts)) * step, parts,
                          double(tile.m) * tile.o, double(e.batches) * double(e.m) * double(e.o),
                          multiprocessors);
}

/// Variants in the order in which they are added, but the quickest by the model first; the
/// earlier among equals.
class VariantList {
 public:
  void add(const GpuVariant& variant, double cycles) {
    if (count_ == kMaxGpuVariants) return;
    const bool is_best = count_ == 0 || cycles < least_;
    for (uint32_t i = is_best ? count_ : 0; i > 0; i--) variants_[i] = variants_[i - 1];
    variants_[is_best ? 0 : count_] = variant;
    if (is_best) least_ = cycles;
    count_++;
  }
  uint32_t count() const { return count_; }
  /// What was asked for, where it is among them; else what the model takes. @pre count() > 0
  const GpuVariant& pick(const GpuVariant* asked) const {
    for (uint32_t i = 0; asked && i < count_; i++)
      if (variants_[i].id == asked->id && variants_[i].parts == asked->parts) return variants_[i];
    return variants_[0];
  }
  uint32_t copy(GpuVariant* out) const {
    for (uint32_t i = 0; i < count_; i++) out[i] = variants_[i];
    return count_;
  }

 private:
  GpuVariant variants_[kMaxGpuVariants];
  uint32_t count_ = 0;
  double least_ = 0;
};

}  // namespace ingot::cuda
