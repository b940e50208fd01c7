// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/fallback.h"

#include <cstring>

#include "runtime/base/os/platform.h"
#include "runtime/op/control.h"
#include "runtime/session/backend_services.h"

namespace ingot {
namespace {

/// The first instruction that only the CPU can run, and why; the count of instructions when there
/// is none.
uint32_t first_refused(const OpenModel& model, const Device& device, MissingKernel* lack) {
  const WorkspaceLock lock(model);
  for (uint32_t i = 0; i < model.program.instructions.size; i++) {
    *lack = find_missing_kernel(model, device, i, model.workspace.operands);
    if (*lack != MissingKernel::kNothing) return i;
  }
  return uint32_t(model.program.instructions.size);
}

/// `hint`: what to do; null for the name of the operator.
Status refuse(const OpenModel& model, const Device& device, uint32_t index, ErrorDetail* detail,
              const char* field, const char* hint = nullptr) {
  const InstructionDef& instruction = model.program.instructions[index];
  (void)fail_on(device, detail, Code::kNoKernel, field);
  if (!detail) return Status(Code::kNoKernel, index);
  detail->instruction = index;
  detail->hint = hint ? hint : op_name(instruction.op);
  if (instruction.output_count && instruction.outputs[0] >= 0)
    name_error(detail, model.program.values[size_t(instruction.outputs[0])].name);
  return Status(Code::kNoKernel, index);
}

}  // namespace

Fallback::Fallback(const OpenModel& model, const SessionRequest& asked) : request_(asked) {
  status_ = make(model);
}

PreparedRequest::PreparedRequest(const OpenModel& model, const SessionRequest& asked,
                                 ErrorDetail* detail)
    : fallback(model, asked), lock(model), status(fallback.status(detail)) {
  if (status.ok()) status = prepare(model, fallback.request(), &preparation, detail);
}

Status Fallback::make(const OpenModel& model) {
  if (!os::kHasOtherDevices || request_.assignment) return {};  // firmware has one device
  Device device;
  INGOT_TRY(find_device(request_.device, &device, &detail_));
  if (!device.interface->supports) return {};
  MissingKernel lack = MissingKernel::kNothing;
  const uint32_t refused = first_refused(model, device, &lack);
  if (refused == model.program.instructions.size) return {};
  if (request_.strict)
    return refuse(model, device, refused, &detail_, missing_kernel_text(lack, true));
  AssignmentRequest request;
  request.device = request_.device;
  INGOT_TRY(backend_services()->assign(model, request, &assignment_, &detail_));
  assignment_->is_fallback = true;
  const bool nothing = assignment_->used_count == 1 && assignment_->only == 0;
  const bool is_auto = !request_.device || std::strcmp(request_.device, "auto") == 0;
  if (nothing && !is_auto)  // what was asked for would be no more than a name
    return refuse(model, device, refused, &detail_,
                  "device: it has no kernel for any instruction of this program",
                  device.interface->no_kernel_hint);
  for (uint32_t d = 1; d < assignment_->device_count; d++)
    assignment_->devices[d].stream = request_.gpu_stream;
  request_.assignment = assignment_;
  request_.device = nullptr;
  return {};
}

}  // namespace ingot
