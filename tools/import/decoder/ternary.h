// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/ternary.h - numbers -1, 0 and 1 times a scale as blocks of Q2_K, for which
// there are kernels: of each group d * f * code - d * f, where a code is the number and 1.
#pragma once
#include <functional>
#include <string>

#include "tools/import/decoder/tensor_source.h"

namespace ingot::decoder {

constexpr int64_t kTernaryUnit = 256;  // numbers of a block

/// d, bits of f16, and f, 1 .. 15: what they multiply to is next to a scale, within 2^-12 of it.
struct TernaryScale {
  uint16_t d = 0;
  int factor = 1;
  /// The nearest product. @return false where f16 does not hold it
  bool find(float scale);
};
/// Codes, 0 .. 3, of kTernaryUnit columns of a row from one on.
using TernaryCodes = std::function<void(int64_t row, int64_t column, uint8_t* codes)>;
/// A matrix of them. @pre columns are a multiple of kTernaryUnit
SourceTensor ternary_matrix(const std::string& name, int64_t rows, int64_t columns,
                            const TernaryScale& scale, const TernaryCodes& codes);

/// A tensor in TQ1_0 or TQ2_0 in Q2_K, the same numbers; others as they are.
SourceTensor in_known_blocks(SourceTensor tensor);

}  // namespace ingot::decoder
