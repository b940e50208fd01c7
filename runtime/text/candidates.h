// SPDX-License-Identifier: Apache-2.0
// runtime/text/candidates.h - the tokens that may still be drawn, and the stages that take some of
// them away. They stay in the order of their ids, so that every sum has one order; none is sorted.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "runtime/base/span.h"

namespace ingot::text {

/// exp(x) * 2^40 to the nearest, x at most 0. Sums and products alone: the same on every machine.
uint64_t weight_of(double x);
constexpr uint64_t kFullWeight = uint64_t{1} << 40;

/// -infinity of none. Without an index of it, compilers use vectors.
template <class T>
T largest_of(const T* x, size_t count) {
  constexpr size_t kLanes = 16;
  T lanes[kLanes], most = T(-INFINITY);
  for (T& lane : lanes) lane = most;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (size_t j = 0; j < kLanes; j++) lanes[j] = x[i + j] > lanes[j] ? x[i + j] : lanes[j];
  for (; i < count; i++) most = x[i] > most ? x[i] : most;
  for (const T lane : lanes) most = lane > most ? lane : most;
  return most;
}

/// The places below `count` whose bits are set, lowest first.
template <class Takes>
void for_each_bit(Span<const uint8_t> bits, size_t count, Takes takes) {
  for (size_t byte = 0; byte < bits.size; byte++)
    for (size_t i = byte * 8, left = bits[byte]; left && i < count; i++, left >>= 1)
      if (left & 1) takes(i);
}

struct Candidates {
  double* logits;
  uint64_t* weights;
  uint32_t* ids;
  uint32_t* order;  // scratch
  size_t count;
  uint64_t total = 0;  // of the weights, when they were made

  /// Of `count` logits, one for each id, those above -infinity that have a bit, if there are bits.
  /// `from` may be `logits`.
  template <class T>
  void take(const T* from, Span<const uint8_t> allowed);
  void keep_top_n_sigma(double n);
  void keep_top_k(size_t k);
  /// Weights of exp((logit - largest) / temperature); the largest has kFullWeight.
  void weigh(double temperature);
  // These three look at the weights.
  void keep_typical(double mass);
  void keep_top_p(double mass);
  void keep_min_p(double part);

  /// The place of the largest logit, the first of equals.
  size_t largest() const;

 private:
  template <class Keeps>
  void keep(Keeps keeps);
  template <class Key>
  void keep_mass(uint64_t need, double least, Key key);
};

}  // namespace ingot::text
