// SPDX-License-Identifier: Apache-2.0
// runtime/op/reduced_precision.h - what a CPU may round the operands of products to, as the
// file's precision allows.
#pragma once
#include <cstdint>

namespace ingot {

enum class ReducedPrecision : uint8_t {
  kNone = 0,   // f32
  kF16 = 1,    // precision fp16
  kBf16 = 2,   // precision bf16
  kExact = 3,  // to be written as `exact`; a file that is read has kNone there
};
constexpr bool is_rounded(ReducedPrecision precision) {
  return precision == ReducedPrecision::kF16 || precision == ReducedPrecision::kBf16;
}

}  // namespace ingot
