// kernels/cuda/tensorcore/bottleneck_cost.h - what a launch of an inverted bottleneck does, and how
// long it and the launches that it stands for take; bounds and constants are those of
// docs/cuda-cost.md. Host code, of plans and of `ingot why`.
#pragma once
#include "kernels/cuda/tensorcore/bottleneck_params.h"
#include "runtime/base/checked_math.h"

namespace ingot::cuda {

/// Of all blocks together.
struct BottleneckCost {
  double blocks = 0, products = 0, on_chip = 0, fetched = 0, instructions = 0;
};

/// Instructions of a warp, counted in the disassembly (sm_87, CUDA 11.8) where activations are
/// clamps: of a slice; of a step of expand and of a step of 32 outputs of project, beside what they
/// take for eight pixels; of the epilogue of eight pixels; of a cell by the window's stride; of the
/// patch, for eight pixels and for a step of them; of the last epilogue, for four outputs a lane;
/// and before and after all slices.
struct BottleneckInstructions {
  double slice, expand_step, project_step, group, cell[2], patch, patch_step, finish, block;
};
constexpr BottleneckInstructions kTf32Instructions = {150, 56, 24,  40, {152, 174},
                                                      70,  26, 130, 480};
constexpr BottleneckInstructions kF16Instructions = {150, 52, 13, 54, {162, 184}, 60, 15, 130, 480};
constexpr double kProductInstructions = 5;  // of eight pixels and a step: a load and four products

inline BottleneckCost bottleneck_cost(const BottleneckParams& p, double images, bool is_f16) {
  const int blocks_o = int(ceil_div(p.project.o, kBlockOutputs));
  const double project_steps = is_f16 ? 1 : 2, steps = p.steps, groups = p.groups, cells = p.cells,
               slices = double(ceil_div(p.expanded, kExpandedSlice)), warps = kBottleneckWarps;
  const double outputs =
      double(ceil_div(p.project.o < kBlockOutputs ? p.project.o : kBlockOutputs, 32));
  const double busy = cells < warps ? cells : warps, tile = 2048, fragment = 512, row = kChannelRow;
  const double words = steps * groups * 8 * 32 * 16 + project_steps * cells * 8 * outputs * 512;
  const double weights = (steps + project_steps * outputs) * tile + kChannelRows * row;
  const double loads = p.stride == 1 ? 24 : 45;  // of a cell's channel
  const double chip_of_slice = steps * (warps * tile + groups * fragment) + groups * 8 * row +
                               cells * (loads + 8) * row + warps * 10 * row +
                               project_steps * outputs * (busy * tile + cells * fragment) + weights;
  const double patch = steps * groups * fragment, sums = cells * 8 * outputs * row;
  const BottleneckInstructions& each = is_f16 ? kF16Instructions : kTf32Instructions;
  BottleneckCost c;
  c.blocks = images * p.tiles * blocks_o;
  c.products = c.blocks * slices * words;
  c.on_chip = c.blocks * (slices * chip_of_slice + patch * (is_f16 ? 1 : 3) + 2 * sums);
  c.fetched = c.blocks * (slices * weights + double(p.patch_pixels) * p.c * 4 +
                          double(p.tile_h) * p.tile_w * outputs * 32 * (p.project.y_f16 ? 2 : 4));
  const double slice = warps * (each.slice + steps * each.expand_step +
                                project_steps * outputs * each.project_step) +
                       (steps * groups + project_steps * outputs * cells) * kProductInstructions +
                       groups * each.group + cells * each.cell[p.stride - 1];
  c.instructions = c.blocks * (slices * slice + groups * (each.patch + steps * each.patch_step) +
                               cells * outputs * 2 * each.finish + warps * each.block);
  return c;
}

constexpr double kStartCycles = 1420, kChipCycle = 128, kFetchCycle = 48, kIssueCycle = 4;
constexpr double kMemoryCycle = 14;        // bytes of a multiprocessor: Orin 12.5, H200 20
constexpr double kCachedBytes = 64 << 10;  // of a multiprocessor's share of the second-level cache
constexpr double kTf32Cycle = 512;         // multiply-adds

/// Of a launch beside its start. `fetched`: bytes of all blocks; `bytes`: operands and results.
inline double transfer_cycles(double fetched, double bytes, int multiprocessors) {
  const double fetch = fetched / kFetchCycle / multiprocessors;
  const double memory = bytes > kCachedBytes * multiprocessors ? bytes / kMemoryCycle : 0;
  return fetch > memory / multiprocessors ? fetch : memory / multiprocessors;
}

inline double bottleneck_cycles(const BottleneckCost& c, double bytes, int multiprocessors) {
  const double rounds = double(ceil_div(int64_t(c.blocks), int64_t(multiprocessors)));
  const double most = rounds / c.blocks;
  double cycles = transfer_cycles(c.fetched * most * multiprocessors, bytes, multiprocessors);
  // a word of f16 is two multiply-adds at twice the rate
  const double bounds[] = {c.products * most / kTf32Cycle, c.on_chip * most / kChipCycle,
                           c.instructions * most / kIssueCycle};
  for (const double bound : bounds) cycles = bound > cycles ? bound : cycles;
  return kStartCycles + cycles;
}

/// The three stages as launches of their own.
struct StagedBottleneck {
  double pixels, inner;              // of x and expanded; of y
  double c, expanded, o;             // channels
  double x_bytes, between, y_bytes;  // of an element of x, of what lies between, of y
  double weight_bytes;
  double residual_bytes;  // of an element of y; 0: none
  bool joins_pointwise;   // window and project are one launch in f32
};
inline double staged_cycles(const StagedBottleneck& s, int multiprocessors) {
  const auto tiles = [](double extent, double tile) {
    return double(ceil_div(int64_t(extent), int64_t(tile)));
  };
  const auto product = [&](double m, double o, double k, double in, double out, double residual) {
    const double fetched =
        tiles(m, 128) * tiles(o, 64) * (k * (128 * in + 64 * s.weight_bytes) + 128.0 * 64 * out);
    return kStartCycles +
           transfer_cycles(fetched, m * (k * in + o * (out + residual)), multiprocessors);
  };
  const double expand = product(s.pixels, s.expanded, s.c, s.x_bytes, s.between, 0);
  if (s.joins_pointwise) {
    constexpr double kSpeed = 128 * 0.8;  // multiply-adds of CUDA cores, as of the narrow tile
    const double sums = s.inner * s.expanded * (round_up(int64_t(s.o), 32) + 9.0) / kSpeed;
    const double bytes =
        s.pixels * s.expanded * s.between + s.inner * s.o * (s.y_bytes + s.residual_bytes);
    const double moved = transfer_cycles(bytes, bytes, multiprocessors);
    return expand + kStartCycles +
           (sums / multiprocessors > moved ? sums / multiprocessors : moved);
  }
  const double window = (s.pixels + s.inner) * s.expanded * s.between;
  // a window's nine weights and six columns of its three rows for four pixels
  const double on_chip = s.inner * s.expanded * (9 * 4 + 3 * 6 * s.between) / 4 / kChipCycle,
               moved = transfer_cycles(window, window, multiprocessors);
  return expand + kStartCycles +
         (on_chip / multiprocessors > moved ? on_chip / multiprocessors : moved) +
         product(s.inner, s.o, s.expanded, s.between, s.y_bytes, s.residual_bytes);
}

}  // namespace ingot::cuda
