// SPDX-License-Identifier: Apache-2.0
// runtime/session/shared_weights.h - a model's weights on a device, uploaded by its first session
// there and given back by its last.
// Owns     the reservation, through the model.
// Threads  the holder of the model's WorkspaceLock.
// Errors   those of the device and of reading the file; kLimitExceeded: devices at a time.
#pragma once
#include "runtime/session/assignment.h"
#include "runtime/session/weights.h"

namespace ingot {

/// Fills fresh memory at `base`.
struct WeightsUpload {
  void* user = nullptr;
  Status (*fill)(void* user, Device& device, uint8_t* base, ErrorDetail* detail) = nullptr;
};
/// Reached through BackendServices alone, so that a program without a back end does not link it.
struct SharedWeightsCode {
  /// @pre `device` is as find_device() gave it, without state; bytes > 0
  Status (*hold)(const OpenModel& model, const Device& device, bool is_fallback, uint64_t bytes,
                 const WeightsUpload& upload, uint8_t** out, ErrorDetail* detail);
  void (*drop)(const OpenModel& model, uint8_t* base);
};
extern const SharedWeightsCode kSharedWeightsCode;

}  // namespace ingot
