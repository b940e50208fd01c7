// SPDX-License-Identifier: Apache-2.0
#include "runtime/text/candidates.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ingot::text {
namespace {

// exp(x) = 2^e * 2^(k / 64) * exp(r): |r| is at most ln 2 / 128, where terms up to r^5 are exact to
// what a double shows. ln 2 / 64 in two parts, so that a multiple of the first is exact.
constexpr double kStepsPerUnit = 92.332482616893656878, kStepHigh = 6.93147180369123816490e-01 / 64,
                 kStepLow = 1.90821492927058770002e-10 / 64;
/// The bits of 2^(k / 64).
constexpr uint64_t kRoots[64] = {
    0x3ff0000000000000, 0x3ff02c9a3e778061, 0x3ff059b0d3158574, 0x3ff0874518759bc8,
    0x3ff0b5586cf9890f, 0x3ff0e3ec32d3d1a2, 0x3ff11301d0125b51, 0x3ff1429aaea92de0,
    0x3ff172b83c7d517b, 0x3ff1a35beb6fcb75, 0x3ff1d4873168b9aa, 0x3ff2063b88628cd6,
    0x3ff2387a6e756238, 0x3ff26b4565e27cdd, 0x3ff29e9df51fdee1, 0x3ff2d285a6e4030b,
    0x3ff306fe0a31b715, 0x3ff33c08b26416ff, 0x3ff371a7373aa9cb, 0x3ff3a7db34e59ff7,
    0x3ff3dea64c123422, 0x3ff4160a21f72e2a, 0x3ff44e086061892d, 0x3ff486a2b5c13cd0,
    0x3ff4bfdad5362a27, 0x3ff4f9b2769d2ca7, 0x3ff5342b569d4f82, 0x3ff56f4736b527da,
    0x3ff5ab07dd485429, 0x3ff5e76f15ad2148, 0x3ff6247eb03a5585, 0x3ff6623882552225,
    0x3ff6a09e667f3bcd, 0x3ff6dfb23c651a2f, 0x3ff71f75e8ec5f74, 0x3ff75feb564267c9,
    0x3ff7a11473eb0187, 0x3ff7e2f336cf4e62, 0x3ff82589994cce13, 0x3ff868d99b4492ed,
    0x3ff8ace5422aa0db, 0x3ff8f1ae99157736, 0x3ff93737b0cdc5e5, 0x3ff97d829fde4e50,
    0x3ff9c49182a3f090, 0x3ffa0c667b5de565, 0x3ffa5503b23e255d, 0x3ffa9e6b5579fdbf,
    0x3ffae89f995ad3ad, 0x3ffb33a2b84f15fb, 0x3ffb7f76f2fb5e47, 0x3ffbcc1e904bc1d2,
    0x3ffc199bdd85529c, 0x3ffc67f12e57d14b, 0x3ffcb720dcef9069, 0x3ffd072d4a07897c,
    0x3ffd5818dcfba487, 0x3ffda9e603db3285, 0x3ffdfc97337b9b5f, 0x3ffe502ee78b3ff6,
    0x3ffea4afa2a490da, 0x3ffefa1bee615a27, 0x3fff50765b6e4540, 0x3fffa7c1819e90d8};
constexpr double kLeast = -29;  // e^-29 is less than half of the least weight

constexpr size_t kBuckets = 512;

/// The weights that make up `part` of the total: one unit at least, all of them at most.
uint64_t units_of(double part, uint64_t total) {
  const double exact = part * double(total);
  if (exact >= double(total)) return total;
  uint64_t units = uint64_t(exact);
  if (double(units) < exact) units++;
  return std::min(std::max<uint64_t>(units, 1), total);
}

using Doubles = double __attribute__((vector_size(16)));
using Words = uint64_t __attribute__((vector_size(16)));

/// weight_of() of two. Integers are the last bits of sums, which no conversion is needed for.
inline __attribute__((always_inline)) Words weights_of(Doubles x) {
  constexpr double kInteger = 0x1.8p52, kUnits = 0x1p52;
  x = x > kLeast ? x : Doubles{kLeast, kLeast};
  const Doubles shifted = x * kStepsPerUnit + kInteger, steps = shifted - kInteger;
  const Doubles r = (x - steps * kStepHigh) - steps * kStepLow;
  const Doubles power = 1 + r * (1 + r * (1 / 2. + r * (1 / 6. + r * (1 / 24. + r * (1 / 120.)))));
  const auto n = Words(shifted);
  const Words root = {kRoots[n[0] % 64], kRoots[n[1] % 64]};
  const Words scaled = root + ((n & ~uint64_t{63}) << 46) + (uint64_t{40} << 52);  // 2^(e + 40)
  return Words(Doubles(scaled) * power + kUnits) & ((uint64_t{1} << 52) - 1);
}

}  // namespace

uint64_t weight_of(double x) { return weights_of(Doubles{x, x})[0]; }

template <class Keeps>
void Candidates::keep(Keeps keeps) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    if (!keeps(i)) continue;
    logits[kept] = logits[i], weights[kept] = weights[i], ids[kept] = ids[i];
    kept++;
  }
  count = kept;
}

template <class T>
void Candidates::take(const T* from, Span<const uint8_t> allowed) {
  size_t kept = 0;
  const auto take_one = [&](size_t i) {
    logits[kept] = double(from[i]), ids[kept] = uint32_t(i);
    kept += from[i] > T(-INFINITY);
  };
  if (allowed.empty()) {
    for (size_t i = 0; i < count; i++) take_one(i);
  } else {
    for_each_bit(allowed, count, take_one);
  }
  count = kept;
}
template void Candidates::take(const float*, Span<const uint8_t>);
template void Candidates::take(const double*, Span<const uint8_t>);

size_t Candidates::largest() const {
  const double most = largest_of(logits, count);
  size_t i = 0;
  while (i + 1 < count && logits[i] != most) i++;
  return i;
}

void Candidates::weigh(double temperature) {
  // the reciprocal of a subnormal is infinite, and that times 0 is no number
  const double most = largest_of(logits, count), scale = std::min(1 / temperature, 1e300);
  Words sum = {0, 0};
  size_t i = 0;
  for (; i + 2 <= count; i += 2) {
    const Words two = weights_of((Doubles{logits[i], logits[i + 1]} - most) * scale);
    std::memcpy(weights + i, &two, sizeof two);
    sum += two;
  }
  total = sum[0] + sum[1];
  if (i < count) total += weights[i] = weight_of((logits[i] - most) * scale);
}

void Candidates::keep_top_n_sigma(double n) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < count; i++) sum += logits[i];
  const double mean = sum / double(count);
  for (size_t i = 0; i < count; i++) squares += (logits[i] - mean) * (logits[i] - mean);
  const double least = largest_of(logits, count) - n * std::sqrt(squares / double(count));
  keep([=](size_t i) { return logits[i] >= least; });
}

void Candidates::keep_top_k(size_t k) {
  if (k == 0 || k >= count) return;
  const auto before = [this](uint32_t a, uint32_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  };
  // The k best so far are a heap with the last of them at its top.
  for (size_t i = 0; i < k; i++) order[i] = uint32_t(i);
  std::make_heap(order, order + k, before);
  for (size_t i = k; i < count; i++) {
    if (!(logits[i] > logits[order[0]])) continue;
    std::pop_heap(order, order + k, before);
    order[k - 1] = uint32_t(i);
    std::push_heap(order, order + k, before);
  }
  const size_t last = order[0];
  const double least = logits[last];
  keep([=](size_t i) { return logits[i] > least || (logits[i] == least && i <= last); });
}

/// The first ones by their keys whose weights reach `need`. What has a weight has a key up to
/// -kLeast above `least`. Sums of buckets of keys tell in which one the last of them is; its halves
/// are told apart, not sorted, down to that one.
template <class Key>
void Candidates::keep_mass(uint64_t need, double least, Key key) {
  uint64_t sums[kBuckets] = {};
  const auto bucket_of = [=](size_t i) {
    return std::min(size_t((key(i) - least) * (kBuckets / -kLeast)), kBuckets - 1);
  };
  // What has no weight is kept by its key, and decides nothing.
  for (size_t i = 0; i < count; i++)
    if (weights[i]) sums[bucket_of(i)] += weights[i];
  size_t bucket = 0;
  uint64_t mass = 0;  // of those before `low`
  while (mass + sums[bucket] < need) mass += sums[bucket++];
  size_t low = 0, high = 0;
  for (size_t i = 0; i < count; i++)
    if (weights[i] && bucket_of(i) == bucket) order[high++] = uint32_t(i);
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    std::nth_element(order + low, order + middle, order + high, [=](uint32_t a, uint32_t b) {
      const double x = key(a), y = key(b);
      return x < y || (x == y && a < b);
    });
    uint64_t sum = 0;
    for (size_t i = low; i < middle; i++) sum += weights[order[i]];
    if (mass + sum >= need)
      high = middle;
    else
      mass += sum, low = middle;
  }
  const size_t last = order[low];
  const double end = key(last);
  keep([=](size_t i) { return key(i) < end || (key(i) == end && i <= last); });
}

void Candidates::keep_top_p(double mass) {
  const double most = largest_of(logits, count);
  const uint64_t need = units_of(mass, total);
  // Those lighter than this weigh less than what is not needed, all together. Weights are rounded,
  // by half a unit at most.
  const double light = double(total - need) / double(count) - 0.5;
  if (light > 0.5) {
    const double least = most + std::log(light / double(kFullWeight)) - 1e-6;
    keep([=](size_t i) { return logits[i] >= least; });
  }
  keep_mass(need, -most, [this](size_t i) { return -logits[i]; });
}

void Candidates::keep_typical(double mass) {
  const double most = largest_of(logits, count);
  // -log p less the entropy is the mean of the logits by their probabilities, less the logit.
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += double(weights[i]) * (logits[i] - most);
  const double mean = most + sum / double(total);
  keep_mass(units_of(mass, total), 0,
            [this, mean](size_t i) { return std::fabs(logits[i] - mean); });
}

void Candidates::keep_min_p(double part) {
  const double least = part * double(kFullWeight);
  keep([=](size_t i) { return double(weights[i]) >= least; });
}

}  // namespace ingot::text
