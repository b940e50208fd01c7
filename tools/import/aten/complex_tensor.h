// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/complex_tensor.h - complex tensors of PyTorch. One is here a tensor of pairs
// [..., 2] (Builder::complex). Operators that are linear in their operands, and all that move
// elements, are lowered once for the real and once for the imaginary parts; the others have rules
// of their own, or are refused by name.
#pragma once
#include "tools/import/aten/operands.h"

namespace ingot::aten {

/// The results of a call: of one with complex arguments by their parts, of any other as its schema
/// says. @throws Refused.
Results lower_complex(Builder& b, const Schema& schema, const std::vector<Value>& arguments);

/// The real (0) or imaginary (1) parts of pairs.
ValueId part_of_pairs(Builder& b, ValueId pairs, int64_t part);
/// Pairs of both, which broadcast to one shape.
ValueId pairs_of(Builder& b, ValueId real, ValueId imaginary);

}  // namespace ingot::aten
