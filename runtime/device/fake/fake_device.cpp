// SPDX-License-Identifier: Apache-2.0
// runtime/device/fake/fake_device.cpp - the heap as device memory, the CPU as its processor.
#include "runtime/device/fake/fake_device.h"

#include <cstring>

#include "runtime/base/os/memory.h"
#include "runtime/device/host/step_loop.h"

namespace ingot {

const char* const kFakeNames[kFakeDevices] = {"fake:0", "fake:1"};

FakeGpu& fake_gpu(int ordinal) {
  static FakeGpu gpus[kFakeDevices];
  return gpus[ordinal];
}

void set_fake_fault(int ordinal, uint32_t n, Code code) {
  FakeGpu& gpu = fake_gpu(ordinal);
  gpu.fail_code = uint32_t(code);
  gpu.fail_at_call = n;
  if (n == 0) gpu.lost = 0;
}

namespace {

/// Counts the call, and fails it when its turn has come.
Status count_call(Device& device, ErrorDetail* detail) {
  FakeGpu& gpu = fake_gpu(device.ordinal);
  gpu.calls++;
  if (gpu.lost) return fail_on(device, detail, Code::kDeviceLost, "device: lost");
  if (!gpu.fail_at_call || --gpu.fail_at_call) return {};
  const Code code = Code(gpu.fail_code.load());
  if (code == Code::kDeviceLost) gpu.lost = 1;
  return fail_on(device, detail, code, "device: injected fault");
}

/// Whether [at, at + bytes) lies in one reservation.
bool is_mine(const Device& device, const void* at, uint64_t bytes) {
  const uintptr_t first = uintptr_t(at);
  for (const FakeGpu::Range& range : fake_gpu(device.ordinal).ranges)
    if (range.first && first >= range.first && first <= range.end && bytes <= range.end - first)
      return true;
  return false;
}
Status stray(Device& device, const char* field, ErrorDetail* detail) {
  return fail_on(device, detail, Code::kDeviceFault, field);
}

uint32_t kib(uint64_t bytes) { return uint32_t((bytes + 1023) / 1024); }

Status reserve(Device& device, uint64_t bytes, uint64_t alignment, uint8_t** out,
               ErrorDetail* detail) {
  INGOT_TRY(count_call(device, detail));
  FakeGpu& gpu = fake_gpu(device.ordinal);
  const uint64_t free_bytes = uint64_t{gpu.memory_kib - gpu.reserved_kib} * 1024;
  void* at = bytes <= free_bytes ? os::heap_allocate(bytes, alignment) : nullptr;
  if (!at) return fail_on(device, detail, Code::kOutOfMemory, "device memory", bytes, free_bytes);
  for (FakeGpu::Range& range : gpu.ranges) {
    uintptr_t none = 0;
    if (!range.first.compare_exchange_strong(none, uintptr_t(at))) continue;
    range.end = uintptr_t(at) + bytes;
    std::memset(at, kFakePattern, size_t(bytes));
    gpu.reservations++;
    gpu.reserved_kib += kib(bytes);
    *out = static_cast<uint8_t*>(at);
    return {};
  }
  os::heap_release(at);
  return fail_on(device, detail, Code::kOutOfMemory, "device: reservations", kFakeRanges + 1,
                 kFakeRanges);
}

void release(Device& device, uint8_t* at, uint64_t bytes) {
  FakeGpu& gpu = fake_gpu(device.ordinal);
  gpu.reservations--;
  gpu.reserved_kib -= kib(bytes);
  for (FakeGpu::Range& range : gpu.ranges)
    if (range.first == uintptr_t(at)) range.first = 0;
  os::heap_release(at);
}

Status upload(Device& device, uint8_t* to, const void* from, uint64_t bytes, ErrorDetail* detail) {
  INGOT_TRY(count_call(device, detail));
  if (!is_mine(device, to, bytes))
    return stray(device, "device: upload to memory that is not its own", detail);
  fake_gpu(device.ordinal).uploads++;
  if (bytes) std::memcpy(to, from, size_t(bytes));
  return {};
}

Status download(Device& device, void* to, const uint8_t* from, uint64_t bytes,
                ErrorDetail* detail) {
  INGOT_TRY(count_call(device, detail));
  if (!is_mine(device, from, bytes))
    return stray(device, "device: download of memory that is not its own", detail);
  fake_gpu(device.ordinal).downloads++;
  if (bytes) std::memcpy(to, from, size_t(bytes));
  return {};
}

/// Every address that the steps use is the device's own.
Status resolve(Device& device, const StepProgram& program, ErrorDetail* detail) {
  INGOT_TRY(count_call(device, detail));
  if (!is_mine(device, program.scratch, program.scratch_stride))
    return stray(device, "device: scratch in memory that is not its own", detail);
  for (uint32_t s = program.first_step; s < program.steps.size; s++) {
    const uint32_t index = program.steps[s].index;
    const OpArguments& arguments = program.calls[index].arguments;
    for (int k = 0; k < int(arguments.input_count) + int(arguments.output_count); k++) {
      const TensorView& view = arguments.inputs[k];  // outputs lie behind the inputs
      uint64_t bytes;
      if (!view.data || (storage_bytes(view, &bytes) && is_mine(device, view.data, bytes)))
        continue;
      const Status status =
          stray(device, "device: an operand in memory that is not its own", detail);
      if (detail) detail->instruction = index, detail->operand = k;
      return Status(status.code(), index);
    }
  }
  return {};
}

Status run(Device& device, const StepProgram& program, const RunControl& control, ThreadTeam*,
           ErrorDetail* detail) {
  INGOT_TRY(count_call(device, detail));
  fake_gpu(device.ordinal).runs++;
  return run_steps(program, control, nullptr, detail);
}

uint64_t outside_bytes(const Device&, const StepProgram&) { return 0; }

}  // namespace

const DeviceInterface kFakeDevice = {"fake",   false,   reserve, release,      upload,
                                     download, resolve, run,     outside_bytes};

}  // namespace ingot
