// SPDX-License-Identifier: Apache-2.0
// tools/graph/comparison.cpp - answers by trying extents, since expressions of dims have steps but
// few symbols.
#include "tools/graph/comparison.h"

#include <algorithm>

namespace ingot::graph {
namespace {

void refuse_overflow(bool overflows) {
  if (overflows) throw DimError("an expression of dimensions overflows");
}

/// d where its one symbol has that value; Dim::evaluate without the normal forms in between.
int64_t at(const Dim& d, int64_t value);
int64_t at(const DimAtom& atom, int64_t value) {
  if (atom.kind == DimAtom::Kind::kSymbol) return value;
  const int64_t a = at(atom.a, value), b = at(atom.b, value);
  if (atom.kind == DimAtom::Kind::kMin) return std::min(a, b);
  if (atom.kind == DimAtom::Kind::kMax) return std::max(a, b);
  if (b <= 0) throw DimError("a dimension is divided by nothing");
  return a / b - (a % b < 0);
}
int64_t at(const Dim& d, int64_t value) {
  int64_t sum = d.node().constant;
  for (const DimTerm& term : d.node().terms) {
    int64_t part = term.coefficient;
    for (const DimAtomPtr& factor : term.factors)
      refuse_overflow(__builtin_mul_overflow(part, at(*factor, value), &part));
    refuse_overflow(__builtin_add_overflow(sum, part, &sum));
  }
  return sum;
}

const DimAtom* find_symbol(const Dim& d) {
  for (const DimTerm& term : d.node().terms) {
    for (const DimAtomPtr& factor : term.factors) {
      if (factor->kind == DimAtom::Kind::kSymbol) return factor.get();
      for (const Dim* side : {&factor->a, &factor->b})
        if (const DimAtom* found = find_symbol(*side)) return found;
    }
  }
  return nullptr;
}

/// The symbol when there is exactly one.
const DimAtom* only_symbol(const Comparison& c) {
  std::vector<std::string> names = c.a.symbols();
  for (const std::string& name : c.b.symbols()) names.push_back(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() != 1) return nullptr;
  const DimAtom* found = find_symbol(c.a);
  return found ? found : find_symbol(c.b);
}

bool holds(const Comparison& c, int64_t value) {
  const int64_t a = at(c.a, value), b = at(c.b, value);
  return (c.kind == Comparison::Kind::kEqual ? a == b : a >= b) != c.negated;
}

/// By the bounds alone, without trying.
std::optional<bool> proved(const Comparison& c) {
  const bool above = proven_at_least(c.a, c.b), below = proven_at_least(c.b, c.a);
  const bool apart = proven_at_least(c.a, c.b + Dim(1)) || proven_at_least(c.b, c.a + Dim(1));
  if (c.kind == Comparison::Kind::kEqual) {
    if (above && below) return !c.negated;
    return apart ? std::optional<bool>(c.negated) : std::nullopt;
  }
  if (above) return !c.negated;
  return proven_at_least(c.b, c.a + Dim(1)) ? std::optional<bool>(c.negated) : std::nullopt;
}

std::optional<bool> proved_within(const Comparison& c, const std::string& symbol,
                                  SymbolBounds bounds) {
  const std::map<std::string, Dim> by = {{symbol, Dim::symbol(symbol, bounds.low, bounds.high)}};
  Comparison narrowed = c;
  narrowed.a = c.a.substitute(by);
  narrowed.b = c.b.substitute(by);
  return proved(narrowed);
}

}  // namespace

std::string Comparison::text() const {
  const char* sign =
      kind == Kind::kEqual ? (negated ? " != " : " == ") : (negated ? " < " : " >= ");
  return a.text() + sign + b.text();
}

std::vector<DecidingBounds> deciding_bounds(const Comparison& comparison) {
  const DimAtom* symbol = only_symbol(comparison);
  if (!symbol) return {};
  // Where a node decides by extents, none of them is 0, unless it can be nothing else.
  const int64_t first = symbol->high == 0 ? std::max<int64_t>(symbol->low, 1) : symbol->low;
  const int64_t last_tried = first + kMaxExtentsTried - 1;
  const bool all = symbol->high > 0 && symbol->high <= last_tried;
  const int64_t last = all ? symbol->high : last_tried;
  std::vector<DecidingBounds> runs;
  for (int64_t value = first; value <= last; value++) {
    bool now = false;
    try {
      now = holds(comparison, value);
    } catch (const DimError&) {  // no such extent
      continue;
    }
    if (!runs.empty() && runs.back().holds == now && runs.back().bounds.high == value - 1)
      runs.back().bounds.high = value;
    else
      runs.push_back({symbol->name, {value, value}, now});
  }
  if (!all && !runs.empty() && runs.back().bounds.high == last) {
    const SymbolBounds open = {runs.back().bounds.low, symbol->high};
    if (proved_within(comparison, symbol->name, open) == runs.back().holds)
      runs.back().bounds = open;
  }
  std::stable_sort(runs.begin(), runs.end(), [](const DecidingBounds& x, const DecidingBounds& y) {
    return x.holds && !y.holds;
  });
  return runs;
}

std::optional<bool> answer(const Comparison& comparison) {
  if (const auto decided = proved(comparison)) return decided;
  const DimAtom* symbol = only_symbol(comparison);
  if (!symbol || symbol->high <= 0 || symbol->high - symbol->low >= kMaxExtentsTried)
    return std::nullopt;
  const std::vector<DecidingBounds> runs = deciding_bounds(comparison);
  if (runs.size() != 1 || runs[0].bounds.low != symbol->low || runs[0].bounds.high != symbol->high)
    return std::nullopt;
  return runs[0].holds;
}

}  // namespace ingot::graph
