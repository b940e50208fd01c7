// SPDX-License-Identifier: Apache-2.0
// tools/session/random.h - numbers that fill inputs, the same everywhere.
#pragma once
#include <cstdint>

namespace ingot::cli {

/// splitmix64: enough for filling.
struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  /// In [0, 1).
  float unit() { return float(next() >> 40) * 0x1p-24f; }
  double between(double low, double high) {
    return low + (high - low) * (double(next() >> 11) * 0x1p-53);
  }
};

}  // namespace ingot::cli
