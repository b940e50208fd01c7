// SPDX-License-Identifier: Apache-2.0
// runtime/base/status.cpp - fills error details and names codes.
#include "runtime/base/status.h"

namespace ingot {

Status fail(ErrorDetail* detail, Code code, const char* field, uint64_t need, uint64_t have,
            uint64_t offset) {
  if (detail) {
    *detail = ErrorDetail{};
    detail->code = code;
    detail->field = field;
    detail->need = need;
    detail->have = have;
    detail->offset = offset;
  }
  return Status(code);
}

const char* code_name(Code code) {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kInvalidArgument: return "invalid_argument";
    case Code::kNotFound: return "not_found";
    case Code::kShapeMismatch: return "shape_mismatch";
    case Code::kDtypeMismatch: return "dtype_mismatch";
    case Code::kUnboundDimension: return "unbound_dimension";
    case Code::kDimensionOutOfBounds: return "dimension_out_of_bounds";
    case Code::kMisaligned: return "misaligned";
    case Code::kWrongState: return "wrong_state";
    case Code::kCancelled: return "cancelled";
    case Code::kDeadlineExceeded: return "deadline_exceeded";
    case Code::kBadIndexValue: return "bad_index_value";
    case Code::kBadStateValue: return "bad_state_value";
    case Code::kStateMismatch: return "state_mismatch";
    case Code::kControlRefused: return "control_refused";
    case Code::kCustomFailed: return "custom_failed";
    case Code::kNotIngot: return "not_ingot";
    case Code::kTruncated: return "truncated";
    case Code::kHeaderInvalid: return "header_invalid";
    case Code::kHashMismatch: return "hash_mismatch";
    case Code::kUnsupportedVersion: return "unsupported_version";
    case Code::kUnsupportedFeature: return "unsupported_feature";
    case Code::kStructureInvalid: return "structure_invalid";
    case Code::kMeaningInvalid: return "meaning_invalid";
    case Code::kPlanInvalid: return "plan_invalid";
    case Code::kUnsupportedOperator: return "unsupported_operator";
    case Code::kNoKernel: return "no_kernel";
    case Code::kLimitExceeded: return "limit_exceeded";
    case Code::kArenaTooSmall: return "arena_too_small";
    case Code::kOutOfMemory: return "out_of_memory";
    case Code::kFileOpen: return "file_open";
    case Code::kFileRead: return "file_read";
    case Code::kMapFailed: return "map_failed";
    case Code::kThreadFailed: return "thread_failed";
    case Code::kLockFailed: return "lock_failed";
    case Code::kNoSuchDevice: return "no_such_device";
    case Code::kDeviceLost: return "device_lost";
    case Code::kDeviceFault: return "device_fault";
    case Code::kInternal: return "internal";
  }
  return "unknown";
}

}  // namespace ingot
