// SPDX-License-Identifier: Apache-2.0
// runtime/session/missing_kernel.cpp - whether a device can run an instruction, and why not.
#include "runtime/op/control.h"
#include "runtime/session/preparation.h"

namespace ingot {

OpArguments operand_kinds(const ProgramDef& program, uint32_t index, TensorView* operands) {
  const InstructionDef& instruction = program.instructions[index];
  OpArguments arguments;
  arguments.attributes = instruction.attributes;
  arguments.inputs = operands;
  arguments.outputs = operands + instruction.input_count;
  arguments.input_count = instruction.input_count;
  arguments.output_count = instruction.output_count;
  const auto kind = [&](int32_t value) {
    TensorView view;
    if (value < 0) return view;
    const ValueDef& def = program.values[size_t(value)];
    view.dtype = def.dtype;
    view.packing = def.packing;
    view.rank = def.rank;
    return view;
  };
  for (uint32_t i = 0; i < instruction.input_count; i++) operands[i] = kind(instruction.inputs[i]);
  for (uint32_t i = 0; i < instruction.output_count; i++)
    operands[instruction.input_count + i] = kind(instruction.outputs[i]);
  return arguments;
}

MissingKernel find_missing_kernel(const OpenModel& model, const Device& device, uint32_t index,
                                  TensorView* operands) {
  const DeviceInterface& interface = *device.interface;
  if (!interface.supports) return MissingKernel::kNothing;
  const InstructionDef& instruction = model.program.instructions[index];
  // Sizes that the data decides are read by the CPU while the program runs: what they are sizes of
  // is planned anew for each run. What decides them may be the device's where it runs once.
  if (instruction.is_data_dependent && !instruction.resolves) return MissingKernel::kDataDependent;
  if (is_control(instruction.op) && instruction.resolves) return MissingKernel::kResolves;
  if (is_control(instruction.op))
    return interface.runs_segments ? MissingKernel::kNothing : MissingKernel::kControl;
  const bool is_inside = index >= model.program.subprograms[0].instruction_count;
  if (instruction.resolves && (instruction.reads_data_dependent || is_inside))
    return MissingKernel::kResolves;
  if (interface.supports(device, instruction.op, operand_kinds(model.program, index, operands)))
    return MissingKernel::kNothing;
  return interface.knows && !interface.knows(instruction.op) ? MissingKernel::kOperator
                                                             : MissingKernel::kTypes;
}

const char* missing_kernel_text(MissingKernel lack, bool is_strict) {
  const char* text = "strict: ";
  switch (lack) {
    case MissingKernel::kNothing: break;
    case MissingKernel::kControl:
      text = "strict: control flow: the CPU decides which way the program goes";
      break;
    case MissingKernel::kResolves:
      text = "strict: the run waits for a size that it finds in the data";
      break;
    case MissingKernel::kDataDependent:
      text = "strict: the data decides its size while the program runs";
      break;
    case MissingKernel::kOperator:
      text = "strict: the device has no kernel for this operator";
      break;
    case MissingKernel::kTypes:
      text = "strict: the device has no kernel for this operator with these types";
      break;
  }
  return is_strict ? text : text + sizeof "strict: " - 1;
}

}  // namespace ingot
