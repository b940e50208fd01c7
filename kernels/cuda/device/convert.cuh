// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/device/convert.cuh - elements of any type to and from the type that is computed
// with; rules of kernels/cpu/elementwise/convert.inl: truncation toward zero, what lies outside
// int64 becomes its smallest value, then the low bits.
#pragma once
#include "kernels/cuda/device/lane.h"
// Below lane.h.
#include "kernels/cpu/elementwise/convert.inl"
#include "runtime/op/tensor.h"

namespace ingot::cuda {

using cpu::tensors::to_unsigned;
using cpu::tensors::to_whole;

/// A real number as T: whole types through int64.
template <class T, class From>
GPU_FN T from_real(From x) {
  if constexpr (T(0.5) == T(0))
    return T(to_whole(x));
  else
    return T(x);
}
template <class T>
GPU_FN T from_float(float x) {
  return from_real<T>(x);
}

template <class T>
GPU_FN T load_as(DType dtype, const void* data, int64_t at) {
  switch (dtype) {
    case DType::kF32: return from_real<T>(static_cast<const float*>(data)[at]);
    case DType::kF64: return from_real<T>(static_cast<const double*>(data)[at]);
    case DType::kF16: return from_real<T>(cpu::f16_to_f32(static_cast<const uint16_t*>(data)[at]));
    case DType::kBF16:
      return from_real<T>(cpu::bf16_to_f32(static_cast<const uint16_t*>(data)[at]));
    case DType::kI8: return T(static_cast<const int8_t*>(data)[at]);
    case DType::kU8:
    case DType::kBool: return T(static_cast<const uint8_t*>(data)[at]);
    case DType::kI16: return T(static_cast<const int16_t*>(data)[at]);
    case DType::kU16: return T(static_cast<const uint16_t*>(data)[at]);
    case DType::kI32: return T(static_cast<const int32_t*>(data)[at]);
    case DType::kU32: return T(static_cast<const uint32_t*>(data)[at]);
    case DType::kI64: return T(static_cast<const int64_t*>(data)[at]);
    case DType::kU64: return T(static_cast<const uint64_t*>(data)[at]);
    case DType::kInvalid: break;
  }
  return T(0);
}

template <class T>
GPU_FN void store_as(DType dtype, void* data, int64_t at, T x) {
  switch (dtype) {
    case DType::kF32: static_cast<float*>(data)[at] = float(x); return;
    case DType::kF64: static_cast<double*>(data)[at] = double(x); return;
    case DType::kF16: static_cast<uint16_t*>(data)[at] = cpu::f32_to_f16(float(x)); return;
    case DType::kBF16: static_cast<uint16_t*>(data)[at] = cpu::f32_to_bf16(float(x)); return;
    case DType::kI8:
    case DType::kU8: static_cast<uint8_t*>(data)[at] = uint8_t(uint64_t(to_whole(x))); return;
    case DType::kI16:
    case DType::kU16: static_cast<uint16_t*>(data)[at] = uint16_t(uint64_t(to_whole(x))); return;
    case DType::kI32:
    case DType::kU32: static_cast<uint32_t*>(data)[at] = uint32_t(uint64_t(to_whole(x))); return;
    case DType::kI64: static_cast<int64_t*>(data)[at] = to_whole(x); return;
    case DType::kU64: static_cast<uint64_t*>(data)[at] = to_unsigned(x); return;
    case DType::kBool: static_cast<uint8_t*>(data)[at] = x != T(0); return;
    case DType::kInvalid: return;
  }
}

}  // namespace ingot::cuda
