// SPDX-License-Identifier: Apache-2.0
// runtime/base/byte_order.h - little-endian integers at any address, on any host.
#pragma once
#include <cstdint>

namespace ingot {

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
constexpr bool kLittleEndianHost = false;
#else
constexpr bool kLittleEndianHost = true;
#endif

/// Reads an unsigned T from sizeof(T) bytes, lowest first.
template <class T>
inline T load_little(const uint8_t* bytes) {
  T value = 0;
  if constexpr (kLittleEndianHost) {
    __builtin_memcpy(&value, bytes, sizeof value);  // one load, where they need not be aligned
    return value;
  }
  for (unsigned i = 0; i < sizeof(T); i++) value = T(value | T(T(bytes[i]) << (8 * i)));
  return value;
}
template <class T>
inline void store_little(uint8_t* bytes, T value) {
  for (unsigned i = 0; i < sizeof(T); i++) bytes[i] = uint8_t(value >> (8 * i));
}

}  // namespace ingot
