// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/backend.cpp - devices by name: "cuda" is the first, "cuda:1" the second.
#include <string.h>

#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/gpu.h"

namespace ingot::cuda {
namespace {

Status refuse(const char* name, const char* problem, const char* hint, uint64_t need, uint64_t have,
              ErrorDetail* detail, Code code = Code::kNoSuchDevice) {
  const Status status = fail(detail, code, problem, need, have);
  if (!detail) return status;
  strncpy(detail->name, name, sizeof detail->name - 1);
  detail->hint = hint;
  return status;
}

/// After "cuda": nothing, or ":" and a number. -1: neither.
int ordinal_of(const char* rest) {
  if (!*rest) return 0;
  if (*rest != ':' || !rest[1]) return -1;
  int ordinal = 0;
  for (const char* c = rest + 1; *c; c++) {
    if (*c < '0' || *c > '9' || ordinal > 9999) return -1;
    ordinal = ordinal * 10 + (*c - '0');
  }
  return ordinal;
}

Status find(const char* name, Device* out, ErrorDetail* detail) {
  const int ordinal = ordinal_of(name + strlen("cuda"));
  if (ordinal < 0)
    return refuse(name, "device: not a name of one", "cuda is the first GPU, cuda:1 the second", 0,
                  0, detail);
  const Driver& d = driver();
  if (d.problem) return refuse(name, d.problem, d.hint, 0, 0, detail);
  if (is_forked()) return refuse(name, kForked, kForkedHint, 0, 0, detail, Code::kWrongState);
  const int count = d.device_count < kMaxGpus ? d.device_count : kMaxGpus;
  if (ordinal >= count)
    return refuse(name, "device: more than there are",
                  "cuda:0 is the first; `ingot doctor` lists them", uint64_t(ordinal) + 1,
                  uint64_t(count), detail);
  const GpuFacts& facts = gpu_facts(ordinal);
  if (facts.problem) return refuse(name, facts.problem, facts.hint, 0, 0, detail);
  if (const char* const busy = busy_reason(ordinal))
    return refuse(name, busy, kBusyHint, 0, 0, detail);
  *out = {&kCudaDevice, kGpuNames[ordinal], "asked for", ordinal};
  return {};
}

bool find_best(Device* out, const char** why_not) {
  const Driver& d = driver();
  *why_not = !d.problem && is_forked() ? kForked : d.problem;
  const bool none = *why_not != nullptr;
  for (int i = 0; !none && i < d.device_count && i < kMaxGpus; i++) {
    const GpuFacts& facts = gpu_facts(i);
    *why_not = facts.problem ? facts.problem : busy_reason(i);
    if (*why_not) continue;
    *out = {&kCudaDevice, kGpuNames[i], "auto: the first GPU that can be used", i};
    return true;
  }
  return false;
}

bool offer(uint32_t index, DeviceOffer* out) {
  const Driver& d = driver();
  if (d.problem) {
    *out = {"cuda", false, d.problem};
    return index == 0;
  }
  if (is_forked()) {
    *out = {"cuda", false, kForked};
    return index == 0;
  }
  if (int64_t{index} >= d.device_count || index >= uint32_t(kMaxGpus)) return false;
  const GpuFacts& facts = gpu_facts(int(index));
  const char* const problem = facts.problem ? facts.problem : busy_reason(int(index));
  *out = {kGpuNames[index], !problem, problem ? problem : facts.name};
  return true;
}

}  // namespace
}  // namespace ingot::cuda

const ingot::DeviceBackend ingot_cuda_backend = {ingot::cuda::find, ingot::cuda::find_best,
                                                 ingot::cuda::offer, /*takes_stream=*/true};
