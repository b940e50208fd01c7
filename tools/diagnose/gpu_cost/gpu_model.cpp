// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/gpu_cost/gpu_model.h"

#include <cstdlib>

namespace ingot::gpu_cost {
namespace {

// mma_share: Hopper's and data center Blackwell's whole rate needs wgmma and tcgen05; mma.sync was
// measured at 0.63 of it on H800 (arXiv:2402.13499, table VII) and is taken as the half on the
// latter, where nothing was found. Above each GPU: who published its numbers.
// clang-format off
constexpr GpuModel kModels[] = {
    // data sheet; Volta white paper
    {"xavier",      "Jetson AGX Xavier 32GB",    72,   8, 1.377,  136.5,   0.5,  64,  512, 1.0},
    // data sheet (65 TFLOPS); Turing white paper
    {"t4",          "NVIDIA T4",                 75,  40, 1.590,  320.0,   4.0,  64,  512, 1.0},
    // data sheet (312 TFLOPS); Ampere white paper
    {"a100",        "NVIDIA A100 80GB SXM",      80, 108, 1.410, 2039.0,  40.0,  64, 1024, 1.0},
    // data sheet (125 TFLOPS); GA102 white paper
    {"a10",         "NVIDIA A10",                86,  72, 1.695,  600.0,   6.0, 128,  512, 1.0},
    // data sheet, checked again; L2 as deviceQuery prints it
    {"orin-nano",   "Jetson Orin Nano 8GB Super", 87,  8, 1.020,  102.0,   2.0, 128, 1024, 1.0},
    // AGX Orin technical brief
    {"orin-agx",    "Jetson AGX Orin 64GB",      87,  16, 1.300,  204.8,   4.0, 128, 1024, 1.0},
    // data sheet (121 TFLOPS); Ada white paper
    {"l4",          "NVIDIA L4",                 89,  58, 2.040,  300.0,  48.0, 128,  512, 1.0},
    // Ada white paper (165 TFLOPS)
    {"rtx4090",     "GeForce RTX 4090",          89, 128, 2.520, 1008.0,  72.0, 128,  256, 1.0},
    // specifications page; Ada white paper
    {"rtx4060",     "GeForce RTX 4060",          89,  24, 2.460,  272.0,  24.0, 128,  256, 1.0},
    // data sheet (989 TFLOPS); Hopper white paper
    {"h200",        "NVIDIA H200 SXM",           90, 132, 1.830, 4800.0,  50.0, 128, 2048, 0.63},
    // data sheet (989 TFLOPS), checked again; Hopper white paper
    {"h100",        "NVIDIA H100 80GB SXM",      90, 132, 1.830, 3350.0,  50.0, 128, 2048, 0.63},
    // data sheet (2250 TFLOPS)
    {"b200",        "NVIDIA B200",              100, 148, 1.850, 8000.0, 126.0, 128, 4096, 0.5},
    // data sheet; multiprocessors and L2 as the driver says (forum, 356355)
    {"thor",        "Jetson AGX Thor T5000",    110,  20, 1.575,  273.0,  32.0, 128, 4096, 0.5},
    // RTX Blackwell white paper (209 TFLOPS)
    {"rtx5090",     "GeForce RTX 5090",         120, 170, 2.407, 1792.0,  96.0, 128,  256, 1.0},
    // specifications page
    {"rtx5060ti",   "GeForce RTX 5060 Ti",      120,  36, 2.572,  448.0,  32.0, 128,  256, 1.0},
};

constexpr MeasuredFactor kMeasured[] = {
#include "tools/diagnose/gpu_cost/measured.inl"
    {"", "", 0, 0},
};
// clang-format on

}  // namespace

Span<const GpuModel> gpu_models() { return Span<const GpuModel>(kModels); }

Residency residency_of(int sm) {
  switch (sm) {
    case 72: return {2048, 32, 96 << 10};
    case 75: return {1024, 16, 64 << 10};
    case 80: return {2048, 32, 164 << 10};
    case 86: return {1536, 16, 100 << 10};
    case 87: return {1536, 16, 164 << 10};
    case 89: return {1536, 24, 100 << 10};
    case 120: return {1536, 24, 100 << 10};
    case 110: return {1536, 24, 228 << 10};
    default: return {2048, 32, 228 << 10};
  }
}

const GpuModel* find_gpu_model(const std::string& name) {
  for (const GpuModel& gpu : kModels)
    if (name == gpu.key || name == "sm_" + std::to_string(gpu.sm)) return &gpu;
  return nullptr;
}

GpuModel gpu_model_like(int sm, int multiprocessors) {
  const GpuModel* nearest = nullptr;
  for (const GpuModel& gpu : kModels)
    if (gpu.sm == sm && (!nearest || std::abs(gpu.multiprocessors - multiprocessors) <
                                         std::abs(nearest->multiprocessors - multiprocessors)))
      nearest = &gpu;
  GpuModel made = nearest ? *nearest : gpu_models()[gpu_models().size - 1];
  made.sm = sm, made.multiprocessors = multiprocessors;
  return made;
}

const MeasuredFactor* measured_factor(const GpuModel& gpu, const std::string& precision) {
  for (const MeasuredFactor& row : kMeasured)
    if (row.networks && row.key == std::string(gpu.key) && row.precision == precision) return &row;
  return nullptr;
}

std::string known_gpu_models() {
  std::string text;
  int sm = 0;
  for (const GpuModel& gpu : kModels) {
    if (gpu.sm == sm) {
      text.insert(text.size() - 1, std::string(", ") + gpu.key);
      continue;
    }
    text += (sm ? ", sm_" : "sm_") + std::to_string(gpu.sm) + " (" + gpu.key + ")";
    sm = gpu.sm;
  }
  return text;
}

GpuTraits traits_of(const GpuModel& gpu) {
  GpuTraits traits;
  traits.sm = gpu.sm;
  traits.multiprocessors = gpu.multiprocessors;
  traits.shared_bytes = residency_of(gpu.sm).shared_bytes - (1u << 10);
  return traits;
}

}  // namespace ingot::gpu_cost
