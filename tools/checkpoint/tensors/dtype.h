// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/tensors/dtype.h - the type that a program of ours computes with for elements of
// a checkpoint.
#pragma once
#include "runtime/op/tensor.h"
#include "tools/checkpoint/tensors/element_type.h"

namespace ingot::checkpoint {

/// kInvalid for types that no tensor of ours has.
inline DType dtype_of(ElementType type) {
  switch (type) {
    case ElementType::kF32: return DType::kF32;
    case ElementType::kF16: return DType::kF16;
    case ElementType::kBf16: return DType::kBF16;
    case ElementType::kF64: return DType::kF64;
    case ElementType::kI8: return DType::kI8;
    case ElementType::kU8: return DType::kU8;
    case ElementType::kI16: return DType::kI16;
    case ElementType::kU16: return DType::kU16;
    case ElementType::kI32: return DType::kI32;
    case ElementType::kU32: return DType::kU32;
    case ElementType::kI64: return DType::kI64;
    case ElementType::kU64: return DType::kU64;
    case ElementType::kBool: return DType::kBool;
    default: return DType::kInvalid;
  }
}

}  // namespace ingot::checkpoint
