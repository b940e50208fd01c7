// SPDX-License-Identifier: Apache-2.0
// runtime/session/variant.cpp - which of several kernel variants computes an instruction, before a
// session is made.
#include "runtime/op/control.h"
#include "runtime/session/fallback.h"
#include "runtime/session/split.h"
#include "runtime/session/tunings.h"

namespace ingot {

Status model_variant(const OpenModel& model, const SessionRequest& asked, uint32_t index,
                     NamedVariant* out, ErrorDetail* detail) {
  *out = {};
  const Fallback fallback(model, asked);
  INGOT_TRY(fallback.status(detail));
  if (index >= model.program.instructions.size)
    return fail(detail, Code::kNotFound, "instruction", model.program.instructions.size, index);
  const WorkspaceLock lock(model);
  Preparation p;
  INGOT_TRY(prepare(model, fallback.request(), &p, detail));
  const DeviceAssignment* a = p.split ? p.split->assignment : nullptr;
  const Device& device = a ? a->devices[a->of_instruction[index]] : p.device;
  out->device = device.name;
  const OpCode op = model.program.instructions[index].op;
  if (!device.interface->variant || is_control(op)) return {};
  const OpArguments arguments = operand_types_on(
      model, device, p.planned.bound, p.planned.f16_storage, index, model.workspace.operands);
  device.interface->variant(device, op, arguments, model.program.precision, p.tunings, index, out);
  return {};
}

}  // namespace ingot
