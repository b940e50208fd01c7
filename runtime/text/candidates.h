// SPDX-License-Identifier: Apache-2.0
// runtime/text/candidates.h - the tokens that may still be drawn, and the stages that take some of
// them away. They stay in the order of their ids, so that every sum has one order; none is sorted.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ingot::text {

/// exp(x) * 2^40 to the nearest, x at most 0. Sums and products alone: the same on every machine.
uint64_t weight_of(double x);
constexpr uint64_t kFullWeight = uint64_t{1} << 40;

struct Candidates {
  double* logits;
  uint64_t* weights;
  uint32_t* ids;
  uint32_t* order;  // scratch
  size_t count;

  /// Drops what is -infinity.
  void keep_possible();
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
  uint64_t total() const;

 private:
  template <class Keeps>
  void keep(Keeps keeps);
  template <class Key>
  void keep_mass(double part, Key key);
};

}  // namespace ingot::text
