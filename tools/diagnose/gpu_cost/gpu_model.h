// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/gpu_cost/gpu_model.h - the GPUs that costs are predicted for, as numbers that
// others published. gpu_model.cpp has the source of each.
// Owns     nothing: constant data.
// Threads  any.
#pragma once
#include <cstdint>
#include <string>

#include "runtime/device/gpu/kernel_set.h"

namespace ingot::gpu_cost {

/// A GPU at its highest stated clock.
struct GpuModel {
  const char* key;   // behind "cuda:": "h200"
  const char* name;  // as its maker calls it
  int sm;            // 90: compute capability 9.0
  int multiprocessors;
  double clock_ghz;
  double memory_gbytes;  // of its memory, a second
  double l2_mbytes;
  int fma_cycle;     // f32 multiply-adds of a multiprocessor in a cycle
  int f16_cycle;     // of tensor cores, f16 with sums in f32; tf32 half of it, s8 twice
  double mma_share;  // of f16_cycle that mma.sync reaches; the rest asks for other instructions
};

/// What an architecture gives a multiprocessor (CUDA C++ Programming Guide, Compute Capabilities).
struct Residency {
  int threads, blocks;
  uint32_t shared_bytes;
};
Residency residency_of(int sm);

/// The first of an architecture stands for it: "sm_90".
Span<const GpuModel> gpu_models();
/// By "h200" or "sm_90"; null: none.
const GpuModel* find_gpu_model(const std::string& name);
/// A GPU that is here: its own architecture and number of multiprocessors, the rest that of the
/// table's GPU of that architecture (of the newest where there is none) with the nearest number.
GpuModel gpu_model_like(int sm, int multiprocessors);
/// "sm_72 (xavier), sm_75 (t4), ...", for messages.
std::string known_gpu_models();

/// How much longer networks took on it than predicted: a geometric mean over `networks` of a report
/// of hardware (tests/figures/gpu_factors.py).
struct MeasuredFactor {
  const char *key, *precision;
  double factor;
  int networks;
};
/// Null: nothing was measured on it.
const MeasuredFactor* measured_factor(const GpuModel& gpu, const std::string& precision);

/// What plans of kernels ask of a device.
GpuTraits traits_of(const GpuModel& gpu);

}  // namespace ingot::gpu_cost
