// SPDX-License-Identifier: Apache-2.0
// runtime/session/device_scratch.cpp - what kernels of a device's own are told of an instruction
// before it has addresses, and the scratch that they ask for. Reached through BackendServices, so
// that a program without a back end does not link it.
#include "runtime/op/control.h"
#include "runtime/session/preparation.h"

namespace ingot {

OpArguments operand_types_on(const OpenModel& model, const Device& device,
                             const BoundProgram& bound, Span<const uint64_t> f16_storage,
                             uint32_t index, TensorView* operands) {
  const InstructionDef& instruction = model.program.instructions[index];
  const OpArguments arguments = operand_types(model.program, bound, index, operands);
  mark_f16_weights(model, device, instruction, operands);
  const auto mark = [&](int32_t value, TensorView* operand) {
    if (value >= 0 && f16_storage[size_t(value)]) operand->dtype = DType::kF16;
  };
  if (f16_storage.empty()) return arguments;
  for (uint32_t k = 0; k < instruction.input_count; k++) mark(instruction.inputs[k], &operands[k]);
  for (uint32_t k = 0; k < instruction.output_count; k++)
    mark(instruction.outputs[k], &operands[instruction.input_count + k]);
  return arguments;
}

Status find_device_scratch(const OpenModel& model, const BoundProgram& bound, const Device& device,
                           const DeviceScratch& asked, TensorView* operands, uint64_t* bytes,
                           ErrorDetail* detail) {
  *bytes = 0;
  const uint32_t precision = model.program.precision;
  const bool is_least = asked.is_least && device.interface->least_scratch;
  for (uint32_t i = 0; i < model.program.instructions.size; i++) {
    const OpCode op = model.program.instructions[i].op;
    if (is_control(op) || (asked.of_instruction && asked.of_instruction[i] != asked.index))
      continue;
    const OpArguments arguments =
        operand_types_on(model, device, bound, asked.f16_storage, i, operands);
    const uint64_t need =
        is_least ? device.interface->least_scratch(device, op, arguments, precision)
                 : device.interface->scratch(device, op, arguments, precision, asked.tunings, i);
    if (need > uint64_t{1} << 46)
      return Status(
          fail(detail, Code::kLimitExceeded, "scratch bytes", uint64_t{1} << 46, need).code(), i);
    if (need > *bytes) *bytes = need;
  }
  *bytes = (*bytes + 255) & ~uint64_t{255};
  return {};
}

}  // namespace ingot
