// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/modules.cpp - unpacks a module when the first of its kernels is asked for.
#include "runtime/device/cuda/modules.h"

#include "runtime/base/os/memory.h"
#include "runtime/device/cuda/image_reader.h"

namespace ingot::cuda {
namespace {

constexpr size_t kMaxUnits = 16;
Module modules[kMaxContexts][kMaxUnits];

/// What is wrong with the code itself, or with the GPU.
Code code_of(Result result) {
  return result == kInvalidImage || result == kNoBinary || result == kNotFoundResult
             ? Code::kNoKernel
             : Code::kDeviceLost;
}

Status load_module(int slot, int sm, Device& device, uint16_t unit, ErrorDetail* detail) {
  ImageEntry entry;
  if (!find_image(ingot_cuda_kernel_set.images(), ingot_cuda_kernel_set.units[unit], sm, &entry,
                  driver().version))
    return fail_on(device, detail, Code::kNoKernel,
                   "device: no device code for this GPU's architecture in this build");
  uint8_t* bytes = static_cast<uint8_t*>(os::heap_allocate(entry.stream_bytes, 64));
  if (!bytes)
    return fail_on(device, detail, Code::kOutOfMemory, "device code, unpacked", entry.stream_bytes);
  Status status;
  const uint8_t* module = unpack_image(entry, bytes);
  if (!module)
    status = fail_on(device, detail, Code::kInternal,
                     "device: the device code in this library is damaged");
  else if (const Result result = driver().cuModuleLoadData(&modules[slot][unit], module)) {
    modules[slot][unit] = nullptr;
    status = fail_with(device, detail, result, code_of(result));
  }
  os::heap_release(bytes);
  return status;
}

}  // namespace

bool has_modules(int sm, int driver) {
  ImageEntry entry;
  return find_image(ingot_cuda_kernel_set.images(), ingot_cuda_kernel_set.units[0], sm, &entry,
                    driver);
}
bool has_kernel(int sm, int driver, uint16_t kernel) {
  ImageEntry entry;
  const char* const unit = ingot_cuda_kernel_set.units[ingot_cuda_kernel_set.kernels[kernel].unit];
  return find_image(ingot_cuda_kernel_set.images(), unit, sm, &entry, driver);
}
bool has_any_modules() {
  ImageEntry entry;
  const Span<const uint8_t> all = ingot_cuda_kernel_set.images();
  for (uint32_t i = 0; image_at(all, i, &entry); i++)
    if (entry.sm) return true;
  return false;
}

Status load_function(int slot, int sm, Device& device, uint16_t kernel, Function* out,
                     ErrorDetail* detail) {
  const GpuKernel& row = ingot_cuda_kernel_set.kernels[kernel];
  if (row.unit >= kMaxUnits)
    return fail_on(device, detail, Code::kInternal, "device: units of device code", kMaxUnits,
                   row.unit);
  if (!modules[slot][row.unit]) INGOT_TRY(load_module(slot, sm, device, row.unit, detail));
  const Result result = driver().cuModuleGetFunction(out, modules[slot][row.unit], row.name);
  return result ? fail_with(device, detail, result, code_of(result)) : Status();
}

void unload_modules(int slot) {
  for (Module& module : modules[slot]) {
    if (module) driver().cuModuleUnload(module);
    module = nullptr;
  }
}

}  // namespace ingot::cuda
