// SPDX-License-Identifier: Apache-2.0
// tools/graph/dim.cpp - the normal form: sums of coefficient x product, and division of such a sum.
#include "tools/graph/dim.h"

#include <algorithm>
#include <set>

#include "runtime/base/checked_math.h"
#include "tools/files/work_budget.h"
#include "tools/graph/dim_limit.h"

namespace ingot::graph {
namespace {

constexpr size_t kMaxTerms = 96;  // pads of four dimensions have 81
// a nested expression prints its parts, so this bounds depth and size as well
constexpr size_t kMaxText = 4096;

int64_t added(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!checked_add(a, b, &sum))
    throw DimError("a dimension overflows 64 bits: " + std::to_string(a) + " + " +
                   std::to_string(b));
  return sum;
}
int64_t multiplied(int64_t a, int64_t b) {
  int64_t result = 0;
  if (!checked_mul(a, b, &result))
    throw DimError("a dimension overflows 64 bits: " + std::to_string(a) + " * " +
                   std::to_string(b));
  return result;
}
int64_t floor_quotient(int64_t a, int64_t b) {  // b > 0
  return a / b - (a % b != 0 && a < 0 ? 1 : 0);
}
int64_t gcd(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

/// Degree first, then lexicographic: an admissible order of monomials, so that polynomial division
/// ends.
int compare_factors(const std::vector<DimAtomPtr>& a, const std::vector<DimAtomPtr>& b) {
  if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;
  for (size_t i = 0; i < a.size(); i++) {
    const int order = a[i]->key.compare(b[i]->key);
    if (order != 0) return order;
  }
  return 0;
}
bool leads(const DimTerm& a, const DimTerm& b) { return compare_factors(a.factors, b.factors) < 0; }

bool is_plain_name(const std::string& name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '_' || c == '.';
    if (!letter) return false;
  }
  return true;
}
std::string symbol_text(const std::string& name) {
  if (is_plain_name(name)) return name;
  std::string quoted = "'";
  for (const char c : name) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string product_text(const DimTerm& term, int64_t magnitude) {
  std::string out = magnitude == 1 ? "" : std::to_string(magnitude);
  for (const DimAtomPtr& factor : term.factors) {
    if (!out.empty()) out += "*";
    out += factor->key;
  }
  return out;
}
std::string sum_text(const Dim::Node& node) {
  std::string out;
  for (const DimTerm& term : node.terms) {
    const bool negative = term.coefficient < 0;
    // -INT64_MIN has no positive twin; print it with its sign.
    const int64_t magnitude =
        negative && term.coefficient != INT64_MIN ? -term.coefficient : term.coefficient;
    if (!out.empty())
      out += negative ? " - " : " + ";
    else if (negative)
      out += "-";
    out += product_text(term, magnitude);
  }
  if (out.empty()) return std::to_string(node.constant);
  if (node.constant > 0) out += " + " + std::to_string(node.constant);
  if (node.constant < 0) out += " - " + std::to_string(node.constant).substr(1);
  return out;
}
std::string grouped(const Dim& d) {
  const Dim::Node& node = d.node();
  const bool atom = node.terms.empty()
                        ? node.constant >= 0
                        : node.terms.size() == 1 && node.constant == 0 &&
                              node.terms[0].coefficient == 1 && node.terms[0].factors.size() == 1 &&
                              node.terms[0].factors[0]->kind != DimAtom::Kind::kFloorDiv;
  return atom ? node.text : "(" + node.text + ")";
}

}  // namespace

/// Builds nodes from loose terms; the only maker of Dim::Node.
struct DimBuilder {
  int64_t constant = 0;
  std::vector<DimTerm> terms;

  DimBuilder() = default;
  explicit DimBuilder(const Dim& d) : constant(d.node().constant), terms(d.node().terms) {}

  void add(const Dim& d, int64_t factor) {
    constant = added(constant, multiplied(d.node().constant, factor));
    for (DimTerm term : d.node().terms) {
      term.coefficient = multiplied(term.coefficient, factor);
      terms.push_back(std::move(term));
    }
  }
  Dim finish() {
    host::charge_work(1 + 4 * terms.size());
    std::sort(terms.begin(), terms.end(), leads);
    std::vector<DimTerm> merged;
    for (DimTerm& term : terms) {
      if (!merged.empty() && compare_factors(merged.back().factors, term.factors) == 0) {
        merged.back().coefficient = added(merged.back().coefficient, term.coefficient);
      } else {
        merged.push_back(std::move(term));
      }
    }
    merged.erase(std::remove_if(merged.begin(), merged.end(),
                                [](const DimTerm& t) { return t.coefficient == 0; }),
                 merged.end());
    if (merged.size() > kMaxTerms)
      throw DimLimit("a dimension is a sum of more than " + std::to_string(kMaxTerms) +
                     " terms; bind symbols with --dim NAME=N");
    auto node = std::make_shared<Dim::Node>();
    node->constant = constant;
    node->terms = std::move(merged);
    node->text = sum_text(*node);
    host::charge_work(node->text.size() / 16);
    if (node->text.size() > kMaxText)
      throw DimLimit("the expression of a dimension takes more than " + std::to_string(kMaxText) +
                     " characters; bind symbols with --dim NAME=N");
    return Dim(std::shared_ptr<const Dim::Node>(std::move(node)));
  }
  static Dim of_term(const DimTerm& term) {
    DimBuilder builder;
    builder.terms.push_back(term);
    return builder.finish();
  }
  static Dim of_atom(DimAtom atom) {
    switch (atom.kind) {
      case DimAtom::Kind::kSymbol: atom.key = symbol_text(atom.name); break;
      case DimAtom::Kind::kFloorDiv:
        atom.key = "(" + grouped(atom.a) + "//" + grouped(atom.b) + ")";
        break;
      case DimAtom::Kind::kMin:
        atom.key = "min(" + atom.a.text() + ", " + atom.b.text() + ")";
        break;
      case DimAtom::Kind::kMax:
        atom.key = "max(" + atom.a.text() + ", " + atom.b.text() + ")";
        break;
    }
    return of_term(DimTerm{1, {std::make_shared<const DimAtom>(std::move(atom))}});
  }
};

Dim::Dim(int64_t n) {
  auto node = std::make_shared<Node>();
  node->constant = n;
  node->text = std::to_string(n);
  node_ = std::move(node);
}
Dim Dim::symbol(const std::string& name) { return symbol(name, 1, 0); }
Dim Dim::symbol(const std::string& name, int64_t low, int64_t high) {
  DimAtom atom;
  atom.name = name;
  atom.low = low;
  atom.high = high;
  return DimBuilder::of_atom(std::move(atom));
}
Dim Dim::of(DimAtomPtr atom) { return DimBuilder::of_term(DimTerm{1, {std::move(atom)}}); }
bool Dim::is_static() const { return node_->terms.empty(); }
std::optional<int64_t> Dim::value() const {
  if (!is_static()) return std::nullopt;
  return node_->constant;
}
std::string Dim::text() const {
  // A lone division needs no brackets around it.
  const std::string& text = node_->text;
  const bool lone = node_->terms.size() == 1 && node_->constant == 0 &&
                    node_->terms[0].coefficient == 1 && node_->terms[0].factors.size() == 1 &&
                    node_->terms[0].factors[0]->kind == DimAtom::Kind::kFloorDiv;
  return lone ? text.substr(1, text.size() - 2) : text;
}
bool operator==(const Dim& a, const Dim& b) {
  return a.node_ == b.node_ || a.node_->text == b.node_->text;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static()) return Dim(added(a.node().constant, b.node().constant));
  DimBuilder builder(a);
  builder.add(b, 1);
  return builder.finish();
}
Dim operator-(const Dim& a, const Dim& b) {
  DimBuilder builder(a);
  builder.add(b, -1);
  return builder.finish();
}
Dim operator*(const Dim& a, const Dim& b) {
  DimBuilder builder;
  builder.add(a, b.node().constant);
  for (const DimTerm& term : b.node().terms) {
    DimTerm scaled = term;
    scaled.coefficient = multiplied(term.coefficient, a.node().constant);
    builder.terms.push_back(scaled);
    for (const DimTerm& other : a.node().terms) {
      DimTerm both = term;
      both.coefficient = multiplied(term.coefficient, other.coefficient);
      both.factors.insert(both.factors.end(), other.factors.begin(), other.factors.end());
      std::sort(both.factors.begin(), both.factors.end(),
                [](const DimAtomPtr& x, const DimAtomPtr& y) { return x->key < y->key; });
      builder.terms.push_back(std::move(both));
      if (builder.terms.size() > kMaxTerms * 4)
        throw DimLimit("the product of two dimensions has more than " +
                       std::to_string(kMaxTerms * 4) + " terms; bind symbols with --dim NAME=N");
    }
  }
  return builder.finish();
}

namespace {

/// The one division atom with coefficient 1 and a constant divisor in a sum, when there is exactly
/// one: sums of such divisions nest into one, floor((floor(A/a) + B)/c) = floor((A + a*B)/(a*c)).
const DimAtom* sole_division(const std::vector<DimTerm>& terms) {
  const DimAtom* found = nullptr;
  for (const DimTerm& term : terms) {
    for (const DimAtomPtr& factor : term.factors) {
      if (factor->kind != DimAtom::Kind::kFloorDiv) continue;
      if (found || term.factors.size() != 1 || term.coefficient != 1 || !factor->b.is_static())
        return nullptr;
      found = factor.get();
    }
  }
  return found;
}

Dim divide_by_constant(const Dim& a, int64_t c) {
  if (c == 1) return a;
  DimBuilder whole, rest;
  whole.constant = floor_quotient(a.node().constant, c);
  rest.constant = a.node().constant - whole.constant * c;
  int64_t common = c;
  for (const DimTerm& term : a.node().terms) {
    DimTerm q = term, r = term;
    q.coefficient = floor_quotient(term.coefficient, c);
    r.coefficient = term.coefficient - q.coefficient * c;
    if (q.coefficient != 0) whole.terms.push_back(std::move(q));
    if (r.coefficient != 0) {
      common = gcd(common, r.coefficient);
      rest.terms.push_back(std::move(r));
    }
  }
  Dim quotient = whole.finish();
  if (rest.terms.empty()) return quotient;  // 0 <= rest < c
  if (common > 1) {
    for (DimTerm& term : rest.terms) term.coefficient /= common;
    rest.constant /= common;
    c /= common;
    return quotient + divide_by_constant(rest.finish(), c);
  }
  if (const DimAtom* inner = sole_division(rest.terms)) {
    const Dim step = inner->b;
    const DimAtom division = *inner;
    const Dim others = rest.finish() - DimBuilder::of_atom(division);
    return quotient + divide_by_constant(division.a + step * others, multiplied(*step.value(), c));
  }
  DimAtom atom;
  atom.kind = DimAtom::Kind::kFloorDiv;
  atom.a = rest.finish();
  atom.b = Dim(c);
  // 0 <= a < c for every binding: nothing is left.
  if (proven_at_least(atom.a, 0) && proven_at_least(Dim(c - 1), atom.a)) return quotient;
  return quotient + DimBuilder::of_atom(std::move(atom));
}

/// term / lead when every factor and the coefficient divide.
std::optional<DimTerm> divide_term(const DimTerm& term, const DimTerm& lead) {
  DimTerm out;
  int64_t rest;
  if (!checked_rem(term.coefficient, lead.coefficient, &rest) || rest != 0 ||
      !checked_div(term.coefficient, lead.coefficient, &out.coefficient))
    return std::nullopt;
  size_t j = 0;
  for (const DimAtomPtr& factor : term.factors) {
    if (j < lead.factors.size() && lead.factors[j]->key == factor->key)
      j++;
    else
      out.factors.push_back(factor);
  }
  if (j != lead.factors.size()) return std::nullopt;
  return out;
}

Dim of_quotient_term(const DimTerm& term) {
  return term.factors.empty() ? Dim(term.coefficient) : DimBuilder::of_term(term);
}

/// Polynomial division by a symbolic b: the part that divides exactly, the rest inside one floor
/// division.
Dim divide_by_symbolic(const Dim& a, const Dim& b) {
  const DimTerm& lead = b.node().terms.front();
  Dim quotient, rest = a, kept;
  for (size_t step = 0; step < kMaxTerms && !(rest == Dim(0)); step++) {
    if (rest.is_static()) break;
    const DimTerm first = rest.node().terms.front();
    if (const std::optional<DimTerm> q = divide_term(first, lead)) {
      const Dim part = of_quotient_term(*q);
      quotient = quotient + part;
      rest = rest - part * b;
    } else {
      const Dim part = DimBuilder::of_term(first);
      kept = kept + part;
      rest = rest - part;
    }
  }
  rest = rest + kept;
  if (rest == Dim(0)) return quotient;
  // keep one plain form for what does not divide
  if (b.node().terms.size() > 1 && !(quotient == Dim(0))) {
    quotient = Dim(0);
    rest = a;
  }
  if (proven_at_least(rest, 0) && proven_at_least(b - Dim(1), rest)) return quotient;
  DimAtom atom;
  atom.kind = DimAtom::Kind::kFloorDiv;
  atom.a = rest;
  atom.b = b;
  return quotient + DimBuilder::of_atom(std::move(atom));
}

}  // namespace

Dim operator/(const Dim& a, const Dim& b) {
  if (const std::optional<int64_t> c = b.value()) {
    if (*c <= 0) throw DimError("a dimension is divided by " + std::to_string(*c));
    if (a.is_static()) return Dim(floor_quotient(*a.value(), *c));
    return divide_by_constant(a, *c);
  }
  return divide_by_symbolic(a, b);
}
Dim ceil_div(const Dim& a, const Dim& b) { return (a + b - Dim(1)) / b; }

namespace {

bool is_beyond(const Dim& d, bool above) {
  const auto number = d.value();
  return number && (above ? *number > kLargestNumber : *number < -kLargestNumber);
}

}  // namespace

Dim min(const Dim& a, const Dim& b) {
  if (!a.is_static() && is_beyond(b, true)) return a;
  if (!b.is_static() && is_beyond(a, true)) return b;
  if (proven_at_least(b, a)) return a;
  if (proven_at_least(a, b)) return b;
  DimAtom atom;
  atom.kind = DimAtom::Kind::kMin;
  const bool swap = b.text() < a.text();
  atom.a = swap ? b : a;
  atom.b = swap ? a : b;
  return DimBuilder::of_atom(std::move(atom));
}
Dim max(const Dim& a, const Dim& b) {
  if (!a.is_static() && is_beyond(b, false)) return a;
  if (!b.is_static() && is_beyond(a, false)) return b;
  if (proven_at_least(a, b)) return a;
  if (proven_at_least(b, a)) return b;
  DimAtom atom;
  atom.kind = DimAtom::Kind::kMax;
  const bool swap = b.text() < a.text();
  atom.a = swap ? b : a;
  atom.b = swap ? a : b;
  return DimBuilder::of_atom(std::move(atom));
}

namespace {

template <class SymbolOf>
Dim rebuild(const Dim& d, const SymbolOf& symbol_of) {
  Dim sum(d.node().constant);
  for (const DimTerm& term : d.node().terms) {
    Dim part(term.coefficient);
    for (const DimAtomPtr& atom : term.factors) {
      switch (atom->kind) {
        case DimAtom::Kind::kSymbol: part = part * symbol_of(*atom); break;
        case DimAtom::Kind::kFloorDiv:
          part = part * (rebuild(atom->a, symbol_of) / rebuild(atom->b, symbol_of));
          break;
        case DimAtom::Kind::kMin:
          part = part * min(rebuild(atom->a, symbol_of), rebuild(atom->b, symbol_of));
          break;
        case DimAtom::Kind::kMax:
          part = part * max(rebuild(atom->a, symbol_of), rebuild(atom->b, symbol_of));
          break;
      }
    }
    sum = sum + part;
  }
  return sum;
}
void gather_symbols(const Dim& d, std::set<std::string>* out) {
  for (const DimTerm& term : d.node().terms) {
    for (const DimAtomPtr& atom : term.factors) {
      if (atom->kind == DimAtom::Kind::kSymbol) {
        out->insert(atom->name);
      } else {
        gather_symbols(atom->a, out);
        gather_symbols(atom->b, out);
      }
    }
  }
}

}  // namespace

Dim Dim::substitute(const std::map<std::string, Dim>& by) const {
  if (is_static()) return *this;
  return rebuild(*this, [&](const DimAtom& atom) {
    const auto found = by.find(atom.name);
    return found == by.end() ? symbol(atom.name, atom.low, atom.high) : found->second;
  });
}
namespace {

int64_t evaluated(const Dim& d, const std::map<std::string, int64_t>& bindings) {
  int64_t sum = d.node().constant;
  for (const DimTerm& term : d.node().terms) {
    int64_t part = term.coefficient;
    for (const DimAtomPtr& atom : term.factors) {
      int64_t factor = 0;
      if (atom->kind == DimAtom::Kind::kSymbol) {
        const auto found = bindings.find(atom->name);
        if (found == bindings.end()) throw DimError("dimension '" + atom->name + "' is not bound");
        factor = found->second;
      } else {
        const int64_t a = evaluated(atom->a, bindings), b = evaluated(atom->b, bindings);
        if (atom->kind == DimAtom::Kind::kFloorDiv && b <= 0)
          throw DimError("a dimension is divided by " + std::to_string(b));
        factor = atom->kind == DimAtom::Kind::kFloorDiv ? floor_quotient(a, b)
                 : atom->kind == DimAtom::Kind::kMin    ? std::min(a, b)
                                                        : std::max(a, b);
      }
      part = multiplied(part, factor);
    }
    sum = added(sum, part);
  }
  host::charge_work(1 + d.node().terms.size());
  return sum;
}

}  // namespace

int64_t Dim::evaluate(const std::map<std::string, int64_t>& bindings) const {
  return evaluated(*this, bindings);
}
std::vector<std::string> Dim::symbols() const {
  std::set<std::string> names;
  gather_symbols(*this, &names);
  return {names.begin(), names.end()};
}
Dim product(const Dims& dims) {
  Dim out(1);
  for (const Dim& d : dims) out = out * d;
  return out;
}
std::string text(const Dims& dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); i++) out += (i ? ", " : "") + dims[i].text();
  return out + "]";
}

}  // namespace ingot::graph
