// SPDX-License-Identifier: Apache-2.0
// tests/cuda/fast_divide_test.cpp - quotients by a planned divisor beside those of the processor,
// on hosts with and without integers of 128 bits.
#include "kernels/cuda/device/fast_divide.h"

#include <doctest/doctest.h>

#include <random>

using namespace ingot::cuda;

TEST_CASE("fast_divide: every width of dividend and divisor, and the ends of their ranges") {
  std::mt19937_64 random(7);
  size_t wrong = 0, narrow = 0;
  const auto compare = [&](uint64_t n, int64_t d) {
    const FastDivisor f = fast_divisor(d);
    wrong += divide(n, f) != n / uint64_t(d);
    if (!fits_index32(int64_t(n)) || !fits_index32(d)) return;
    narrow++;
    wrong += divide(uint32_t(n), f) != uint32_t(n) / uint32_t(d);
  };
  for (int i = 0; i < 200000; i++) {
    const uint64_t n = random() >> (1 + random() % 63);
    const int64_t d = int64_t(random() >> (1 + random() % 63)) | 1;
    compare(n, d);
    compare(n / uint64_t(d) * uint64_t(d), d);  // the first of a quotient, and the one before
    if (n >= uint64_t(d)) compare(n / uint64_t(d) * uint64_t(d) - 1, d);
  }
  for (int log = 0; log < 63; log++)
    for (int64_t d : {int64_t{1} << log, (int64_t{1} << log) + 1, (int64_t{1} << log) - 1})
      if (d > 0) compare(INT64_MAX, d), compare(INT32_MAX, d), compare(0, d);
  CHECK(wrong == 0);
  CHECK(narrow > 0);
}
