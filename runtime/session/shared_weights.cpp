// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/shared_weights.h"

#include <new>

namespace ingot {
namespace {

Status hold(const OpenModel& model, const Device& device, bool is_fallback, uint64_t bytes,
            const WeightsUpload& upload, uint8_t** out, ErrorDetail* detail) {
  if (!model.shared_weights) {
    uint8_t* block = nullptr;
    INGOT_TRY(allocate(allocator_of(model), sizeof(SharedWeights) * kMaxSharedWeights,
                       alignof(SharedWeights), "table of weights on devices", &block, detail));
    model.shared_weights = reinterpret_cast<SharedWeights*>(block);
    for (size_t i = 0; i < kMaxSharedWeights; i++) new (&model.shared_weights[i]) SharedWeights;
  }
  SharedWeights* free = nullptr;
  for (SharedWeights& own : Span<SharedWeights>(model.shared_weights, kMaxSharedWeights)) {
    if (!own.base) {
      if (!free) free = &own;
      continue;
    }
    const bool same = own.device.interface == device.interface &&
                      own.device.ordinal == device.ordinal && own.device.stream == device.stream &&
                      own.is_fallback == is_fallback && own.bytes == bytes;
    if (!same) continue;
    own.sessions++;
    *out = own.base;
    return {};
  }
  if (!free)
    return fail_on(device, detail, Code::kLimitExceeded, "devices with weights of one model",
                   kMaxSharedWeights);
  SharedWeights made;
  made.device = device;
  made.bytes = bytes;
  made.sessions = 1;
  made.is_fallback = is_fallback;
  INGOT_TRY(device.interface->reserve(made.device, bytes, 256, &made.base, detail));
  const Status status = upload.fill(upload.user, made.device, made.base, detail);
  if (!status.ok()) {
    device.interface->release(made.device, made.base, bytes);
    return status;
  }
  *free = made;
  *out = made.base;
  return {};
}

void drop(const OpenModel& model, uint8_t* base) {
  for (SharedWeights& own : Span<SharedWeights>(model.shared_weights, kMaxSharedWeights)) {
    if (own.base != base || --own.sessions) continue;
    own.device.interface->release(own.device, own.base, own.bytes);
    own = SharedWeights();
    return;
  }
}

}  // namespace

const SharedWeightsCode kSharedWeightsCode = {hold, drop};

}  // namespace ingot
