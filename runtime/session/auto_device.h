// SPDX-License-Identifier: Apache-2.0
// runtime/session/auto_device.h - "auto" had chosen a GPU on which the session or pipeline then
// could not be made, for want of its memory or by its fault: the CPU has it all, with the reason in
// its share. Linked only with a back end (device.h), since nothing else fails so.
// Errors   `failed`, where the device was asked for by name, something else is wrong, or the CPU
//          cannot either.
#pragma once
#include "runtime/session/pipeline.h"
#include "runtime/session/session.h"

namespace ingot {

struct AutoCode {
  Status (*session)(const OpenModel& model, const SessionRequest& asked, Status failed,
                    const ErrorDetail& why, RunSession** out);
  Status (*pipeline)(const OpenModel& model, const PipelineRequest& asked, Status failed,
                     const ErrorDetail& why, RunPipeline** out);
};
extern const AutoCode kAutoCode;

}  // namespace ingot
