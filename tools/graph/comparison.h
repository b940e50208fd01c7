// SPDX-License-Identifier: Apache-2.0
// tools/graph/comparison.h - a question about dims that the bounds of their symbols leave open, and
// the bounds that would answer it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::graph {

/// a == b, or a >= b, or (negated) the opposite.
struct Comparison {
  enum class Kind : uint8_t { kEqual, kAtLeast };
  Kind kind = Kind::kEqual;
  Dim a, b;
  bool negated = false;
  std::string text() const;  // "T//4 != 1"
};

/// Extents of one symbol between which a comparison always, or never, holds.
struct DecidingBounds {
  std::string symbol;
  SymbolBounds bounds;
  bool holds = false;
};

constexpr int64_t kMaxExtentsTried = 1 << 16;

/// Every run of extents with one answer, found by trying the first kMaxExtentsTried of them; those
/// where it holds come first. A run that reaches the last extent tried has no upper bound when the
/// rest is proved. Nothing when several symbols, or none, are involved.
std::vector<DecidingBounds> deciding_bounds(const Comparison& comparison);
/// The answer when every extent within the bounds gives the same.
std::optional<bool> answer(const Comparison& comparison);

}  // namespace ingot::graph
