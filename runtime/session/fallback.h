// SPDX-License-Identifier: Apache-2.0
// runtime/session/fallback.h - a device that has no kernel for some instructions: they run on the
// CPU, in an assignment made for it.
// Owns     that assignment until it is taken.
// Threads  as create_session().
// Errors   those of find_device() and assign_devices(); kNoKernel where the request is strict.
#pragma once
#include "runtime/session/assignment.h"
#include "runtime/session/preparation.h"

namespace ingot {

class Fallback {
 public:
  /// `asked` must outlive it.
  Fallback(const OpenModel& model, const SessionRequest& asked);
  ~Fallback() {
    if (assignment_) release_assignment(assignment_);
  }
  Fallback(const Fallback&) = delete;
  Fallback& operator=(const Fallback&) = delete;

  Status status(ErrorDetail* detail) const {
    if (detail && !status_.ok()) *detail = detail_;
    return status_;
  }
  /// What was asked for, or the same with the assignment.
  const SessionRequest& request() const { return request_; }
  DeviceAssignment* take() {
    DeviceAssignment* taken = assignment_;
    assignment_ = nullptr;
    return taken;
  }

 private:
  Status make(const OpenModel& model);

  SessionRequest request_;
  DeviceAssignment* assignment_ = nullptr;
  ErrorDetail detail_;
  Status status_;
};

/// A request prepared as create_session() prepares it, under the model's lock: what questions about
/// a session are answered from. Where `status` is bad nothing else holds.
struct PreparedRequest {
  PreparedRequest(const OpenModel& model, const SessionRequest& asked, ErrorDetail* detail);

  const Fallback fallback;
  const WorkspaceLock lock;
  Preparation preparation;
  Status status;
};

}  // namespace ingot
