// tools/diagnose/precision/round.h - f32 numbers as a GPU's tensor cores and f16 memory have them.
#pragma once
#include <cstddef>

namespace ingot::precision {

enum class Format { kTf32, kF16 };

/// Rounds `count` numbers where they lie; NaN stays one. kF16: to nearest, ties to even, infinite
/// from 65520 on. kTf32: as near_tf32() of kernels/cuda/device/tensor_core.cuh and the tensor core
/// behind it, which drops the low bits.
void round_to(Format format, float* numbers, size_t count);

}  // namespace ingot::precision
