// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/gemm/cycle_rates.h - what the cycles of a launch are counted with, in plans that
// choose between kernels and in `ingot why`: docs/cuda-cost.md. Nothing of it was measured here.
#pragma once

namespace ingot::cuda {

// Cycles. Graph launches of dependent kernels were 0.5 us apart beyond the kernels on a V100 at
// 1.53 GHz (NVIDIA, Getting Started with CUDA Graphs); a load of memory that misses all caches
// takes 470 to 570 on A100 and H100 (arXiv:2208.11174, arXiv:2402.13499); filling a pipeline of
// k-tiles, assumed.
constexpr double kGap = 765, kMemoryLatency = 550, kFill = 600;
// What is left of the gap where a kernel is there already and waits for the end of the one before:
// assumed, a word that travels through the second-level cache.
constexpr double kEarlyGap = 270;
constexpr double kIssueCycle = 4;                  // instructions of warps, one of each sub-core
constexpr double kChipCycle = 128, kL2Cycle = 48;  // bytes a cycle of a multiprocessor

}  // namespace ingot::cuda
