// tools/graph/dim.h - a dimension while casting: a number, or an expression over named symbols, kept in normal form.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ingot::graph {

/// Value type with structural equality: two dims that print the same are the same. Linear parts are kept as a sum of
/// coefficient x term, a term being a symbol or an irreducible floor_div / ceil_div / product / min / max.
/// Division by a constant that divides every coefficient is exact: (2*W)/2 is W; floor((W*8+4)/8) is W when provable.
class Dim {
 public:
  struct Node;
  Dim() : Dim(0) {}
  Dim(int64_t n);                               // NOLINT: numbers are dims
  static Dim symbol(const std::string& name);   // at least 1 unless bounded otherwise
  bool is_static() const;
  std::optional<int64_t> value() const;         // when static
  std::string text() const;                     // "batch", "W//2 + 1"
  int64_t evaluate(const std::map<std::string, int64_t>& bindings) const;
  /// Replaces symbols by dims.
  Dim substitute(const std::map<std::string, Dim>& by) const;
  std::vector<std::string> symbols() const;
  const Node& node() const { return *node_; }

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim operator/(const Dim& a, const Dim& b);   // floor division, b > 0
  friend Dim ceil_div(const Dim& a, const Dim& b);
  friend Dim min(const Dim& a, const Dim& b);
  friend Dim max(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);
  friend bool operator!=(const Dim& a, const Dim& b) { return !(a == b); }

 private:
  std::shared_ptr<const Node> node_;
};
using Dims = std::vector<Dim>;

}  // namespace ingot::graph
