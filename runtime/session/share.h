// runtime/session/share.h - what each device holds and does in a session, made or yet to be made.
// Owns     nothing.   Threads  as session_requirements().   Errors  those of prepare(); kNotFound beyond the last device.
#pragma once
#include "runtime/session/session.h"
#include "runtime/session/split.h"

namespace ingot {

struct NamedShare : DeviceShare {
  const char* device = "";
  const char* reason = "";
};

/// By the index of the assignment where several devices are used, else 0 alone.
Status session_share(const RunSession& session, uint32_t index, NamedShare* out);
Status model_share(const OpenModel& model, const SessionRequest& request, uint32_t index, NamedShare* out,
                   ErrorDetail* detail);

}  // namespace ingot
