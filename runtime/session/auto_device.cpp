// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/auto_device.h"

#include <cstring>

namespace ingot {
namespace {

/// False: the failure is to be told.
bool ask_cpu(Status failed, const ErrorDetail& why, SessionRequest* request) {
  if (request->assignment || (request->device && std::strcmp(request->device, "auto") != 0))
    return false;
  const bool of_memory = failed.code() == Code::kOutOfMemory && why.name[0];  // else the host's
  const bool of_device =
      failed.code() >= Code::kNoSuchDevice && failed.code() <= Code::kDeviceFault;
  if (!of_memory && !of_device) return false;
  request->device = "cpu";
  request->device_reason =
      of_memory
          ? "auto: the GPU has not enough memory free for it; asked for by name, it says how much"
          : "auto: the GPU failed while the session was made; asked for by name, it says how";
  return true;
}

// What the CPU lacks is of no interest: the GPU was wanted.
Status session(const OpenModel& model, const SessionRequest& asked, Status failed,
               const ErrorDetail& why, RunSession** out) {
  SessionRequest request = asked;
  ErrorDetail of_cpu;
  return ask_cpu(failed, why, &request) && make_session(model, request, out, &of_cpu).ok()
             ? Status()
             : failed;
}

Status pipeline(const OpenModel& model, const PipelineRequest& asked, Status failed,
                const ErrorDetail& why, RunPipeline** out) {
  PipelineRequest request = asked;
  ErrorDetail of_cpu;
  return ask_cpu(failed, why, &request.session) && make_pipeline(model, request, out, &of_cpu).ok()
             ? Status()
             : failed;
}

}  // namespace

const AutoCode kAutoCode = {session, pipeline};

}  // namespace ingot
