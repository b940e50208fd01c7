// SPDX-License-Identifier: Apache-2.0
// runtime/format/golden.h - the example inputs and outputs that a file may carry. Validated before
// anything is read from them.
#pragma once
#include "runtime/base/span.h"
#include "runtime/base/status.h"
#include "runtime/op/tensor.h"

namespace ingot {

struct GoldenCounts {
  uint32_t input_count = 0, output_count = 0;
  double rtol = 0, atol = 0;
};

/// Validates the structure, and that every tensor's bytes are what its type says. `part` is 16-byte
/// aligned.
/// Errors  kStructureInvalid, kLimitExceeded (more than 2^30 bytes), kMeaningInvalid{operand =
///         tensor}.
Status validate_golden(Span<const uint8_t> part, uint32_t* out_case_count, ErrorDetail* detail);
/// @pre validate_golden() was ok for the same bytes; indices are in range.
GoldenCounts golden_case(Span<const uint8_t> part, uint32_t case_index);
/// View of input or output `index`; data leads into `part` and is never written.
TensorView golden_tensor(Span<const uint8_t> part, uint32_t case_index, bool is_input,
                         uint32_t index, const char** out_name);

}  // namespace ingot
