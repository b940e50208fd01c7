// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/promotion.h - PyTorch's implicit types: tensors of any rank, tensors of rank 0
// and plain numbers each count less than the ones before.
#pragma once
#include <vector>

#include "tools/graph/tensor_math.h"
#include "tools/import/aten/builder.h"

namespace ingot::aten {

/// The type that holds both, as torch.promote_types.
DType promoted(DType a, DType b);
/// As torch.result_type over tensors and plain numbers. kInvalid when there is none of either.
DType result_type(Builder& b, const std::vector<Value>& operands);
/// A tensor or plain number as a value of that type.
ValueId as_type(Builder& b, const Value& operand, DType dtype);

}  // namespace ingot::aten
