// SPDX-License-Identifier: Apache-2.0
// tools/graph/dim.h - a dimension during conversion: a number, or an expression over named symbols,
// kept in normal form.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/graph/checked_list.h"

namespace ingot::graph {

struct DimAtom;
using DimAtomPtr = std::shared_ptr<const DimAtom>;

/// Value type with structural equality: two dims that print the same are the same. Linear parts are
/// kept as a sum of coefficient x term, a term being a symbol or an irreducible floor_div / product
/// / min / max. ceil_div(a, b) is kept as floor_div(a + b - 1, b). Division by a constant that
/// divides every coefficient is exact: (2*W)/2 is W; floor((W*8+4)/8) is W.
class Dim {
 public:
  struct Node;
  Dim() : Dim(0) {}
  Dim(int64_t n);                              // NOLINT: numbers are dims
  static Dim symbol(const std::string& name);  // at least 1 unless bounded otherwise
  /// The same symbol with bounds, both included; high 0: none. Bounds serve proofs and are no part
  /// of equality.
  static Dim symbol(const std::string& name, int64_t low, int64_t high);
  static Dim of(DimAtomPtr atom);  // that atom and nothing else
  bool is_static() const;
  std::optional<int64_t> value() const;  // when static
  std::string text() const;              // "batch", "W//2 + 1"
  int64_t evaluate(const std::map<std::string, int64_t>& bindings) const;
  /// Replaces symbols by dims.
  Dim substitute(const std::map<std::string, Dim>& by) const;
  std::vector<std::string> symbols() const;
  const Node& node() const { return *node_; }

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim operator/(const Dim& a, const Dim& b);  // floor division, b > 0
  friend Dim ceil_div(const Dim& a, const Dim& b);
  friend Dim min(const Dim& a, const Dim& b);
  friend Dim max(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);
  friend bool operator!=(const Dim& a, const Dim& b) { return !(a == b); }

 private:
  explicit Dim(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  friend struct DimBuilder;
  std::shared_ptr<const Node> node_;
};
using Dims = CheckedList<Dim, ListKind::kDimensions>;

/// What cannot be taken apart further. a and b are operands of everything but a symbol.
struct DimAtom {
  enum class Kind : uint8_t { kSymbol, kFloorDiv, kMin, kMax };
  Kind kind = Kind::kSymbol;
  std::string name;  // of a symbol
  Dim a, b;
  int64_t low = 1, high = 0;  // of a symbol; high 0: unbounded
  std::string key;            // its text, the order of the normal form
};

/// coefficient x product of factors (at least one, sorted by key).
struct DimTerm {
  int64_t coefficient = 0;
  std::vector<DimAtomPtr> factors;
};

/// The normal form: constant + sum of terms, which have distinct factors, coefficients other than
/// 0, and a fixed order. To lower a Dim, sum coefficient x product of its atoms.
struct Dim::Node {
  int64_t constant = 0;
  std::vector<DimTerm> terms;
  std::string text;
};

/// A number beyond all that a run may have stands for "no limit", as INT64_MAX in exported graphs.
constexpr int64_t kLargestNumber = int64_t(1) << 40;
/// Proofs from the bounds of the symbols. False or nothing means "not proved", never "the opposite
/// holds".
bool proven_at_least(const Dim& a, const Dim& b);  // a >= b for every binding
std::optional<int64_t> lower_bound(const Dim& a);
std::optional<int64_t> upper_bound(const Dim& a);
/// Product of all dims.
Dim product(const Dims& dims);
/// "[1, 3, H, W]".
std::string text(const Dims& dims);

}  // namespace ingot::graph
