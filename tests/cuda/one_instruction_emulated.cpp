// SPDX-License-Identifier: Apache-2.0
// tests/cuda/one_instruction_emulated.cpp - on_gpu() of one_instruction.h in the emulator.
#include <doctest/doctest.h>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/emulate/emulated_kernels.h"
#include "kernels/cuda/emulate/emulator.h"
#include "tests/conformance/conformance_gpu.h"
#include "tests/conformance/early_start.h"
#include "tests/conformance/fences.h"
#include "tests/cuda/one_instruction.h"

namespace ingot::conformance {

Run on_gpu(const Work& w, GpuPrecision precision, uint32_t order, const GpuTraits& traits,
           int variant) {
  Run run;
  run.y = w.output;
  run.y.poison();
  const std::vector<TensorView> views = views_of(w.inputs);
  const OpArguments a = arguments_of(w, views, run.y.view());
  const GpuKernelEntry* row = find_gpu_row(ingot_cuda_kernel_set, w.op, a, traits, precision);
  REQUIRE(row != nullptr);
  REQUIRE((w.any_row || std::string(row->name).find("tensorcore") != std::string::npos));
  constexpr size_t kGuard = 256;
  GpuVariant variants[kMaxGpuVariants];
  run.variants = int(list_gpu_variants(*row, a, traits, precision, variants));
  REQUIRE(variant < run.variants);
  const GpuVariant* const asked = variant < 0 ? nullptr : &variants[variant];
  const uint64_t bytes = gpu_scratch(*row, a, traits, precision, asked);
  std::vector<uint8_t> scratch(bytes + 256 + kGuard, 0xa5);
  uint32_t fault = 0;
  GpuWork work;
  work.arguments = &a, work.traits = traits, work.precision = precision, work.fault = &fault,
  work.fault_value = 1;
  work.scratch = scratch.data() + (256 - reinterpret_cast<uintptr_t>(scratch.data()) % 256) % 256,
  work.scratch_bytes = bytes;
  work.variant = asked;
  run.shared_limit = traits.shared_bytes;
  work.sink = {
      &run, [](void* user, const GpuLaunch& l) {
        static_cast<Run*>(user)->kernels.push_back(ingot_cuda_kernel_set.kernels[l.kernel].name);
        if (l.shared_bytes > static_cast<Run*>(user)->shared_limit)
          cuda::emulate::fail("a launch asks for more shared memory than the GPU gives");
        static_cast<Run*>(user)->splits = std::max(static_cast<Run*>(user)->splits, l.grid_y);
        return cuda::emulate::run_launch(l);
      }};
  std::vector<uint32_t> words(kGpuCounters, 0);
  GpuCounters counters = {words.data(), kGpuCounters};
  if (w.counters) work.counters = &counters;
  cuda::emulate::set_order(order);
  cuda::emulate::counts = {};
  {
    // weights alone, or nothing: some kernels of both kinds in every test
    static uint32_t runs = 0;
    const EarlyStart early(a, ++runs % 4 ? ~uint32_t{0} : 0, work.scratch, bytes, &work.constants);
    const Fences fences(a, work.scratch, bytes, kOperandGuard);
    run.status = row->plan(work);
    run.early_copies = cuda::emulate::counts.early_copies;
  }
  if (run.status.ok() && fault) run.status = Status(Code::kBadIndexValue);
  cuda::emulate::set_order(0);
  CHECK(cuda::emulate::counts.bank_conflicts == 0);
  CHECK(words == std::vector<uint32_t>(kGpuCounters, 0));  // as another run wants to find them
  for (size_t i = 0;
       i < kGuard && bytes + i < scratch.size() - size_t(work.scratch - scratch.data()); i++)
    REQUIRE(work.scratch[bytes + i] == 0xa5);
  CHECK(run.y.guard_fault() == "");
  for (const Tensor& t : w.inputs) CHECK(t.guard_fault() == "");
  return run;
}

}  // namespace ingot::conformance
