// SPDX-License-Identifier: Apache-2.0
// runtime/session/share.h - what each device holds and does in a session, made or yet to be made.
// Owns     nothing.
// Threads  as session_requirements().
// Errors   those of prepare(); kNotFound beyond the last device.
#pragma once
#include "runtime/session/session.h"
#include "runtime/session/split.h"

namespace ingot {

struct DeviceShareReport : DeviceShare {
  const char* device = "";
  const char* reason = "";
};

/// A branch of an If or the body of a Loop on a device with launches: what it adds to a run each
/// time that it is taken, which is nothing where the device decides.
struct NamedBranch {
  const char* name = "";  // the subprogram's
  const char* device = "";
  uint32_t instruction = 0;  // the If or the Loop
  bool is_loop = false, is_else = false;
  int32_t parent = -1;  // the branch that it lies in
  uint32_t launches = 0, waits = 0;
  const char* why_host = nullptr;  // static: why the host decides; null: the device does
  int64_t most = 1;                // times, each time that what it lies in is taken
  uint64_t taken = 0;              // in the last run
};
/// One after the other, in the order of the subprograms. kNotFound beyond the last.
Status session_branch(const RunSession& session, uint32_t index, NamedBranch* out);
Status model_branch(const OpenModel& model, const SessionRequest& request, uint32_t index,
                    NamedBranch* out, ErrorDetail* detail);

/// By the index of the assignment where several devices are used, else 0 alone.
Status session_share(const RunSession& session, uint32_t index, DeviceShareReport* out);
Status model_share(const OpenModel& model, const SessionRequest& request, uint32_t index,
                   DeviceShareReport* out, ErrorDetail* detail);

}  // namespace ingot
