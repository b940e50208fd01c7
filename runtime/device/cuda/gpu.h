// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/gpu.h - one GPU as this process uses it: its context, the modules of device
// code that programs needed so far. Everything comes with the first session and goes with the last
// one (or the last weights): nothing stays in the GPU's memory behind.
// Owns     the primary context's reference, modules.
// Threads  any; one lock.
// Errors   kNoSuchDevice kOutOfMemory kDeviceLost, with the driver's name of the error in
//          ErrorDetail.field.
#pragma once
#include "runtime/device/cuda/driver.h"
#include "runtime/device/device.h"
#include "runtime/device/gpu/kernel_set.h"

/// The kernels that the application linked (kernels/cuda/kernel_set.cpp).
extern "C" const ingot::GpuKernelSet ingot_cuda_kernel_set;

namespace ingot::cuda {

constexpr int kMaxGpus = 16;
extern const char* const kGpuNames[kMaxGpus];  // "cuda:0"

/// What is known of a GPU without a context; static once asked.
struct GpuFacts {
  char name[96];
  int sm;  // 87
  int multiprocessors;
  bool is_integrated;
  uint64_t total_bytes;
  uint32_t shared_bytes;
  bool is_exclusive;    // for one process at a time
  bool has_decider;     // device code for conditional nodes of graphs
  const char* problem;  // null: usable
  const char* hint;
};
/// @pre driver().problem is null, 0 <= ordinal < device_count
const GpuFacts& gpu_facts(int ordinal);
GpuTraits traits_of(const GpuFacts& facts);
/// Why a GPU that can be used cannot be now: it is exclusive, and another process has it. Null:
/// nothing says so. Asks for a context, of exclusive ones alone, until one was had.
const char* busy_reason(int ordinal);
constexpr const char* kBusyHint =
    "end the other process (nvidia-smi shows it), or as root: nvidia-smi -c DEFAULT";

/// A reference to a GPU in use. The context is the primary one, or the caller's.
struct Gpu {
  int ordinal;
  int slot;  // among the contexts that are in use
  Context context;
};
constexpr int kMaxContexts = 32;
/// In the context of Device::stream where that is not null. kInvalidArgument: a stream of another
/// GPU.
Status hold_gpu(Device& device, Gpu* out, ErrorDetail* detail);
void drop_gpu(const Gpu& gpu);

/// A kernel's function in the GPU's context; its module is loaded when it is the first. kNoKernel:
/// this build has no device code for the architecture. @pre the context is current
Status find_function(const Gpu& gpu, Device& device, uint16_t kernel, Function* out,
                     ErrorDetail* detail);

/// Lets launches of it ask for that much dynamic shared memory; what it was allowed before stays.
/// @pre the context is current
Result allow_shared(Function function, uint32_t bytes);

/// Makes the context current while it lives. Where the driver refuses, what the caller had current
/// stays: nothing may be made or launched then, since it would be in that context.
class Current {
 public:
  explicit Current(Context context) : refused_(driver().cuCtxPushCurrent_v2(context)) {}
  ~Current() {
    Context own;
    if (!refused_) driver().cuCtxPopCurrent_v2(&own);
  }
  /// 0, or the driver's reason.
  Result refused() const { return refused_; }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  Result refused_;
};

/// Free bytes as far as an allocation may count on them: of a GPU that shares the CPU's memory,
/// what the system can make free. Below `refused`, which the driver would not give.
uint64_t free_bytes(const Gpu& gpu, uint64_t refused = UINT64_MAX);

/// The error of a call, with the driver's name for it; `code` unless the result says something
/// sharper.
Status fail_with(const Device& device, ErrorDetail* detail, Result result, Code code);

}  // namespace ingot::cuda
