// SPDX-License-Identifier: Apache-2.0
#include "runtime/text/candidates.h"

#include <algorithm>
#include <cmath>

namespace ingot::text {
namespace {

/// 1 / k! from k = 13 down: for |r| up to 0.35 the rest is less than a double shows.
constexpr double kExpTerms[] = {1 / 6227020800.,
                                1 / 479001600.,
                                1 / 39916800.,
                                1 / 3628800.,
                                1 / 362880.,
                                1 / 40320.,
                                1 / 5040.,
                                1 / 720.,
                                1 / 120.,
                                1 / 24.,
                                1 / 6.,
                                1 / 2.,
                                1.,
                                1.};

constexpr size_t kBuckets = 512;

/// The weights that make up `part` of the total: one unit at least, all of them at most.
uint64_t units_of(double part, uint64_t total) {
  const double exact = part * double(total);
  if (exact >= double(total)) return total;
  uint64_t units = uint64_t(exact);
  if (double(units) < exact) units++;
  return std::min(std::max<uint64_t>(units, 1), total);
}

/// weight_of() of several, whose sums do not wait for each other.
template <size_t several>
void weigh_several(const double* x, uint64_t* weights) {
  constexpr double kLeast = -29;  // e^-29 is less than half of the least weight
  double rest[several], sum[several] = {};
  int n[several];
  for (size_t i = 0; i < several; i++) {
    // x = n ln 2 + r; ln 2 in two parts, so that n times the first is exact
    const double one = x[i] > kLeast ? x[i] : kLeast;
    n[i] = int(one * 1.4426950408889634 - 0.5);
    rest[i] = (one - n[i] * 6.93147180369123816490e-01) - n[i] * 1.90821492927058770002e-10;
  }
  for (const double term : kExpTerms)
#pragma GCC unroll 8
    for (size_t i = 0; i < several; i++) sum[i] = sum[i] * rest[i] + term;
  for (size_t i = 0; i < several; i++) {
    // 2^(n + 40), n at least -42
    const double units = sum[i] * (double(int64_t{1} << (n[i] + 42)) / 4);
    const auto whole = int64_t(units);
    weights[i] = x[i] > kLeast ? uint64_t(whole + (units - double(whole) >= 0.5)) : 0;
  }
}

}  // namespace

uint64_t weight_of(double x) {
  uint64_t weight;
  weigh_several<1>(&x, &weight);
  return weight;
}

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

void Candidates::keep_possible() {
  keep([this](size_t i) { return logits[i] > -INFINITY; });
}

size_t Candidates::largest() const {
  size_t best = 0;
  for (size_t i = 1; i < count; i++)
    if (logits[i] > logits[best]) best = i;
  return best;
}

uint64_t Candidates::total() const {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; i++) sum += weights[i];
  return sum;
}

void Candidates::weigh(double temperature) {
  const double most = logits[largest()];
  constexpr size_t kSeveral = 8;
  double x[kSeveral];
  size_t i = 0;
  for (; i + kSeveral <= count; i += kSeveral) {
    for (size_t j = 0; j < kSeveral; j++) x[j] = (logits[i + j] - most) / temperature;
    weigh_several<kSeveral>(x, weights + i);
  }
  for (; i < count; i++) weights[i] = weight_of((logits[i] - most) / temperature);
}

void Candidates::keep_top_n_sigma(double n) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < count; i++) sum += logits[i];
  const double mean = sum / double(count);
  for (size_t i = 0; i < count; i++) squares += (logits[i] - mean) * (logits[i] - mean);
  const double least = logits[largest()] - n * std::sqrt(squares / double(count));
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

/// The first ones by their keys whose weights reach `part` of the total. Sums of buckets of keys
/// tell in which one the last of them is; its halves are told apart, not sorted, down to that one.
template <class Key>
void Candidates::keep_mass(double part, Key key) {
  const uint64_t need = units_of(part, total());
  // What has no weight is kept by its key, and decides nothing.
  double low_key = INFINITY, high_key = -INFINITY;
  for (size_t i = 0; i < count; i++)
    if (weights[i]) low_key = std::min(low_key, key(i)), high_key = std::max(high_key, key(i));
  uint64_t sums[kBuckets] = {};
  double scale = (kBuckets - 1) / (high_key - low_key);
  if (!(scale < 1e300)) scale = 0;  // all are equal, or nearly
  const auto bucket_of = [=](size_t i) { return size_t((key(i) - low_key) * scale); };
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
  const double most = key(last);
  keep([=](size_t i) { return key(i) < most || (key(i) == most && i <= last); });
}

void Candidates::keep_top_p(double mass) {
  keep_mass(mass, [this](size_t i) { return -logits[i]; });
}

void Candidates::keep_typical(double mass) {
  const double most = logits[largest()];
  // -log p less the entropy is the mean of the logits by their probabilities, less the logit.
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += double(weights[i]) * (logits[i] - most);
  const double mean = most + sum / double(total());
  keep_mass(mass, [this, mean](size_t i) { return std::fabs(logits[i] - mean); });
}

void Candidates::keep_min_p(double part) {
  const double least = part * double(kFullWeight);
  keep([=](size_t i) { return double(weights[i]) >= least; });
}

}  // namespace ingot::text
