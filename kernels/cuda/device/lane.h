// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/device/lane.h - arithmetic of one lane: the CPU's struct V and its elementary
// functions, as device code.
#pragma once
#include "kernels/cuda/device/gpu.h"
// Below gpu.h: INGOT_INLINE is then __device__ for a CUDA compiler.
#include "kernels/cpu/simd/activation.inl"
#include "kernels/cpu/simd/half.inl"
#include "kernels/cpu/simd/math_pow.inl"
#include "kernels/cpu/simd/math_trig.inl"
#include "kernels/cpu/simd/scalar.h"

namespace ingot::cuda {
using cpu::V;
using Fn = cpu::Trig<V>;
}  // namespace ingot::cuda
