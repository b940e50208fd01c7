// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/emulate/emulated_kernels.h"
#include "kernels/cuda/emulate/emulator.h"
#include "tests/conformance/conformance_gpu.h"
#include "tests/conformance/early_start.h"
#include "tests/conformance/fences.h"

namespace ingot::conformance {
namespace {

/// How many cases of each operator ran, in other variants than the model's as well, and how many
/// the GPU leaves to the CPU.
struct Coverage {
  int run[kOpCodeCount] = {}, left[kOpCodeCount] = {};
  std::map<std::string, int> variants;  // "Conv2d 128x64"
  ~Coverage() {
    for (int i = 0; i < kOpCodeCount; i++)
      if (run[i] + left[i])
        std::printf("emulated GPU: %-20s %4d runs bit for bit, %d left to the CPU\n",
                    op_name(OpCode(i)), run[i], left[i]);
    for (const auto& [variant, runs] : variants)
      std::printf("emulated GPU: %-30s asked for in %d runs\n", variant.c_str(), runs);
  }
} coverage;

GpuTraits few_multiprocessors() {
  GpuTraits traits;
  traits.multiprocessors = 3;  // few blocks, so that loops over a grid go round
  return traits;
}

/// Kernels and grids, so that a variant that is passed over does not look like one that is taken.
std::vector<uint32_t> launches_of(const GpuKernelEntry& row, GpuWork work) {
  std::vector<uint32_t> launches;
  work.sink = {&launches, [](void* user, const GpuLaunch& l) {
                 for (const uint32_t word : {uint32_t(l.kernel), l.grid_x, l.grid_y, l.grid_z})
                   static_cast<std::vector<uint32_t>*>(user)->push_back(word);
                 return Status();
               }};
  (void)row.plan(work);
  return launches;
}

/// The first variant is the model's, any other is something else.
void check_variant(const GpuKernelEntry& row, GpuWork work, int variant) {
  const std::vector<uint32_t> chosen = launches_of(row, work);
  work.variant = nullptr;
  if ((launches_of(row, work) == chosen) != (variant == 0))
    cuda::emulate::fail("a variant that is not what it says");
}

/// Operands without addresses, as a session has them when it asks for scratch.
class Types {
 public:
  explicit Types(const OpArguments& a)
      : inputs_(a.inputs, a.inputs + a.input_count),
        outputs_(a.outputs, a.outputs + a.output_count),
        arguments_(a) {
    for (TensorView& v : inputs_) v.data = nullptr;
    for (TensorView& v : outputs_) v.data = nullptr;
    arguments_.inputs = inputs_.data();
    arguments_.outputs = outputs_.data();
  }
  const OpArguments& arguments() const { return arguments_; }

 private:
  std::vector<TensorView> inputs_, outputs_;
  OpArguments arguments_;
};

}  // namespace

int gpu_variants(OpCode op, const OpArguments& arguments) {
  const GpuTraits traits = few_multiprocessors();
  const GpuKernelEntry* row =
      find_gpu_row(ingot_cuda_kernel_set, op, arguments, traits, GpuPrecision::kExact);
  GpuVariant variants[kMaxGpuVariants];
  return row ? int(list_gpu_variants(*row, arguments, traits, GpuPrecision::kExact, variants)) : 0;
}

bool run_on_gpu(OpCode op, const OpArguments& arguments, uint32_t order, Status* status,
                int variant) {
  constexpr size_t kGuard = 256;
  GpuWork work;
  work.traits = few_multiprocessors();
  const GpuKernelEntry* row =
      find_gpu_row(ingot_cuda_kernel_set, op, arguments, work.traits, work.precision);
  if (!row) {
    coverage.left[int(op)]++;
    return false;
  }
  coverage.run[int(op)]++;
  GpuVariant variants[kMaxGpuVariants];
  if (variant >= 0) {
    list_gpu_variants(*row, arguments, work.traits, work.precision, variants);
    work.variant = &variants[variant];
    coverage.variants[std::string(op_name(op)) + " " + work.variant->name]++;
  }
  const uint64_t bytes =
      gpu_scratch(*row, Types(arguments).arguments(), work.traits, work.precision, work.variant);
  std::vector<uint8_t> scratch(bytes + 512 + kGuard, kOperandPattern);
  uint32_t fault = 0;
  work.arguments = &arguments;
  work.scratch = scratch.data() + (256 - reinterpret_cast<uintptr_t>(scratch.data()) % 256) % 256;
  work.scratch_bytes = bytes;
  work.fault = &fault;
  work.fault_value = 7;
  work.sink = {nullptr,
               [](void*, const GpuLaunch& launch) { return cuda::emulate::run_launch(launch); }};
  if (variant >= 0) check_variant(*row, work, variant);
  cuda::emulate::set_order(order);
  {
    static uint32_t runs = 0;  // every other one has constants, by turns all and some
    runs++;
    const uint32_t constants = runs % 2 ? 0 : runs % 4 ? ~uint32_t{0} : runs / 4;
    std::optional<EarlyStart> early;
    if (starts_early) early.emplace(arguments, constants, work.scratch, bytes, &work.constants);
    const Fences fences(arguments, work.scratch, bytes, kOperandGuard);
    *status = row->plan(work);
  }
  cuda::emulate::set_order(0);
  for (size_t i = 0; i < kGuard; i++)
    if (work.scratch[bytes + i] != kOperandPattern) cuda::emulate::fail("scratch overrun");
  if (status->ok() && fault) *status = Status(Code::kBadIndexValue);
  return true;
}

}  // namespace ingot::conformance
