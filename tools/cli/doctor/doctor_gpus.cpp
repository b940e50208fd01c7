// SPDX-License-Identifier: Apache-2.0
// tools/cli/doctor/doctor_gpus.cpp - the driver, each GPU, and which device code of this build fits
// it.
#include <algorithm>

#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/device/cuda/image_reader.h"
#include "tools/cli/doctor/doctor.h"

namespace ingot::cli {
namespace {

std::string text_of(const char* text) {
  const std::string all = text ? text : "";
  return all.rfind("device: ", 0) == 0 ? all.substr(8) : all;
}

std::string version_of(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

/// What the compilers can be asked for (cmake/IngotCuda.cmake; a test compares).
constexpr int kArchitectures[] = {72, 75, 80, 86, 87, 89, 90, 100, 110, 120};

/// How to get device code for a GPU that has none.
std::string advice_for(int sm) {
  int best = 0;
  for (const int built : kArchitectures)
    if (cuda::image_runs_on(built, sm)) best = built;
  if (!best && sm < 72)
    return "use cpu: device code can be made for compute capability 7.2 (Xavier), 7.5 (Turing) and "
           "later";
  if (!best) return "use cpu: this version cannot make device code for it; a newer one may";
  // as cmake/IngotCuda.cmake has it: what CUDA 12 makes runs with drivers of CUDA 12 and later
  const char* const toolkit = best == 72 || best == 87 ? "11.8" : best <= 90 ? "12.4" : "13.0";
  return std::string("./dev cuda-toolkit ") + toolkit +
         ", then build with -DINGOT_CUDA=ON -DINGOT_CUDA_ARCHITECTURES=" + std::to_string(best) +
         (best == sm ? "" : ", which runs there too");
}

int64_t ask_free_bytes(int ordinal) {
  Device device{nullptr, cuda::kGpuNames[ordinal], "", ordinal};
  cuda::Gpu gpu;
  if (!cuda::hold_gpu(device, &gpu, nullptr).ok()) return 0;
  int64_t free_bytes;
  {
    const cuda::Current current(gpu.context);
    free_bytes = current.refused() ? 0 : int64_t(cuda::free_bytes(gpu));
  }
  cuda::drop_gpu(gpu);
  return free_bytes;
}

/// What graphs on it do, and why not more.
std::string graphs_on(int ordinal) {
  const cuda::Driver& d = cuda::driver();
  const cuda::GpuFacts& facts = cuda::gpu_facts(ordinal);
  if (d.graphs == cuda::GraphUse::kNone) return "none: kernel by kernel (INGOT_CUDA_GRAPHS)";
  std::string out;
  if (d.graphs != cuda::GraphUse::kFull)
    out = "no early starts (INGOT_CUDA_GRAPHS)";
  else if (facts.sm && facts.sm < 90)
    out = "no early starts (compute capability 9.0 has them)";
  else
    out = d.version >= cuda::kEarlyLaunchDriver && d.cuGraphAddDependencies_v2
              ? "early starts"
              : "no early starts (a driver of CUDA 12.3 has them)";
  out += d.graphs >= cuda::GraphUse::kSerial ? ", one chain (INGOT_CUDA_GRAPHS)" : ", branches";
  Device device{nullptr, cuda::kGpuNames[ordinal], "", ordinal};
  const char* const why = cuda::kCudaDevice.why_host_decides(device);
  return out + (why ? std::string(", Ifs and Loops by the CPU (") + why + ")"
                    : std::string(", Ifs and Loops by the GPU"));
}

GpuReport examine(int ordinal) {
  const cuda::GpuFacts& facts = cuda::gpu_facts(ordinal);
  GpuReport out;
  out.name = cuda::kGpuNames[ordinal];
  out.product = facts.name;
  out.sm = facts.sm;
  out.multiprocessors = facts.multiprocessors;
  out.is_integrated = facts.is_integrated;
  out.total_bytes = int64_t(facts.total_bytes);
  out.problem = text_of(facts.problem);
  out.fix = text_of(facts.hint);
  if (const char* const busy = facts.problem ? nullptr : cuda::busy_reason(ordinal)) {
    out.problem = text_of(busy);
    out.fix = cuda::kBusyHint;
  }
  out.graphs = graphs_on(ordinal);
  cuda::ImageEntry entry;
  const Span<const uint8_t> images = ingot_cuda_kernel_set.images();
  const char* const unit = ingot_cuda_kernel_set.units[0];
  if (cuda::find_image(images, unit, facts.sm, &entry, cuda::driver().version) ||
      cuda::find_image(images, unit, facts.sm, &entry)) {
    out.code_sm = entry.sm;
    out.code_compiler = entry.compiler;
  }
  // Of memory that is shared with the processor, what the system can make free may be more than the
  // driver counts as the GPU's.
  if (out.problem.empty()) out.free_bytes = std::min(ask_free_bytes(ordinal), out.total_bytes);
  return out;
}

}  // namespace

GpusReport examine_gpus() {
  GpusReport out;
  cuda::ImageEntry entry;
  const char* const unit = ingot_cuda_kernel_set.units[0];
  for (uint32_t i = 0; cuda::image_at(ingot_cuda_kernel_set.images(), i, &entry); i++)
    if (entry.sm && std::string(entry.unit) == unit)
      out.device_code.push_back(std::to_string(entry.sm) + " (CUDA " + version_of(entry.compiler) +
                                ")");
  const cuda::Driver& driver = cuda::driver();
  out.driver_version = driver.version;
  out.library = text_of(driver.library);
  out.graphs = cuda::kGraphUseNames[int(driver.graphs)];
  out.problem = text_of(driver.problem);
  out.fix = text_of(driver.hint);
  for (int i = 0; out.problem.empty() && i < driver.device_count && i < cuda::kMaxGpus; i++)
    out.gpus.push_back(examine(i));
  return out;
}

std::vector<Finding> gpu_findings(const MachineFacts& facts, const GpusReport& report) {
  std::vector<Finding> out;
  const bool expects_gpu =
      facts.has_gpu_nodes || !facts.l4t.empty() || !facts.kernel_driver.empty();
  if (!report.problem.empty() && expects_gpu)
    out.push_back({true, "no GPU can be used: " + report.problem, report.fix});
  if (report.problem.empty() && !report.gpus.empty() && report.graphs != "full")
    out.push_back({false,
                   "INGOT_CUDA_GRAPHS or INGOT_CUDA_SERIAL is set: graphs are '" + report.graphs +
                       "', which costs time",
                   "unset it where the driver does not need it"});
  for (const GpuReport& gpu : report.gpus) {
    const bool lacks_code = gpu.sm && !gpu.code_sm;
    const bool is_newer = gpu.code_compiler >= 13000 && report.driver_version < 13000;
    if (!gpu.problem.empty() && !lacks_code && !is_newer)
      out.push_back({true, gpu.name + " cannot be used: " + gpu.problem, gpu.fix});
    if (lacks_code)
      out.push_back({true,
                     "this build has no device code for " + gpu.name + ", compute capability " +
                         std::to_string(gpu.sm / 10) + "." + std::to_string(gpu.sm % 10),
                     advice_for(gpu.sm)});
    if (is_newer)  // the ABI of modules changed with CUDA 13
      out.push_back({true,
                     "the driver is of CUDA " + version_of(report.driver_version) +
                         ", and the device code for " + gpu.name + " was compiled by CUDA " +
                         version_of(gpu.code_compiler) +
                         ", whose ABI drivers before 13.0 do not know",
                     facts.l4t.empty() ? "update the driver to 580 or newer, or build with an nvcc "
                                         "of CUDA 12: ./dev cuda-toolkit 12.4, then "
                                         "-DINGOT_NVCC=build/cuda/12.4/bin/nvcc"
                                       : "build with CUDA 11.8: ./dev cuda-toolkit 11.8, then "
                                         "-DINGOT_NVCC=build/cuda/11.8/bin/nvcc"});
    if (gpu.free_bytes && gpu.free_bytes * 10 < gpu.total_bytes)
      out.push_back({false,
                     gpu.name + ": less than a tenth of its memory is free (" +
                         std::to_string(gpu.free_bytes >> 20) + " of " +
                         std::to_string(gpu.total_bytes >> 20) + " MiB)",
                     "end what holds it (nvidia-smi; on a Jetson: tegrastats)"});
  }
  return out;
}

}  // namespace ingot::cli
