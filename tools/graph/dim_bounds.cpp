// SPDX-License-Identifier: Apache-2.0
// tools/graph/dim_bounds.cpp - what the bounds of symbols prove about an expression.
#include <algorithm>

#include "tools/files/work_budget.h"
#include "tools/graph/dim.h"

namespace ingot::graph {
namespace {

using Wide = __int128;
// far beyond any product of two 64-bit numbers we multiply below
constexpr Wide kInfinity = Wide(1) << 100;

struct Range {
  Wide low, high;
};
Wide clamp(Wide v) { return std::clamp<Wide>(v, -kInfinity, kInfinity); }
bool is_infinite(Wide v) { return v >= kInfinity || v <= -kInfinity; }
bool is_huge(Wide v) { return v > INT64_MAX || v < INT64_MIN; }

Wide multiply(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  // Both within 64 bits: exact. Otherwise only the sign matters for a proof.
  if (!is_huge(a) && !is_huge(b)) return clamp(a * b);
  return (a > 0) == (b > 0) ? kInfinity : -kInfinity;
}
Wide add(Wide a, Wide b) {
  if (is_infinite(a)) return a;
  if (is_infinite(b)) return b;
  return clamp(a + b);
}
Range multiply(Range a, Range b) {
  const Wide corners[] = {multiply(a.low, b.low), multiply(a.low, b.high), multiply(a.high, b.low),
                          multiply(a.high, b.high)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}
Wide floor_quotient(Wide a, Wide b) {
  if (is_infinite(a)) return a;
  if (is_infinite(b)) return a < 0 ? -1 : 0;
  return a / b - (a % b != 0 && a < 0 ? 1 : 0);
}

Range range_of(const Dim& d);
Range range_of(const DimAtom& atom) {
  host::charge_work(1);
  if (atom.kind == DimAtom::Kind::kSymbol)
    return {atom.low, atom.high > 0 ? Wide(atom.high) : kInfinity};
  const Range a = range_of(atom.a), b = range_of(atom.b);
  if (atom.kind == DimAtom::Kind::kMin) return {std::min(a.low, b.low), std::min(a.high, b.high)};
  if (atom.kind == DimAtom::Kind::kMax) return {std::max(a.low, b.low), std::max(a.high, b.high)};
  const Wide least = std::max<Wide>(b.low, 1), most = std::max<Wide>(b.high, 1);
  return {std::min(floor_quotient(a.low, least), floor_quotient(a.low, most)),
          std::max(floor_quotient(a.high, least), floor_quotient(a.high, most))};
}
Range range_of(const Dim& d) {
  Range sum{d.node().constant, d.node().constant};
  for (const DimTerm& term : d.node().terms) {
    Range part{term.coefficient, term.coefficient};
    for (const DimAtomPtr& atom : term.factors) part = multiply(part, range_of(*atom));
    // An infinite bound of one sign must not hide one of the other.
    sum.low = is_infinite(part.low) ? -kInfinity : add(sum.low, part.low);
    sum.high = is_infinite(part.high) ? kInfinity : add(sum.high, part.high);
  }
  return sum;
}

/// d >= 0? Linear atoms are replaced by what bounds them from the unfavourable side: floor(A/c)
/// lies in [(A-c+1)/c, A/c], min(A,B) is at most either, max at least either; d is scaled by c so
/// that all stays integer.
bool proven_nonnegative(const Dim& d, int depth) {
  if (range_of(d).low >= 0) return true;
  if (depth <= 0 || range_of(d).high < 0) return false;
  for (const DimTerm& term : d.node().terms) {
    if (term.factors.size() != 1) continue;
    const DimAtom& atom = *term.factors[0];
    const bool positive = term.coefficient > 0;
    if (atom.kind == DimAtom::Kind::kFloorDiv && atom.b.is_static()) {
      const Dim c = atom.b;
      const Dim others = (d - Dim(term.coefficient) * Dim::of(term.factors[0])) * c;
      const Dim edge = positive ? atom.a - c + Dim(1) : atom.a;
      return proven_nonnegative(others + Dim(term.coefficient) * edge, depth - 1);
    }
    const bool usable = (atom.kind == DimAtom::Kind::kMin && !positive) ||
                        (atom.kind == DimAtom::Kind::kMax && positive);
    if (!usable) continue;
    const Dim others = d - Dim(term.coefficient) * Dim::of(term.factors[0]);
    return proven_nonnegative(others + Dim(term.coefficient) * atom.a, depth - 1) ||
           proven_nonnegative(others + Dim(term.coefficient) * atom.b, depth - 1);
  }
  return false;
}

}  // namespace

bool proven_at_least(const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static()) return *a.value() >= *b.value();
  try {
    return proven_nonnegative(a - b, 4);
  } catch (const DimError&) {  // too large to reason about
    return false;
  }
}
std::optional<int64_t> lower_bound(const Dim& a) {
  const Range range = range_of(a);
  if (is_huge(range.low)) return std::nullopt;
  return int64_t(range.low);
}
std::optional<int64_t> upper_bound(const Dim& a) {
  const Range range = range_of(a);
  if (is_huge(range.high)) return std::nullopt;
  return int64_t(range.high);
}

}  // namespace ingot::graph
