// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/program/run_lowered.h"

#include <cstring>

namespace ingot::convert {

Status run_kernel(const KernelTable& table, OpCode op, const OpArguments& arguments) {
  const KernelEntry* const kernel = find_kernel(table, op, arguments);
  if (!kernel) return Code::kNoKernel;
  ScratchNeed need;
  if (kernel->contract->scratch) need = kernel->contract->scratch(arguments, 1);
  constexpr uint64_t kPoison = 0x7f7f7f7f7f7f7f7f;
  AlignedBytes scratch(need.per_thread_bytes, kPoison), shared(need.shared_bytes, kPoison);
  Team team;
  team.scratch = scratch.span().data;
  team.shared = shared.span().data;
  return kernel->run(arguments, team);
}

LoweredRun::LoweredRun(const LoweredProgram& lowered, Bindings bindings, const KernelTable& table)
    : lowered_(lowered),
      bindings_(std::move(bindings)),
      table_(table),
      memory_(lowered.values.size()) {}

Span<uint8_t> LoweredRun::bytes(int32_t id) {
  std::unique_ptr<AlignedBytes>& memory = memory_[size_t(id)];
  if (memory) return memory->span();
  const LoweredValue& value = lowered_.at(id);
  uint64_t count = 0;
  if (!storage_bytes(evaluate_type(value, bindings_), &count))
    graph::fail_unsupported("value '" + value.name + "' is too large");
  memory = std::make_unique<AlignedBytes>(count, ~uint64_t{0});
  if (value.kind == ValueKind::kConstant) {
    const std::vector<uint8_t> made =
        value.bytes.held ? std::vector<uint8_t>() : value.bytes.make();
    const std::vector<uint8_t>& all = value.bytes.held ? *value.bytes.held : made;
    if (all.size() != count)
      graph::fail_internal("constant '" + value.name + "' has " + std::to_string(all.size()) +
                           " bytes, expected " + std::to_string(count));
    if (count) std::memcpy(memory->span().data, all.data(), all.size());
  }
  return memory->span();
}

TensorView LoweredRun::view(int32_t id) {
  TensorView v;
  if (id < 0) return v;
  static_cast<TensorType&>(v) = evaluate_type(lowered_.at(id), bindings_);
  v.data = bytes(id).data;
  return v;
}

Status LoweredRun::run(const LoweredInstruction& instruction) {
  const Attributes attributes = evaluate_attributes(instruction, bindings_);
  std::vector<TensorView> inputs, outputs;
  for (const int32_t id : instruction.inputs) inputs.push_back(view(id));
  for (const int32_t id : instruction.outputs) outputs.push_back(view(id));
  const OpArguments arguments{attribute_pointer(attributes), inputs.data(), outputs.data(),
                              uint16_t(inputs.size()), uint16_t(outputs.size())};
  const Status status = run_kernel(table_, instruction.op(), arguments);
  for (const int32_t id : instruction.inputs)  // copies of what the program holds
    if (id >= 0 && lowered_.at(id).kind == ValueKind::kConstant) memory_[size_t(id)].reset();
  return status;
}

}  // namespace ingot::convert
