// SPDX-License-Identifier: Apache-2.0
// tools/graph/symbolic.h - what a small tensor of shape arithmetic holds: exact ratios of dims,
// plain numbers, or nothing known.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "tools/graph/comparison.h"
#include "tools/graph/graph.h"

namespace ingot::graph {

/// An element of a small integer tensor.
struct Element {
  ValueId value = kAbsent;
  int64_t at = 0;
};

/// One element. A ratio is exact: cast(W) * 0.5 is W/2 until it is floored.
struct Scalar {
  enum class Kind : uint8_t { kUnknown, kRatio, kReal, kTruth };
  Kind kind = Kind::kUnknown;
  Dim numerator, denominator = Dim(1);           // kRatio; denominator > 0
  double real = 0;                               // kReal: a number that is no small ratio
  std::shared_ptr<const Comparison> comparison;  // kTruth: 1 where it holds, else 0
  Element origin;                                // kUnknown: what it is the same number as

  static Scalar of(const Dim& d);
  static Scalar of(double number);
  static Scalar ratio(const Dim& numerator, const Dim& denominator);
  static Scalar truth(Comparison comparison);
  static Scalar element(ValueId value, int64_t at);
  bool known() const { return kind != Kind::kUnknown; }
  std::optional<Dim> dim() const;        // when a whole number of dims
  std::optional<double> number() const;  // when no symbol is in it
};
using Contents = std::vector<Scalar>;

/// y = op(a, b, c) for the elementwise operators that occur in shape arithmetic; unknown where it
/// cannot be said. `integer`: the operands are integers, so Div truncates. Comparisons and logic
/// give 0 or 1.
Scalar apply_symbolic(const Node& node, bool integer, const std::vector<Scalar>& operands);

/// The contents of a constant of at most `kMaxContents` elements; nothing otherwise.
constexpr int64_t kMaxContents = 1024;
std::optional<Contents> contents_of(const Constant& constant);
/// A constant when every element is a number that `dtype` holds.
std::optional<Constant> constant_of(const Contents& contents, DType dtype,
                                    const std::vector<int64_t>& dims);

}  // namespace ingot::graph
