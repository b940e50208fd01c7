// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/transposed.h - matrices that a source has as [inputs, outputs].
#pragma once
#include <cstdint>
#include <vector>

#include "tools/import/decoder/tensor_source.h"

namespace ingot::decoder {

/// A copy as `dims`, [.., outputs, inputs], of numbers [.., inputs, columns]: output o is column
/// first + o * step. @pre it has elements, of 2 or 4 bytes, and those columns
SourceTensor transposed(const SourceTensor& from, std::vector<int64_t> dims, int64_t inputs,
                        int64_t first = 0, int64_t step = 1);

}  // namespace ingot::decoder
