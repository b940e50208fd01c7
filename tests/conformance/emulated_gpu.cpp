#include <cstdio>
#include <vector>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/emulate/emulated_kernels.h"
#include "kernels/cuda/emulate/emulator.h"
#include "tests/conformance/conformance_gpu.h"

namespace ingot::conformance {
namespace {

/// How many cases of each operator ran, and how many the GPU leaves to the CPU.
struct Coverage {
  int run[kOpCodeCount] = {}, left[kOpCodeCount] = {};
  ~Coverage() {
    for (int i = 0; i < kOpCodeCount; i++)
      if (run[i] + left[i])
        std::printf("emulated GPU: %-20s %4d runs bit for bit, %d left to the CPU\n", op_name(OpCode(i)), run[i],
                    left[i]);
  }
} coverage;

}  // namespace

bool run_on_gpu(OpCode op, const OpArguments& arguments, uint32_t order, Status* status) {
  constexpr size_t kGuard = 256;
  GpuWork work;
  work.traits.multiprocessors = 3;  // few blocks, so that loops over a grid go round
  const GpuRow* row = find_gpu_row(ingot_cuda_kernel_set, op, arguments, work.traits, work.precision);
  if (!row) {
    coverage.left[int(op)]++;
    return false;
  }
  coverage.run[int(op)]++;
  uint64_t bytes = row->scratch ? row->scratch(arguments, work.traits, work.precision) : 0;
  std::vector<uint8_t> scratch(bytes + 512 + kGuard, 0xa5);
  uint32_t fault = 0;
  work.arguments = &arguments;
  work.scratch = scratch.data() + (256 - reinterpret_cast<uintptr_t>(scratch.data()) % 256) % 256;
  work.scratch_bytes = bytes;
  work.fault = &fault;
  work.fault_value = 7;
  work.sink = {nullptr, [](void*, const GpuLaunch& launch) { return cuda::emulate::run_launch(launch); }};
  cuda::emulate::set_order(order);
  *status = row->plan(work);
  cuda::emulate::set_order(0);
  for (size_t i = 0; i < kGuard; i++)
    if (work.scratch[bytes + i] != 0xa5) cuda::emulate::fail("scratch overrun");
  if (status->ok() && fault) *status = Status(Code::kBadIndexValue);
  return true;
}

}  // namespace ingot::conformance
