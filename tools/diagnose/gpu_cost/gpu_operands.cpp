// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/gpu_cost/gpu_operands.h"

#include <algorithm>

#include "kernels/cuda/cuda_kernels.h"
#include "runtime/device/gpu/f16_activations.h"
#include "runtime/plan/greedy_planner.h"

namespace ingot::gpu_cost {

GpuOperands::GpuOperands(const cli::ProgramView& view, const GpuModel& gpu)
    : GpuOperands(view, gpu, gpu_precision(view.program().precision)) {}

GpuOperands::GpuOperands(const cli::ProgramView& view, const GpuModel& gpu, GpuPrecision precision)
    : view_(view) {
  const ProgramDef& program = view.program();
  packed_.resize(program.values.size);
  const GpuTraits traits = traits_of(gpu);
  if (ingot_cuda_kernel_set.takes_f16_weights(traits, precision))
    find_f16_weights(program, {packed_.data(), packed_.size()});
  const bool may_be_f16 =
      cuda::has_f16_activations(precision, traits) &&
      std::none_of(program.steps.data, program.steps.data + program.steps.size,
                   [](const StepDef& step) { return step.kind != StepKind::kRun; });
  offsets_ = view.offsets(), plan_bytes_ = view.plan_bytes();
  if (!may_be_f16) return;
  f16_storage_.resize(program.values.size);
  unplaced_ = kLowestStorage + program.alignment;
  choose_f16_activations(ingot_cuda_kernel_set, traits,
                         {&program,
                          {},
                          [](void* self, uint32_t i) {
                            GpuOperands& o = *static_cast<GpuOperands*>(self);
                            return o.of(o.view_.program().instructions[i]);
                          },
                          this,
                          unplaced_},
                         f16_storage_.data());
  unplaced_ = 0;
  plan();
  for (size_t v = 0; v < f16_storage_.size(); v++)
    if (f16_storage_[v]) f16_storage_[v] = address_of(program.values[v].root);
}

OpArguments GpuOperands::of(const InstructionDef& instruction) {
  views_.clear();
  for (uint32_t i = 0; i < instruction.input_count; i++) add(instruction.inputs[i]);
  for (uint32_t i = 0; i < instruction.output_count; i++) add(instruction.outputs[i]);
  OpArguments a;
  a.attributes = instruction.attributes;
  a.inputs = views_.data(), a.outputs = views_.data() + instruction.input_count;
  a.input_count = instruction.input_count, a.output_count = instruction.output_count;
  return a;
}

void GpuOperands::add(int32_t value) {
  TensorView operand;
  if (value >= 0) {
    static_cast<TensorType&>(operand) = view_.type(value);
    if (packed_[size_t(value)].is_packed) operand.dtype = DType::kF16;
    operand.data = reinterpret_cast<void*>(address_of(value));
  }
  views_.push_back(operand);
}

/// Where the plan has it; constants each for itself.
uint64_t GpuOperands::address_of(int32_t value) const {
  const uint64_t root = uint64_t(view_.program().values[size_t(value)].root);
  const uint64_t inside = view_.bound_program().root_offset[value];
  if (unplaced_) return unplaced_ + inside;
  const bool is_planned = root < offsets_.size() && offsets_[root] < kArena;
  return is_planned ? kArena + offsets_[root] + inside : kFirstAddress * (1 + root) + inside;
}

/// The plan of runtime/session/f16_plan.cpp, which may keep the file's where it is as small.
void GpuOperands::plan() {
  std::vector<Lifetime> lifetimes = view_.lifetimes();
  halve_f16_lifetimes(f16_storage_.data(), {lifetimes.data(), lifetimes.size()});
  const ProgramDef& program = view_.program();
  const uint32_t steps = uint32_t(std::max<size_t>(program.steps.size, 1));
  std::vector<uint64_t> offsets(lifetimes.size(), kNoOffset),
      workspace(planner_workspace_bytes(uint32_t(lifetimes.size()), steps) / 8 + 1);
  PlanSummary summary;
  const Status status =
      plan_greedy({lifetimes.data(), lifetimes.size()}, steps, program.alignment,
                  {reinterpret_cast<uint8_t*>(workspace.data()), workspace.size() * 8},
                  {offsets.data(), offsets.size()}, &summary, nullptr);
  if (!status.ok()) return;  // f16 takes the first halves of the places in the file's plan
  offsets_ = offsets, plan_bytes_ = summary.bytes;
}

}  // namespace ingot::gpu_cost
