// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/data_dependent/nonzero.inl - counts, then writes coordinates as dense rows of that
// many. Contract: runtime/op/data_dependent.h. One member works: what is written where depends on
// all that came before.
#pragma once
#include "kernels/cpu/copy/move.inl"
#include "runtime/op/data_dependent.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// Zero is all bits but the sign of a float, and all bits of anything else.
template <class T>
bool is_nonzero(const char* at, T mask) {
  T bits;
  std::memcpy(&bits, at, sizeof(T));
  return (bits & mask) != 0;
}

template <class T>
void nonzero_of(const TensorView& x, T mask, int64_t* y, int64_t* count) {
  const int64_t elements = x.elements();
  const char* from = x.as<const char>();
  int64_t n = 0;
  for (int64_t i = 0; i < elements; i++) n += is_nonzero<T>(from + i * int64_t(sizeof(T)), mask);
  *count = n;
  int64_t coordinate[kMaxRank] = {}, at = 0;
  for (int64_t i = 0; i < elements; i++) {
    if (is_nonzero<T>(from + i * int64_t(sizeof(T)), mask)) {
      for (int d = 0; d < x.rank; d++) y[d * n + at] = coordinate[d];
      at++;
    }
    for (int d = x.rank - 1; d >= 0 && ++coordinate[d] == x.dims[d]; d--) coordinate[d] = 0;
  }
}

template <class V>
Status nonzero(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView& x = a.inputs[0];
  int64_t *y = a.outputs[0].as<int64_t>(), *count = a.outputs[1].as<int64_t>();
  const bool is_float = x.dtype == DType::kF64 || x.dtype == DType::kF32 ||
                        x.dtype == DType::kF16 || x.dtype == DType::kBF16;
  switch (dtype_bytes(x.dtype)) {
    case 8: nonzero_of<uint64_t>(x, is_float ? ~uint64_t{0} >> 1 : ~uint64_t{0}, y, count); break;
    case 4: nonzero_of<uint32_t>(x, is_float ? ~uint32_t{0} >> 1 : ~uint32_t{0}, y, count); break;
    case 2:
      nonzero_of<uint16_t>(x, is_float ? uint16_t{0x7fff} : uint16_t{0xffff}, y, count);
      break;
    default: nonzero_of<uint8_t>(x, uint8_t{0xff}, y, count); break;
  }
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
