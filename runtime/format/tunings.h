// SPDX-License-Identifier: Apache-2.0
// runtime/format/tunings.h - the variants of kernels that a file may carry, by GPU. Validated
// before anything is read from them; what they name is only looked up among what kernels offer, so
// that a hostile part can at worst be slow.
#pragma once
#include "runtime/base/span.h"
#include "runtime/base/status.h"

namespace ingot {

/// Which tuning: of a GPU, a precision and a binding of the program's free symbols.
struct TuningKey {
  const char* gpu = "";
  uint32_t compute_capability = 0, multiprocessors = 0;
  uint8_t precision = 0;
  uint64_t dims = 0;  // tuning_dims()
};
struct TunedInstruction {
  const char* variant = "";
  uint32_t parts = 0;
  float nanoseconds = 0, model_nanoseconds = 0;
};
constexpr uint64_t kMaxTuningBytes = uint64_t{1} << 26;

/// Values of the free symbols as one number.
inline uint64_t tuning_dims(Span<const int64_t> values) {
  uint64_t hash = 14695981039346656037ull;
  for (const int64_t value : values)
    hash = (hash ^ uint64_t(value)) * 1099511628211ull, hash ^= hash >> 32;
  return hash;
}

/// Validates the structure, and that the instructions of each tuning ascend. `part` is 16-byte
/// aligned.
/// Errors  kStructureInvalid, kLimitExceeded (more than kMaxTuningBytes), kMeaningInvalid.
Status validate_tunings(Span<const uint8_t> part, ErrorDetail* detail);
/// @pre of all below: validate_tunings() was ok for the same bytes
uint32_t tuning_count(Span<const uint8_t> part);
/// The first of that key; -1: none.
int32_t find_tuning(Span<const uint8_t> part, const TuningKey& key);
/// False where the tuning says nothing of that instruction. Strings lead into the part. @pre index
/// < tuning_count()
bool find_tuned(Span<const uint8_t> part, uint32_t index, uint32_t instruction,
                TunedInstruction* out);

}  // namespace ingot
