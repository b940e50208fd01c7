// SPDX-License-Identifier: Apache-2.0
// runtime/api/placement_api.cpp - devices by name, assignments, and what each device has and does.
#include "runtime/api/translate.h"
#include "runtime/session/share.h"
#include "runtime/session/tunings.h"

using namespace ingot;
using namespace ingot::api;

namespace {

const DeviceAssignment* unwrap_assignment(const ingot_assignment* assignment) {
  return reinterpret_cast<const DeviceAssignment*>(assignment);
}

ingot_weight weight_of(const Weight& weight) {
  ingot_weight to = {};
  to.size = sizeof to;
  to.name = weight.name;
  to.trained_on = weight.trained_on;
  to.dtype = ingot_dtype(weight.dtype);
  to.rank = weight.rank;
  for (int d = 0; d < weight.rank; d++) to.dims[d] = weight.dims[d];
  to.bytes = weight.bytes;
  to.value = uint32_t(weight.value);
  return to;
}

const char* reason_of(const AssignedWeight& weight) {
  switch (weight.why) {
    case PlacementReason::kAsked: return "asked for";
    case PlacementReason::kDefault: return "not asked for: the session's device";
    case PlacementReason::kWithAsked:
      return "with a weight that was asked for there and is read by the same instruction";
    case PlacementReason::kOnCpu:
      return "read on the CPU: state begins with it, or the run waits for a size that it decides";
    case PlacementReason::kNoKernel:
      return "the device asked for has no kernel for what reads it: the CPU runs that";
    case PlacementReason::kUnread: break;
  }
  return "no instruction reads it";
}

const char* sentence_of(uint8_t reason) {
  switch (WhyRuns(reason)) {
    case WhyRuns::kDefault: return "the session's device";
    case WhyRuns::kAsked: return "a weight that it reads was asked for there";
    case WhyRuns::kFollows: return "it reads no weight, and what it reads was made there";
    case WhyRuns::kTogether:
      return "in an If or a Loop, which is on one device with all that is in it";
    case WhyRuns::kLacks: break;
  }
  return missing_kernel_text(MissingKernel(reason - uint8_t(WhyRuns::kLacks)), false);
}

/// The caller's function, between the structs of both sides.
struct Caller {
  ingot_place_function place;
  void* user;
};
const char* call_place(void* user, const Weight& weight) {
  const Caller& caller = *static_cast<const Caller*>(user);
  const ingot_weight to = weight_of(weight);
  return caller.place(caller.user, &to);
}

ingot_code write_share(const DeviceShareReport& from, ingot_share* out) {
  ingot_share to = {};
  to.device = from.device;
  to.reason = from.reason;
  to.arena_bytes = from.bytes;
  to.weights_bytes = from.weights_bytes;
  to.instructions = from.instructions;
  to.launches = from.launches;
  to.uploads = from.uploads;
  to.downloads = from.downloads;
  to.upload_bytes = from.upload_bytes;
  to.download_bytes = from.download_bytes;
  to.waits = from.waits;
  return wrote(write_sized(to, out));
}

ingot_code write_branch(const NamedBranch& from, ingot_branch* out) {
  ingot_branch to = {};
  to.device = from.device;
  to.name = from.name;
  to.instruction = from.instruction;
  to.kind = from.is_loop ? 2 : int32_t{from.is_else};
  to.parent = from.parent;
  to.launches = from.launches;
  to.waits = from.waits;
  to.most = from.most;
  to.taken = from.taken;
  to.on_device = !from.why_host;
  to.why = from.why_host ? from.why_host : "";
  return wrote(write_sized(to, out));
}

}  // namespace

extern "C" {

ingot_code ingot_device_at(uint32_t index, ingot_device* out_device) {
  if (!out_device) return INGOT_INVALID_ARGUMENT;
  DeviceOffer offer;
  if (!device_offer(index, &offer)) return INGOT_NOT_FOUND;
  ingot_device device = {};
  device.name = offer.name;
  device.exists = offer.exists;
  device.why = offer.why;
  return wrote(write_sized(device, out_device));
}

ingot_code ingot_assignment_create(const ingot_model* model,
                                   const ingot_assignment_options* options,
                                   ingot_assignment** out_assignment, ingot_error* error) {
  if (!out_assignment) return refuse_argument("out_assignment is null", error);
  *out_assignment = nullptr;
  if (!model) return refuse_argument("model is null", error);
  ingot_assignment_options o = {};
  if (options && !read_sized(options, &o))
    return refuse_argument(
        "options.size: not set, or a field that this library does not know is not 0", error);
  Caller caller = {o.place, o.user};
  AssignmentRequest request;
  request.device = o.device;
  request.user = &caller;
  request.place = o.place ? call_place : nullptr;
  ErrorDetail detail;
  DeviceAssignment* assignment = nullptr;
  const Status status = assign_devices(*ingot::api::unwrap(model), request, &assignment, &detail);
  if (status.ok()) *out_assignment = reinterpret_cast<ingot_assignment*>(assignment);
  return report(status, detail, error);
}

void ingot_assignment_destroy(ingot_assignment* assignment) {
  if (assignment) release_assignment(reinterpret_cast<DeviceAssignment*>(assignment));
}

ingot_code ingot_assignment_weight(const ingot_assignment* assignment, uint32_t index,
                                   ingot_weight* out_weight, ingot_weight_place* out_place) {
  if (!assignment) return INGOT_INVALID_ARGUMENT;
  const DeviceAssignment& a = *unwrap_assignment(assignment);
  if (index >= a.weights.size) return INGOT_NOT_FOUND;
  const AssignedWeight& from = a.weights[index];
  if (out_weight && !write_sized(weight_of(from), out_weight)) return INGOT_INVALID_ARGUMENT;
  if (!out_place) return INGOT_OK;
  ingot_weight_place to = {};
  to.asked = a.devices[from.asked].name;
  to.by_callback = from.is_asked;
  to.devices = from.devices;
  to.reason = reason_of(from);
  return wrote(write_sized(to, out_place));
}

const char* ingot_assignment_device(const ingot_assignment* assignment, uint32_t index) {
  return assignment && index < unwrap_assignment(assignment)->device_count
             ? unwrap_assignment(assignment)->devices[index].name
             : nullptr;
}

int32_t ingot_assignment_instruction(const ingot_assignment* assignment, uint32_t instruction) {
  if (!assignment || instruction >= unwrap_assignment(assignment)->of_instruction.size) return -1;
  return unwrap_assignment(assignment)->of_instruction[instruction];
}

const char* ingot_assignment_reason(const ingot_assignment* assignment, uint32_t instruction) {
  if (!assignment || instruction >= unwrap_assignment(assignment)->reasons.size) return "";
  return sentence_of(unwrap_assignment(assignment)->reasons[instruction]);
}

ingot_code ingot_session_share(const ingot_session* session, uint32_t index,
                               ingot_share* out_share) {
  if (!session || !out_share) return INGOT_INVALID_ARGUMENT;
  DeviceShareReport share;
  if (!session_share(*ingot::api::unwrap(session), index, &share).ok()) return INGOT_NOT_FOUND;
  return write_share(share, out_share);
}

ingot_code ingot_model_share(const ingot_model* model, const ingot_session_options* options,
                             uint32_t index, ingot_share* out_share, ingot_error* error) {
  if (!model || !out_share) return refuse_argument("model or out_share is null", error);
  SessionRequest request;
  if (const ingot_code code = translate(options, &request, error)) return code;
  ErrorDetail detail;
  DeviceShareReport share;
  const Status status = model_share(*ingot::api::unwrap(model), request, index, &share, &detail);
  if (!status.ok()) return report(status, detail, error);
  return write_share(share, out_share)
             ? refuse_argument(
                   "share.size: not set, or a field that this library does not know is not 0",
                   error)
             : ingot_code{INGOT_OK};
}

ingot_code ingot_session_branch(const ingot_session* session, uint32_t index,
                                ingot_branch* out_branch) {
  if (!session || !out_branch) return INGOT_INVALID_ARGUMENT;
  NamedBranch branch;
  if (!session_branch(*ingot::api::unwrap(session), index, &branch).ok()) return INGOT_NOT_FOUND;
  return write_branch(branch, out_branch);
}

ingot_code ingot_model_branch(const ingot_model* model, const ingot_session_options* options,
                              uint32_t index, ingot_branch* out_branch, ingot_error* error) {
  if (!model || !out_branch) return refuse_argument("model or out_branch is null", error);
  SessionRequest request;
  if (const ingot_code code = translate(options, &request, error)) return code;
  ErrorDetail detail;
  NamedBranch branch;
  const Status status = model_branch(*ingot::api::unwrap(model), request, index, &branch, &detail);
  if (!status.ok()) return report(status, detail, error);
  return write_branch(branch, out_branch)
             ? refuse_argument(
                   "branch.size: not set, or a field that this library does not know is not 0",
                   error)
             : ingot_code{INGOT_OK};
}

ingot_code ingot_model_variant(const ingot_model* model, const ingot_session_options* options,
                               uint32_t instruction, ingot_variant* out_variant,
                               ingot_error* error) {
  if (!model || !out_variant) return refuse_argument("model or out_variant is null", error);
  SessionRequest request;
  if (const ingot_code code = translate(options, &request, error)) return code;
  ErrorDetail detail;
  NamedVariant variant;
  const Status status =
      model_variant(*ingot::api::unwrap(model), request, instruction, &variant, &detail);
  if (!status.ok()) return report(status, detail, error);
  ingot_variant to = {};
  to.device = variant.device;
  to.name = variant.name;
  to.why = variant.why;
  to.parts = variant.parts;
  to.variants = variant.variants;
  to.source = ingot_variant_source(variant.source);
  return write_sized(to, out_variant)
             ? ingot_code{INGOT_OK}
             : refuse_argument(
                   "variant.size: not set, or a field that this library does not know is not 0",
                   error);
}

}  // extern "C"
