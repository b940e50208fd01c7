// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/gpu.cpp - facts, contexts, errors.
#include "runtime/device/cuda/gpu.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "runtime/device/cuda/modules.h"

namespace ingot::cuda {

const char* const kGpuNames[kMaxGpus] = {
    "cuda:0", "cuda:1", "cuda:2",  "cuda:3",  "cuda:4",  "cuda:5",  "cuda:6",  "cuda:7",
    "cuda:8", "cuda:9", "cuda:10", "cuda:11", "cuda:12", "cuda:13", "cuda:14", "cuda:15"};

namespace {

/// A context in use.
struct Shared {
  int ordinal;
  DeviceId id;
  Context context;
  bool is_primary;
  uint32_t references;  // 0: free
};
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
Shared shared[kMaxContexts];
GpuFacts facts[kMaxGpus];
bool has_facts[kMaxGpus];

class Locked {
 public:
  Locked() { pthread_mutex_lock(&lock); }
  ~Locked() { pthread_mutex_unlock(&lock); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

/// Attributes of one GPU. The first that the driver refuses is remembered; it and all after it are
/// 0.
struct Attributes {
  DeviceId device = 0;
  Result refused = 0;
  int get(int which) {
    int value = 0;
    if (!refused) refused = driver().cuDeviceGetAttribute(&value, which, device);
    return refused ? 0 : value;
  }
};

bool read_facts(int ordinal, GpuFacts* to) {
  Attributes of;
  size_t total = 0;
  of.refused = driver().cuDeviceGet(&of.device, ordinal);
  if (!of.refused) of.refused = driver().cuDeviceGetName(to->name, int(sizeof to->name), of.device);
  if (!of.refused) of.refused = driver().cuDeviceTotalMem_v2(&total, of.device);
  to->sm = of.get(kAttributeMajor) * 10 + of.get(kAttributeMinor);
  to->multiprocessors = of.get(kAttributeMultiprocessors);
  to->is_integrated = of.get(kAttributeIntegrated) != 0;
  to->shared_bytes = uint32_t(of.get(kAttributeSharedPerBlockOptin));
  const bool is_unified = of.get(kAttributeUnifiedAddressing) != 0;
  const int compute_mode = of.get(kAttributeComputeMode);
  to->is_exclusive = compute_mode == kComputeModeExclusive;
  if (of.refused) {
    to->problem = "device: the CUDA driver does not describe it";
    to->hint = "`ingot doctor` says more";
    return false;
  }
  to->total_bytes = total;
  if (to->shared_bytes < (48u << 10)) to->shared_bytes = 48u << 10;
  to->has_decider = has_kernel(to->sm, driver().version, ingot_cuda_kernel_set.decide);
  if (!is_unified) {
    to->problem = "device: the GPU has no unified addressing";
    to->hint = "use cpu";
  } else if (compute_mode == kComputeModeProhibited) {
    to->problem = "device: the GPU's compute mode prohibits it";
    to->hint = "as root: nvidia-smi -c DEFAULT";
  } else if (has_modules(to->sm, INT_MAX) && !has_modules(to->sm, driver().version)) {
    to->problem =
        "device: the driver is older than the compiler of this build's device code for the GPU";
    to->hint =
        "update the driver to 580 (CUDA 13) or newer, or build with an older nvcc; `ingot doctor` "
        "says which";
  } else if (!has_modules(to->sm, INT_MAX)) {
    to->problem = has_any_modules()
                      ? "device: no device code for this GPU's architecture in this build"
                      : "device: built without device code";
    to->hint =
        "build with nvcc (./dev cuda-toolkit 13.0) and -DINGOT_CUDA_ARCHITECTURES naming it; "
        "`ingot doctor` lists both";
  }
  return true;
}

/// The context of Device::stream, which is to be one of this GPU.
Status find_callers_context(const Device& device, DeviceId id, Context* out, ErrorDetail* detail) {
  if (reinterpret_cast<uintptr_t>(device.stream) == kStreamPerThread)
    return fail_on(
        device, detail, Code::kInvalidArgument,
        "options.gpu_stream: CU_STREAM_PER_THREAD is another stream on the thread that waits");
  if (const Result result = driver().cuStreamGetCtx(static_cast<Stream>(device.stream), out))
    return fail_with(device, detail, result, Code::kInvalidArgument);
  DeviceId found = -1;
  Result result;
  {
    const Current current(*out);
    result = current.refused();
    if (!result) result = driver().cuCtxGetDevice(&found);
  }
  if (result) return fail_with(device, detail, result, Code::kInvalidArgument);
  if (found == id) return {};
  return fail_on(device, detail, Code::kInvalidArgument,
                 "options.gpu_stream: of a context on another GPU", uint64_t(id), uint64_t(found));
}

}  // namespace

const GpuFacts& gpu_facts(int ordinal) {
  const Locked hold;
  if (!has_facts[ordinal]) {
    facts[ordinal] = {};
    has_facts[ordinal] = read_facts(ordinal, &facts[ordinal]);  // an error of the driver may pass
  }
  return facts[ordinal];
}

const char* busy_reason(int ordinal) {
  // by ordinal: a context takes a tenth of a second to make
  static std::atomic<uint32_t> had_once{0};
  const uint32_t own_bit = 1u << ordinal;
  if (!gpu_facts(ordinal).is_exclusive || (had_once.load(std::memory_order_relaxed) & own_bit))
    return nullptr;
  DeviceId id = 0;
  Context context = nullptr;
  Result result = driver().cuDeviceGet(&id, ordinal);
  if (!result) result = driver().cuDevicePrimaryCtxRetain(&context, id);
  if (!result) {
    driver().cuDevicePrimaryCtxRelease_v2(id);
    had_once.fetch_or(own_bit, std::memory_order_relaxed);
  }
  return result
             ? "device: the GPU is for one process at a time (its compute mode), and another has it"
             : nullptr;
}

GpuTraits traits_of(const GpuFacts& f) {
  GpuTraits traits;
  traits.sm = f.sm;
  traits.multiprocessors = f.multiprocessors > 0 ? f.multiprocessors : 1;
  traits.shared_bytes = f.shared_bytes;
  return traits;
}

Status hold_gpu(Device& device, Gpu* out, ErrorDetail* detail) {
  if (is_forked()) {
    const Status status = fail_on(device, detail, Code::kWrongState, kForked);
    if (detail) detail->hint = kForkedHint;
    return status;
  }
  const Locked hold;
  Shared wanted = {device.ordinal, 0, nullptr, !device.stream, 1};
  if (const Result result = driver().cuDeviceGet(&wanted.id, device.ordinal))
    return fail_with(device, detail, result, Code::kNoSuchDevice);
  if (device.stream) INGOT_TRY(find_callers_context(device, wanted.id, &wanted.context, detail));
  int slot = -1;
  for (int i = 0; i < kMaxContexts; i++) {
    Shared& own = shared[i];
    if (!own.references) {
      if (slot < 0) slot = i;
    } else if (wanted.is_primary ? own.is_primary && own.ordinal == device.ordinal
                                 : own.context == wanted.context) {
      own.references++;
      *out = {device.ordinal, i, own.context};
      return {};
    }
  }
  if (slot < 0)
    return fail_on(device, detail, Code::kLimitExceeded, "device: contexts in use", kMaxContexts);
  if (wanted.is_primary)
    if (const Result result = driver().cuDevicePrimaryCtxRetain(&wanted.context, wanted.id))
      return fail_with(device, detail, result, Code::kNoSuchDevice);
  shared[slot] = wanted;
  *out = {device.ordinal, slot, wanted.context};
  return {};
}

void drop_gpu(const Gpu& gpu) {
  if (is_forked()) return;  // whoever held the lock is not here
  const Locked hold;
  Shared& own = shared[gpu.slot];
  if (--own.references) return;
  {
    const Current current(own.context);
    unload_modules(gpu.slot);
  }
  if (own.is_primary) driver().cuDevicePrimaryCtxRelease_v2(own.id);
}

Status find_function(const Gpu& gpu, Device& device, uint16_t kernel, Function* out,
                     ErrorDetail* detail) {
  const Locked hold;
  return load_function(gpu.slot, facts[gpu.ordinal].sm, device, kernel, out, detail);
}

Result allow_shared(Function function, uint32_t bytes) {
  if (bytes <= (48u << 10)) return 0;  // always allowed
  const Locked hold;                   // of two that raise it the one with more stays
  int allowed = 0;
  const Result result = driver().cuFuncGetAttribute(&allowed, kFunctionMaxDynamicShared, function);
  if (result || int64_t(bytes) <= allowed) return result;
  return driver().cuFuncSetAttribute(function, kFunctionMaxDynamicShared, int(bytes));
}

uint64_t free_bytes(const Gpu& gpu, uint64_t refused) {
  size_t free = 0, total = 0;
  if (driver().cuMemGetInfo_v2(&free, &total)) return 0;
  if (!gpu_facts(gpu.ordinal).is_integrated) return free;
  // The driver counts what is free, not what caches would give back.
  FILE* file = fopen("/proc/meminfo", "re");
  if (!file) return free;
  char line[128];
  unsigned long long kib = 0;
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) break;
  fclose(file);
  return kib * 1024 > free && kib * 1024 < refused ? kib * 1024 : free;
}

Status fail_with(const Device& device, ErrorDetail* detail, Result result, Code code) {
  if (result == kResultOutOfMemory) code = Code::kOutOfMemory;
  const char* name = nullptr;
  if (driver().cuGetErrorName(result, &name) || !name) name = "CUDA: an error without a name";
  const Status status = fail_on(device, detail, code, name);
  if (!detail) return status;
  if (code >= Code::kNoSuchDevice && code <= Code::kDeviceFault) detail->have = uint64_t(result);
  if (code == Code::kDeviceLost)
    detail->hint =
        "end every session on this GPU, then make them again; if it happens again: `ingot doctor`";
  return status;
}

}  // namespace ingot::cuda
