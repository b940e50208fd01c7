// kernels/cuda/device/bytes.cuh - elements that are only moved: an unsigned type a width.
#pragma once
#include "kernels/cuda/device/gpu.h"
#include "kernels/cuda/device/loops.h"

namespace ingot::cuda {

struct alignas(16) Bytes16 {
  uint32_t words[4];
};

template <int bytes>
struct UnitOf;
template <>
struct UnitOf<1> {
  using Type = uint8_t;
};
template <>
struct UnitOf<2> {
  using Type = uint16_t;
};
template <>
struct UnitOf<4> {
  using Type = uint32_t;
};
template <>
struct UnitOf<8> {
  using Type = uint64_t;
};
template <>
struct UnitOf<16> {
  using Type = Bytes16;
};
template <int bytes>
using Unit = typename UnitOf<bytes>::Type;

}  // namespace ingot::cuda
