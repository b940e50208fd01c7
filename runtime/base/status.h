// SPDX-License-Identifier: Apache-2.0
// runtime/base/status.h - errors are data: one word when fine, numbers when not.
#pragma once
#include <cstdint>

namespace ingot {

/// Pinned for ever (packaging/abi/ingot.txt). 1-19 caller, 20-39 file, 40-59 resource,
/// 60-79 device, 90-99 our bug.
enum class Code : uint16_t {
  kOk = 0,
  // the caller
  kInvalidArgument = 1,       // a null or contradictory argument
  kNotFound = 2,              // no input, output, dimension, or value of that name or index
  kShapeMismatch = 3,         // a bound tensor has another shape
  kDtypeMismatch = 4,         // a bound tensor has another element type
  kUnboundDimension = 5,      // a symbolic dimension got no value
  kDimensionOutOfBounds = 6,  // a symbolic dimension got a value outside its bounds
  kMisaligned = 7,            // memory is not aligned as required
  kWrongState = 8,            // a call out of order, or on a session that is running or dead
  kCancelled = 9,             // run() was cancelled
  kDeadlineExceeded = 10,     // run() passed its deadline
  kBadIndexValue = 11,        // an index tensor held an index outside its range
  kBadStateValue = 12,        // a state variable holds what is not a number
  kStateMismatch = 13,        // a saved state of another model, version or binding
  kControlRefused = 14,  // a condition or trip count asked for what the file was not converted for
  kCustomFailed = 15,    // an operator of the application's returned an error
  // the file
  kNotIngot = 20,            // wrong magic
  kTruncated = 21,           // the file ends before a part does
  kHeaderInvalid = 22,       // a header field contradicts another or the file's size
  kHashMismatch = 23,        // bytes differ from the recorded SHA-256
  kUnsupportedVersion = 24,  // a newer major version
  kUnsupportedFeature = 25,  // a required feature this runtime lacks
  kStructureInvalid = 26,    // the FlatBuffer is not sound
  // types, shapes, indices or attributes contradict the operator's contract
  kMeaningInvalid = 27,
  kPlanInvalid = 28,          // buffers overlap or leave the arena
  kUnsupportedOperator = 29,  // no contract for an instruction in the table handed in
  kNoKernel = 30,             // a contract but no kernel for these types
  kLimitExceeded = 31,        // a count beyond what this runtime accepts
  // resources
  kArenaTooSmall = 40,
  kOutOfMemory = 41,
  kFileOpen = 42,
  kFileRead = 43,
  kMapFailed = 44,
  kThreadFailed = 45,
  kLockFailed = 46,  // mlock refused
  // devices
  kNoSuchDevice = 60,
  kDeviceLost = 61,
  kDeviceFault = 62,
  // ours
  kInternal = 90,
};

constexpr uint32_t kNoInstruction = 0xffffffu;

/// One word: a code and, where it makes sense, the instruction. Everything else is in ErrorDetail.
class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
  constexpr Status(Code code, uint32_t instruction = kNoInstruction)
      : code_(code), instruction_(instruction) {}
  constexpr bool ok() const { return code_ == Code::kOk; }
  constexpr Code code() const { return code_; }
  constexpr uint32_t instruction() const { return instruction_; }

 private:
  Code code_ = Code::kOk;
  uint32_t instruction_ = kNoInstruction;
};

/// The numbers behind an error. Plain data, owned by the caller, filled by whoever fails first;
/// never allocated.
struct ErrorDetail {
  Code code = Code::kOk;
  uint32_t instruction = kNoInstruction;
  uint64_t need = 0;     // expected
  uint64_t have = 0;     // found
  uint64_t offset = 0;   // bytes into the file where that is known
  int32_t operand = -1;  // value, operand or part index
  // static string: the field or rule, "header.file_bytes", "conv2d.groups divides C"
  const char* field = "";
  const char* hint = "";  // static string: what to do
  char name[64] = {};     // of the value, port or dimension concerned, truncated
};

/// Fills `detail` (which may be null) and returns the status, so that a check is one line.
Status fail(ErrorDetail* detail, Code code, const char* field, uint64_t need = 0, uint64_t have = 0,
            uint64_t offset = 0);

/// Stable lower-case word for a code, "arena_too_small".
const char* code_name(Code code);

}  // namespace ingot

/// Returns early with a failing Status.
#define INGOT_TRY(expression)                        \
  do {                                               \
    const ::ingot::Status ingot_try_ = (expression); \
    if (!ingot_try_.ok()) return ingot_try_;         \
  } while (0)
