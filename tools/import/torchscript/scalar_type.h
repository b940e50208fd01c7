// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/scalar_type.h - PyTorch's numbers for element types (c10::ScalarType),
// as code has them.
#pragma once
#include <cstdint>

#include "runtime/op/tensor.h"

namespace ingot::torchscript {

/// -1 for none.
inline int64_t scalar_type_of(DType dtype) {
  switch (dtype) {
    case DType::kU8: return 0;
    case DType::kI8: return 1;
    case DType::kI16: return 2;
    case DType::kI32: return 3;
    case DType::kI64: return 4;
    case DType::kF16: return 5;
    case DType::kF32: return 6;
    case DType::kF64: return 7;
    case DType::kBool: return 11;
    case DType::kBF16: return 15;
    case DType::kU16: return 27;
    case DType::kU32: return 28;
    case DType::kU64: return 29;
    default: return -1;
  }
}

}  // namespace ingot::torchscript
