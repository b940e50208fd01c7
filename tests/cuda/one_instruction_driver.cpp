// SPDX-License-Identifier: Apache-2.0
// tests/cuda/one_instruction_driver.cpp - on_gpu() of one_instruction.h through the CUDA driver:
// operands between guards in device memory, the device code of this build.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/cuda/cuda_kernels.h"
#include "tests/conformance/device_operands.h"
#include "tests/cuda/one_instruction.h"

namespace ingot::conformance {
namespace {

/// What the GPU at hand is made of, as far as the case does not ask for another size of it. The
/// cases expect tf32, so an older GPU ends the process, as a counted skip.
GpuTraits traits_here(const GpuTraits& asked) {
  GpuTraits traits = asked;
  if (gpu().traits().sm && gpu().traits().sm < 80) {
    std::printf("[skip] tensor cores: sm_%d has no tf32, which the cases expect\n",
                gpu().traits().sm);
    std::fflush(stdout);
    std::_Exit(77);
  }
  if (gpu().traits().sm) traits.sm = gpu().traits().sm;  // of the fake driver: all that there is
  traits.shared_bytes = std::min(asked.shared_bytes, gpu().traits().shared_bytes);
  return traits;
}

}  // namespace

Run on_gpu(const Work& w, GpuPrecision precision, uint32_t, const GpuTraits& asked, int variant) {
  Run run;
  run.y = w.output;
  run.y.poison();
  const GpuTraits traits = traits_here(asked);
  const std::vector<TensorView> views = views_of(w.inputs);
  const OpArguments a = arguments_of(w, views, run.y.view());
  Operands operands(a);
  const GpuKernelEntry* row =
      find_gpu_row(ingot_cuda_kernel_set, w.op, operands.arguments(), traits, precision);
  REQUIRE(row != nullptr);
  REQUIRE((w.any_row || std::string(row->name).find("tensorcore") != std::string::npos));
  GpuVariant variants[kMaxGpuVariants];
  run.variants = int(list_gpu_variants(*row, a, traits, precision, variants));
  REQUIRE(variant < run.variants);
  GpuWork work;
  work.arguments = &operands.arguments();
  work.traits = traits, work.precision = precision, work.fault_value = 1;
  work.variant = variant < 0 ? nullptr : &variants[variant];
  work.scratch_bytes = gpu_scratch(*row, operands.arguments(), traits, precision, work.variant);
  Guarded scratch(nullptr, work.scratch_bytes);
  for (int i = 1; i < operands.arguments().input_count; i++)
    if (operands.arguments().inputs[i].present())
      work.constants.add(operands.arguments().inputs[i].data);
  const std::vector<uint32_t> zeros(kGpuCounters, 0);
  Guarded words(zeros.data(), zeros.size() * sizeof zeros[0]);
  GpuCounters counters = {reinterpret_cast<uint32_t*>(words.inside()), kGpuCounters};
  if (w.counters) work.counters = &counters;
  const uint32_t none = 0;
  Guarded fault(&none, sizeof none);
  work.scratch = scratch.inside();
  work.fault = reinterpret_cast<uint32_t*>(fault.inside());
  work.sink = {&run, [](void* user, const GpuLaunch& l) {
                 Run& to = *static_cast<Run*>(user);
                 to.kernels.push_back(ingot_cuda_kernel_set.kernels[l.kernel].name);
                 to.splits = std::max(to.splits, l.grid_y);
                 gpu().add(l);
                 return Status();
               }};
  run.status = row->plan(work);
  gpu().run();
  operands.fetch();
  (void)scratch.fetch();
  CHECK(std::memcmp(words.fetch(), zeros.data(), zeros.size() * sizeof zeros[0]) == 0);
  uint32_t found;
  std::memcpy(&found, fault.fetch(), sizeof found);
  if (run.status.ok() && found) run.status = Status(Code::kBadIndexValue);
  return run;
}

}  // namespace ingot::conformance
