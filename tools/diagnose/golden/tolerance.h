// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/golden/tolerance.h - the tolerance table, in the one place that has it (design 9).
// Tests and `ingot check` use this.
#pragma once
#include "runtime/op/tensor.h"

namespace ingot::check {

/// |difference| may be at most relative * max|expected| + absolute + spreads * (the reference's own
/// spread).
struct Tolerance {
  double relative = 0;
  double absolute = 0;
  double spreads = 0;
};

// fp32: the reference disagrees with itself by its spread; twice that is noise. Winograd's
// transforms cost one decimal bit.
constexpr Tolerance kF32 = {1e-4, 0, 2};
constexpr Tolerance kF32WithoutWinograd = {5e-5, 0, 2};
constexpr Tolerance kF16 = {1e-2, 0, 2};
constexpr Tolerance kBF16 = {3e-2, 0, 2};
// Whole networks of a lesser precision on a GPU, or of halves on a CPU, are as far from f32 as
// those whose weights are stored so: kF16, kBF16. Products of less than f32 on a GPU (`--precision
// fast`, `fp16`), one layer: operands keep 11, 11 and 8 bits, sums are f32.
constexpr Tolerance kTf32Product = {1e-3, 0, 0};
constexpr Tolerance kF16Product = {3e-3, 0, 0};
constexpr Tolerance kBF16Product = {1.5e-2, 0, 0};
constexpr Tolerance kExact = {0, 0, 0};

/// Of the type that weights are stored in and the one that operands are rounded to (kInvalid:
/// neither): the one whose tolerance holds for both.
constexpr DType narrower(DType stored, DType rounded) {
  const bool is_first =
      stored == DType::kInvalid || (stored == DType::kF16 && rounded == DType::kBF16);
  return is_first ? rounded : stored;
}

/// By the type that the output has in the file, and that of the weights where they are stored
/// smaller (kInvalid: not).
constexpr Tolerance tolerance_of(DType dtype, bool winograd, DType stored = DType::kInvalid) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF64:
      if (stored == DType::kF16) return kF16;
      if (stored == DType::kBF16) return kBF16;
      return winograd ? kF32 : kF32WithoutWinograd;
    case DType::kF16: return kF16;
    case DType::kBF16: return kBF16;
    default: return kExact;
  }
}

}  // namespace ingot::check
