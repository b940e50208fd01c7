// runtime/session/fallback.h - a device that has no kernel for some instructions: they run on the
// CPU, in an assignment made for it.
// Owns     that assignment until it is taken.
// Threads  as create_session().
// Errors   those of find_device() and assign_devices(); kNoKernel where the request is strict.
#pragma once
#include "runtime/session/assignment.h"

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

}  // namespace ingot
