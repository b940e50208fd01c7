// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/precision/round.h - f32 numbers as tensor cores, f16 memory and products of halves
// have them.
#pragma once
#include <cstddef>

namespace ingot::precision {

enum class Format { kTf32, kF16, kBf16 };

/// Rounds `count` numbers where they lie; NaN stays one. kF16, kBf16: to nearest, ties to even, f16
/// infinite from 65520 on. kTf32: as near_tf32() of kernels/cuda/device/tensor_core.cuh and the
/// tensor core behind it, which drops the low bits.
void round_to(Format format, float* numbers, size_t count);

}  // namespace ingot::precision
