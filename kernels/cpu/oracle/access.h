// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/access.h - one element at a time, by coordinates, of any type. For the oracle
// alone: as slow as it is plain.
#pragma once
#include <cstring>

#include "kernels/cpu/simd/half.inl"
#include "runtime/op/scalar_functions.h"
#include "runtime/op/tensor.h"

namespace ingot::cpu::oracle {
namespace {

/// Elements from the start of t to the element at `index`.
inline int64_t offset_of(const TensorType& t, const int64_t* index) {
  int64_t row = 0;
  for (int i = 0; i + 1 < t.rank; i++) row = row * t.dims[i] + index[i];
  return t.rank ? row * t.row_stride + index[t.rank - 1] : 0;
}

/// Calls fn(index) for every element of `dims` in row-major order.
template <class Dim, class Fn>
void for_each_index(const Dim* dims, int rank, Fn fn) {
  int64_t index[kMaxRank + 1] = {};
  for (int i = 0; i < rank; i++)
    if (dims[i] == 0) return;
  for (;;) {
    fn(static_cast<const int64_t*>(index));
    int d = rank - 1;
    while (d >= 0 && ++index[d] == dims[d]) index[d--] = 0;
    if (d < 0) return;
  }
}
template <class Fn>
void for_each_index(const TensorType& t, Fn fn) {
  for_each_index(t.dims, t.rank, fn);
}

inline bool is_integer(DType t) {
  return t != DType::kF32 && t != DType::kF16 && t != DType::kBF16 && t != DType::kF64;
}

inline double read(const TensorView& t, int64_t at) {
  switch (t.dtype) {
    case DType::kF32: return double(t.as<const float>()[at]);
    case DType::kF16: return double(f16_to_f32(t.as<const uint16_t>()[at]));
    case DType::kBF16: return double(bf16_to_f32(t.as<const uint16_t>()[at]));
    case DType::kF64: return t.as<const double>()[at];
    case DType::kI8: return double(t.as<const int8_t>()[at]);
    case DType::kU8:
    case DType::kBool: return double(t.as<const uint8_t>()[at]);
    case DType::kI16: return double(t.as<const int16_t>()[at]);
    case DType::kU16: return double(t.as<const uint16_t>()[at]);
    case DType::kI32: return double(t.as<const int32_t>()[at]);
    case DType::kU32: return double(t.as<const uint32_t>()[at]);
    case DType::kI64: return double(t.as<const int64_t>()[at]);
    case DType::kU64: return double(t.as<const uint64_t>()[at]);
    case DType::kInvalid: return 0;
  }
  return 0;
}
using scalar::truncate;

/// Whole numbers, the low 64 bits of unsigned ones.
inline int64_t read_integer(const TensorView& t, int64_t at) {
  switch (t.dtype) {
    case DType::kI64:
    case DType::kU64: return t.as<const int64_t>()[at];
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF64: return truncate(read(t, at));
    default: return int64_t(read(t, at));
  }
}
inline void write_integer(const TensorView& t, int64_t at, int64_t x) {
  switch (t.dtype) {
    case DType::kF32: t.as<float>()[at] = float(x); return;
    case DType::kF16: t.as<uint16_t>()[at] = f32_to_f16(float(x)); return;
    case DType::kBF16: t.as<uint16_t>()[at] = f32_to_bf16(float(x)); return;
    case DType::kF64: t.as<double>()[at] = double(x); return;
    case DType::kI8:
    case DType::kU8: t.as<uint8_t>()[at] = uint8_t(x); return;
    case DType::kBool: t.as<uint8_t>()[at] = x != 0; return;
    case DType::kI16:
    case DType::kU16: t.as<uint16_t>()[at] = uint16_t(x); return;
    case DType::kI32:
    case DType::kU32: t.as<uint32_t>()[at] = uint32_t(x); return;
    case DType::kI64:
    case DType::kU64: t.as<int64_t>()[at] = x; return;
    case DType::kInvalid: return;
  }
}
inline void write(const TensorView& t, int64_t at, double x) {
  switch (t.dtype) {
    case DType::kF32: t.as<float>()[at] = float(x); return;
    case DType::kF16: t.as<uint16_t>()[at] = f32_to_f16(float(x)); return;
    case DType::kBF16: t.as<uint16_t>()[at] = f32_to_bf16(float(x)); return;
    case DType::kF64: t.as<double>()[at] = x; return;
    case DType::kBool: t.as<uint8_t>()[at] = x != 0; return;
    case DType::kU64:
      t.as<uint64_t>()[at] = x >= 9223372036854775808.0 && x < 18446744073709551616.0
                                 ? uint64_t(x)
                                 : uint64_t(truncate(x));
      return;
    default: write_integer(t, at, truncate(x)); return;
  }
}
inline void copy_element(const TensorView& to, int64_t to_at, const TensorView& from,
                         int64_t from_at) {
  const size_t bytes = size_t(dtype_bytes(to.dtype));
  std::memmove(to.as<char>() + to_at * int64_t(bytes),
               from.as<const char>() + from_at * int64_t(bytes), bytes);
}

}  // namespace
}  // namespace ingot::cpu::oracle
