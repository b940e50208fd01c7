// SPDX-License-Identifier: Apache-2.0
// tests/conformance/driver_gpu.cpp - conformance_gpu.h through the CUDA driver: operands lie in
// device memory between guards, and device code is what this build carries for the GPU that is
// there. Over the fake driver the emulator runs it.
#include <cstdio>
#include <cstring>

#include "tests/conformance/conformance_gpu.h"
#include "tests/conformance/device_operands.h"

namespace ingot::conformance {
namespace {

/// How many cases of each operator ran.
struct Coverage {
  int run[kOpCodeCount] = {}, left[kOpCodeCount] = {};
  ~Coverage() {
    for (int i = 0; i < kOpCodeCount; i++)
      if (run[i] + left[i])
        std::printf("%s: %-20s %4d runs bit for bit, %d left to the CPU\n", name,
                    op_name(OpCode(i)), run[i], left[i]);
  }
  const char* name = gpu().facts().name;
};

}  // namespace

int gpu_variants(OpCode op, const OpArguments& arguments) {
  const GpuTraits traits = gpu().traits();
  const GpuKernelEntry* row =
      find_gpu_row(ingot_cuda_kernel_set, op, arguments, traits, GpuPrecision::kExact);
  GpuVariant variants[kMaxGpuVariants];
  return row ? int(list_gpu_variants(*row, arguments, traits, GpuPrecision::kExact, variants)) : 0;
}

bool run_on_gpu(OpCode op, const OpArguments& arguments, uint32_t, Status* status, int variant) {
  static Coverage coverage;
  Operands operands(arguments);
  GpuWork work;
  work.traits = gpu().traits();
  const GpuKernelEntry* row =
      find_gpu_row(ingot_cuda_kernel_set, op, operands.arguments(), work.traits, work.precision);
  (row ? coverage.run : coverage.left)[int(op)]++;
  if (!row) return false;
  // Listed for the host's addresses: what another alignment does not offer there is computed as the
  // model has it.
  GpuVariant variants[kMaxGpuVariants];
  if (variant >= 0) {
    list_gpu_variants(*row, arguments, work.traits, work.precision, variants);
    work.variant = &variants[variant];
  }
  work.scratch_bytes =
      gpu_scratch(*row, operands.arguments(), work.traits, work.precision, work.variant);
  Guarded scratch(nullptr, work.scratch_bytes);
  const uint32_t none = 0;
  Guarded fault(&none, sizeof none);
  work.arguments = &operands.arguments();
  work.scratch = scratch.inside();
  work.fault = reinterpret_cast<uint32_t*>(fault.inside());
  work.fault_value = 7;
  work.sink = {nullptr, [](void*, const GpuLaunch& launch) {
                 gpu().add(launch);
                 return Status();
               }};
  *status = row->plan(work);
  gpu().run();
  operands.fetch();
  (void)scratch.fetch();
  uint32_t found;
  std::memcpy(&found, fault.fetch(), sizeof found);
  if (status->ok() && found) *status = Status(Code::kBadIndexValue);
  return true;
}

}  // namespace ingot::conformance
