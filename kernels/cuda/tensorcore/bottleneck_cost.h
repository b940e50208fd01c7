// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/bottleneck_cost.h - what a launch of an inverted bottleneck does, and how
// long it and the launches that it stands for take; bounds and constants are those of
// docs/cuda-cost.md. Host code, of plans and of `ingot why`.
#pragma once
#include "kernels/cuda/gemm/cycle_rates.h"
#include "kernels/cuda/tensorcore/bottleneck_params.h"
#include "runtime/base/checked_math.h"
#include "runtime/device/gpu/kernel_set.h"

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
constexpr BottleneckInstructions kTf32Instructions = {165, 56, 26, 43, {152, 174}, 80, 27, 80, 350};
constexpr BottleneckInstructions kF16Instructions = {165, 51, 15, 46, {152, 174}, 70, 16, 80, 350};
constexpr double kProductInstructions = 5;  // of eight pixels and a step: a load and four products

inline BottleneckCost bottleneck_cost(const BottleneckParams& p, double images, bool is_f16) {
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
  c.blocks = images * p.tiles_h * p.tiles_w * p.output_blocks;
  c.products = c.blocks * slices * words;
  c.on_chip = c.blocks * (slices * chip_of_slice + patch * (is_f16 ? 1 : 3) + 2 * sums);
  c.fetched = c.blocks * (slices * weights + double(p.patch_pixels) * p.c * 4 +
                          double(p.tile_h) * p.tile_w * outputs * 32 * (p.project.y_f16 ? 2 : 4));
  // A warp keeps to its quarter of a multiprocessor: the one with the most is what counts.
  const double own_groups = double(ceil_div(p.groups, kBottleneckWarps)),
               own_cells = double(ceil_div(p.cells, kBottleneckWarps));
  const double slice =
      each.slice + steps * each.expand_step + project_steps * outputs * each.project_step +
      (steps * own_groups + project_steps * outputs * own_cells) * kProductInstructions +
      own_groups * each.group + own_cells * each.cell[p.stride - 1];
  c.instructions = c.blocks * warps *
                   (slices * slice + own_groups * (each.patch + steps * each.patch_step) +
                    own_cells * outputs * 2 * each.finish + each.block);
  return c;
}

constexpr double kTf32Cycle = 512;  // multiply-adds; a word of f16 is two of them at twice the rate

/// Of a multiprocessor: bytes of memory in a cycle, and its share of what the launch before can
/// have left in the second-level cache; of the GPUs of docs/cuda-cost.md, means where there are
/// several.
struct MemoryShare {
  int sm;
  double cycle, cached;
};
constexpr MemoryShare kMemoryShares[] = {{75, 5, 25e3},    {80, 13, 93e3},  {86, 5, 21e3},
                                         {87, 11, 62e3},   {89, 3, 160e3},  {90, 17, 95e3},
                                         {100, 29, 213e3}, {110, 9, 400e3}, {120, 5, 150e3}};
inline MemoryShare memory_share(const GpuTraits& gpu) {
  for (const MemoryShare& share : kMemoryShares)
    if (share.sm == gpu.sm) return share;
  return {0, 11, 62e3};
}

/// A launch with `work` cycles of a multiprocessor besides what it moves. `fetched`: bytes of all
/// blocks; `bytes`: operands and results; `under_way`: bytes that its resident blocks ask for.
inline double launch_cycles(const GpuTraits& gpu, double work, double fetched, double bytes,
                            double under_way) {
  const double mp = gpu.multiprocessors;
  const MemoryShare share = memory_share(gpu);
  const double memory = bytes > share.cached * mp ? bytes / share.cycle / mp : 0;
  const double bounds[] = {fetched / kL2Cycle / mp, memory, bytes / under_way * kMemoryLatency};
  for (const double bound : bounds) work = bound > work ? bound : work;
  return (gpu.sm >= 90 ? kEarlyGap : kGap) + kFill + kMemoryLatency + work;
}

inline double bottleneck_cycles(const GpuTraits& gpu, const BottleneckParams& p,
                                const BottleneckCost& c, double bytes) {
  const double mp = gpu.multiprocessors;
  const double most = double(ceil_div(int64_t(c.blocks), int64_t(mp))) / c.blocks;
  double work = 0;
  const double bounds[] = {c.products * most / kTf32Cycle, c.on_chip * most / kChipCycle,
                           c.instructions * most / kIssueCycle};
  for (const double bound : bounds) work = bound > work ? bound : work;
  constexpr double kResident = 3;
  const double blocks = c.blocks < kResident * mp ? c.blocks : kResident * mp;
  return launch_cycles(gpu, work, c.fetched * most * mp, bytes,
                       blocks * p.patch_pixels * double(p.c) * 4);
}

/// The three stages as launches of their own.
struct StagedBottleneck {
  double pixels, inner;       // of x and expanded; of y
  double c, expanded, o;      // channels
  double element, y_element;  // bytes of x, of what lies between and of weights; of y
  double residual_element;    // 0: none
  bool joins_pointwise;       // window and project are one launch in f32
};
inline double staged_cycles(const GpuTraits& gpu, const StagedBottleneck& s) {
  const double mp = gpu.multiprocessors, size = s.element;
  const auto product = [&](double m, double o, double k, double stored, double residual) {
    constexpr double kTileM = 128, kTileO = 64, kResident = 3, kInFlight = 36 << 10;
    const double blocks = double(ceil_div(int64_t(m), int64_t(kTileM)) *
                                 ceil_div(int64_t(o), int64_t(kTileO))),
                 resident = blocks < kResident * mp ? blocks : kResident * mp;
    return launch_cycles(gpu, 0, blocks * (k * (kTileM + kTileO) * size + kTileM * kTileO * stored),
                         m * (k * size + o * (stored + residual)), resident * kInFlight);
  };
  constexpr double kResident = 12, kInFlight = 2 << 10;  // blocks of windows: 16 bytes a thread
  const double expand = product(s.pixels, s.expanded, s.c, size, 0);
  const double channels = s.inner * s.expanded, threads = channels / 16 / 128;
  const double under_way = (threads < kResident * mp ? threads : kResident * mp) * kInFlight;
  if (s.joins_pointwise) {
    constexpr double kSpeed = 128 * 0.8;  // multiply-adds of CUDA cores, as of the narrow tile
    const double bytes =
        s.pixels * s.expanded * size + s.inner * s.o * (s.y_element + s.residual_element);
    const double sums = channels * (double(round_up(int64_t(s.o), 32)) + 9) / kSpeed / mp;
    return expand + launch_cycles(gpu, sums, bytes, bytes, under_way);
  }
  // a window's nine weights and six columns of its three rows for four pixels
  const double on_chip = channels * (9 * 4 + 3 * 6 * size) / 4 / kChipCycle / mp;
  const double window = (s.pixels + s.inner) * s.expanded * size;
  return expand + launch_cycles(gpu, on_chip, window, window, under_way) +
         product(s.inner, s.o, s.expanded, s.y_element, s.residual_element);
}

}  // namespace ingot::cuda
