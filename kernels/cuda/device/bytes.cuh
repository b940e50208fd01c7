// SPDX-License-Identifier: Apache-2.0
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
/// Unit number `from_at` to place `to_at`, in units of 1, 2, 4, 8 or 16 bytes. The branch is the
/// same for a whole launch.
GPU_FN void copy_unit(const char* from, int64_t from_at, char* to, int64_t to_at, int bytes) {
  switch (bytes) {
    case 1: to[to_at] = from[from_at]; break;
    case 2:
      reinterpret_cast<uint16_t*>(to)[to_at] = reinterpret_cast<const uint16_t*>(from)[from_at];
      break;
    case 4:
      reinterpret_cast<uint32_t*>(to)[to_at] = reinterpret_cast<const uint32_t*>(from)[from_at];
      break;
    case 8:
      reinterpret_cast<uint64_t*>(to)[to_at] = reinterpret_cast<const uint64_t*>(from)[from_at];
      break;
    default:
      reinterpret_cast<Bytes16*>(to)[to_at] = reinterpret_cast<const Bytes16*>(from)[from_at];
      break;
  }
}

/// Two or four bytes as a number; aligned to their size, or anywhere.
GPU_FN uint32_t half_at(const uint8_t* p, bool is_aligned) {
  return is_aligned ? *reinterpret_cast<const uint16_t*>(p) : uint32_t(p[0]) | uint32_t(p[1]) << 8;
}
GPU_FN uint32_t word_at(const uint8_t* p, bool is_aligned) {
  return is_aligned ? *reinterpret_cast<const uint32_t*>(p)
                    : half_at(p, false) | half_at(p + 2, false) << 16;
}

template <int bytes>
using Unit = typename UnitOf<bytes>::Type;

/// Four bytes of eight, those of a before those of b: the digits of `choice` (0 .. 7) say which,
/// the lowest digit the lowest byte. One instruction.
GPU_FN uint32_t pick_bytes(uint32_t a, uint32_t b, uint32_t choice) {
#if defined(__CUDACC__)
  return __byte_perm(a, b, choice);
#else
  const uint64_t all = uint64_t(b) << 32 | a;
  uint32_t picked = 0;
  for (int i = 0; i < 4; i++) picked |= uint32_t(all >> 8 * (choice >> 4 * i & 7) & 255) << 8 * i;
  return picked;
#endif
}

}  // namespace ingot::cuda
