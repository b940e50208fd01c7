// SPDX-License-Identifier: Apache-2.0
// tools/graph/symbolic.cpp - arithmetic on exact ratios.
#include "tools/graph/symbolic.h"

#include <cmath>

#include "runtime/base/checked_math.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

constexpr int64_t kMaxDenominator = 1 << 16;

bool is_zero(const Dim& d) { return d == Dim(0); }
std::optional<bool> at_least(const Scalar& a, const Scalar& b) {  // a >= b
  const auto x = a.number(), y = b.number();
  if (x && y) return *x >= *y;
  // A number larger than all extents is "no limit", an infinity as well.
  if (a.kind == Scalar::Kind::kRatio && y && std::abs(*y) > kLargestNumber) return *y < 0;
  if (b.kind == Scalar::Kind::kRatio && x && std::abs(*x) > kLargestNumber) return *x > 0;
  if (a.kind != Scalar::Kind::kRatio || b.kind != Scalar::Kind::kRatio) return std::nullopt;
  const Dim left = a.numerator * b.denominator, right = b.numerator * a.denominator;
  if (proven_at_least(left, right)) return true;
  if (proven_at_least(right, left + Dim(1))) return false;
  return std::nullopt;
}
Scalar of_bool(std::optional<bool> truth) {
  return truth ? Scalar::of(Dim(*truth ? 1 : 0)) : Scalar();
}

/// What was decided, or the comparison itself where it is one of dims.
Scalar compared(std::optional<bool> decided, Comparison::Kind kind, const Scalar& a,
                const Scalar& b, bool negated) {
  if (decided) return of_bool(*decided != negated);
  if (a.kind != Scalar::Kind::kRatio || b.kind != Scalar::Kind::kRatio) return {};
  return Scalar::truth({kind, a.numerator * b.denominator, b.numerator * a.denominator, negated});
}
Scalar opposite(const Scalar& a) {
  if (const auto x = a.number()) return of_bool(*x == 0);
  if (a.kind != Scalar::Kind::kTruth) return {};
  Comparison other = *a.comparison;
  other.negated = !other.negated;
  return Scalar::truth(std::move(other));
}

Scalar add(const Scalar& a, const Scalar& b, int64_t sign) {
  const auto x = a.number(), y = b.number();
  if (a.kind == Scalar::Kind::kRatio && b.kind == Scalar::Kind::kRatio) {
    return Scalar::ratio(a.numerator * b.denominator + Dim(sign) * b.numerator * a.denominator,
                         a.denominator * b.denominator);
  }
  return x && y ? Scalar::of(*x + double(sign) * *y) : Scalar();
}
Scalar multiply(const Scalar& a, const Scalar& b) {
  const auto x = a.number(), y = b.number();
  if (a.kind == Scalar::Kind::kRatio && b.kind == Scalar::Kind::kRatio) {
    return Scalar::ratio(a.numerator * b.numerator, a.denominator * b.denominator);
  }
  return x && y ? Scalar::of(*x * *y) : Scalar();
}
Scalar divide(const Scalar& a, const Scalar& b, bool integer) {
  const auto x = a.number(), y = b.number();
  if (y && *y == 0) return {};
  if (integer) {
    const auto p = a.dim(), q = b.dim();
    if (!p || !q) return {};
    if (p->is_static() && q->is_static()) {
      int64_t quotient;
      return checked_div(*p->value(), *q->value(), &quotient) ? Scalar::of(Dim(quotient))
                                                              : Scalar();
    }
    // truncation is floor only there
    if (!proven_at_least(*q, 1) || !proven_at_least(*p, 0)) return {};
    return Scalar::of(*p / *q);
  }
  if (a.kind == Scalar::Kind::kRatio && b.kind == Scalar::Kind::kRatio) {
    if (proven_at_least(b.numerator, 1))
      return Scalar::ratio(a.numerator * b.denominator, a.denominator * b.numerator);
    if (proven_at_least(Dim(-1), b.numerator)) {
      return Scalar::ratio(Dim(-1) * a.numerator * b.denominator,
                           Dim(-1) * a.denominator * b.numerator);
    }
  }
  return x && y ? Scalar::of(*x / *y) : Scalar();
}
Scalar remainder(const Scalar& a, const Scalar& b, bool truncated) {
  const auto p = a.dim(), q = b.dim();
  if (!p || !q || !proven_at_least(*q, 1)) return {};
  if (truncated && !proven_at_least(*p, 0)) return {};
  return Scalar::of(*p - (*p / *q) * *q);
}
Scalar extreme(const Scalar& a, const Scalar& b, bool largest) {
  const auto order = at_least(a, b);
  if (order) return *order == largest ? a : b;
  const auto p = a.dim(), q = b.dim();
  if (p && q) return Scalar::of(largest ? max(*p, *q) : min(*p, *q));
  return {};
}
Scalar rounded(const Scalar& a, Operator op) {
  if (const auto x = a.number())
    return Scalar::of(op == op::Floor  ? std::floor(*x)
                      : op == op::Ceil ? std::ceil(*x)
                                       : std::nearbyint(*x));
  if (a.kind != Scalar::Kind::kRatio) return {};
  if (a.dim()) return a;
  if (op == op::Floor) return Scalar::of(a.numerator / a.denominator);
  if (op == op::Ceil) return Scalar::of(ceil_div(a.numerator, a.denominator));
  return {};
}
Scalar cast(const Scalar& a, DType to) {
  if (is_floating(to)) {
    const auto x = a.number();
    return x && !a.dim() ? Scalar::of(rounded_to(to, *x)) : a;
  }
  if (to == DType::kBool) {
    if (a.kind == Scalar::Kind::kTruth) return a;
    const auto zero = at_least(Scalar::of(Dim(0)), a), one = at_least(a, Scalar::of(Dim(1)));
    if (one && *one) return Scalar::of(Dim(1));
    if (const auto x = a.number()) return Scalar::of(Dim(*x != 0));
    (void)zero;
    return {};
  }
  if (const auto x = a.number())
    return std::abs(*x) < 9e18 ? Scalar::of(Dim(int64_t(*x))) : Scalar();
  if (a.dim()) return a;
  if (a.kind == Scalar::Kind::kRatio && proven_at_least(a.numerator, 0))
    return Scalar::of(a.numerator / a.denominator);
  return {};
}
std::optional<bool> equal(const Scalar& a, const Scalar& b) {
  const auto x = a.number(), y = b.number();
  if (x && y) return *x == *y;
  if (a.kind != Scalar::Kind::kRatio || b.kind != Scalar::Kind::kRatio) return std::nullopt;
  const Dim left = a.numerator * b.denominator, right = b.numerator * a.denominator;
  if (left == right || (proven_at_least(left, right) && proven_at_least(right, left))) return true;
  if (proven_at_least(left, right + Dim(1)) || proven_at_least(right, left + Dim(1))) return false;
  return std::nullopt;
}
std::optional<bool> truth(const Scalar& a) {
  const auto x = a.number();
  if (x) return *x != 0;
  return std::nullopt;
}

}  // namespace

Scalar Scalar::of(const Dim& d) {
  Scalar out;
  out.kind = Kind::kRatio;
  out.numerator = d;
  return out;
}
Scalar Scalar::of(double number) {
  // Whole numbers and binary fractions with few digits are exact; other numbers stay as they are.
  for (int64_t denominator = 1; denominator <= kMaxDenominator; denominator *= 2) {
    const double scaled = number * double(denominator);
    if (std::abs(scaled) > 9e15 || !std::isfinite(scaled)) break;
    if (scaled == std::nearbyint(scaled)) return ratio(Dim(int64_t(scaled)), Dim(denominator));
  }
  Scalar out;
  out.kind = Kind::kReal;
  out.real = number;
  return out;
}
Scalar Scalar::ratio(const Dim& numerator, const Dim& denominator) {
  Scalar out;
  out.kind = Kind::kRatio;
  const Dim whole = numerator / denominator;
  if (whole * denominator == numerator) {
    out.numerator = whole;
    return out;
  }
  out.numerator = numerator;
  out.denominator = denominator;
  for (int64_t p : {2, 3, 5, 7}) {  // keeps repeated halving small
    const Dim prime(p);
    while ((out.numerator / prime) * prime == out.numerator &&
           (out.denominator / prime) * prime == out.denominator) {
      out.numerator = out.numerator / prime;
      out.denominator = out.denominator / prime;
    }
  }
  return out;
}
Scalar Scalar::truth(Comparison comparison) {
  Scalar out;
  out.kind = Kind::kTruth;
  out.comparison = std::make_shared<const Comparison>(std::move(comparison));
  return out;
}
Scalar Scalar::element(ValueId value, int64_t at) {
  Scalar out;
  out.origin = {value, at};
  return out;
}
std::optional<Dim> Scalar::dim() const {
  if (kind != Kind::kRatio || denominator != Dim(1)) return std::nullopt;
  return numerator;
}
std::optional<double> Scalar::number() const {
  if (kind == Kind::kReal) return real;
  if (kind != Kind::kRatio || !numerator.is_static() || !denominator.is_static())
    return std::nullopt;
  return double(*numerator.value()) / double(*denominator.value());
}

Scalar apply_symbolic(const Node& node, bool integer, const std::vector<Scalar>& v) {
  const Operator op = node.op;
  if (op == op::Where && v.size() == 3) {
    const auto pick = truth(v[0]);
    if (pick) return *pick ? v[1] : v[2];
    return v[1].known() && v[2].known() && equal(v[1], v[2]) == true ? v[1] : Scalar();
  }
  // Logic may be decided by one side alone.
  if (op == op::And || op == op::Or) {
    const auto a = truth(v[0]), b = truth(v[1]);
    const bool decides = op == op::Or;
    if ((a && *a == decides) || (b && *b == decides)) return of_bool(decides);
    return a && b ? of_bool(!decides) : Scalar();
  }
  if (op == op::Identity) return v[0];
  if (op == op::Cast && integer && !v[0].known()) {  // the same number, and where it came from
    const DType to = DType(node.integer(attr::to, 0));
    return to == DType::kI64 || to == DType::kI32 ? v[0] : Scalar();
  }
  for (const Scalar& s : v) {
    if (!s.known()) return {};
  }
  if (op == op::Add) return add(v[0], v[1], 1);
  if (op == op::Sub) return add(v[0], v[1], -1);
  if (op == op::Neg) return add(Scalar::of(Dim(0)), v[0], -1);
  if (op == op::Mul) {
    if ((v[0].dim() && is_zero(*v[0].dim())) || (v[1].dim() && is_zero(*v[1].dim())))
      return Scalar::of(Dim(0));
    return multiply(v[0], v[1]);
  }
  if (op == op::Div) return divide(v[0], v[1], integer);
  if (op == op::Mod) return remainder(v[0], v[1], node.integer(attr::fmod, 0) != 0);
  if (op == op::Min || op == op::Max) return extreme(v[0], v[1], op == op::Max);
  if (op == op::Floor || op == op::Ceil || op == op::Round) return rounded(v[0], op);
  if (op == op::Cast) return cast(v[0], DType(node.integer(attr::to, 0)));
  if (op == op::Abs || op == op::Relu) {
    const auto sign = at_least(v[0], Scalar::of(Dim(0)));
    if (!sign) return {};
    if (*sign) return v[0];
    return op == op::Relu ? Scalar::of(Dim(0)) : add(Scalar::of(Dim(0)), v[0], -1);
  }
  if (op == op::Clip) {
    Scalar out = v[0];
    if (node.has(attr::min)) out = extreme(out, Scalar::of(node.number(attr::min, 0)), true);
    if (node.has(attr::max) && out.known())
      out = extreme(out, Scalar::of(node.number(attr::max, 0)), false);
    return out;
  }
  using Kind = Comparison::Kind;
  if (op == op::Equal) return compared(equal(v[0], v[1]), Kind::kEqual, v[0], v[1], false);
  if (op == op::GreaterOrEqual)
    return compared(at_least(v[0], v[1]), Kind::kAtLeast, v[0], v[1], false);
  if (op == op::LessOrEqual)
    return compared(at_least(v[1], v[0]), Kind::kAtLeast, v[1], v[0], false);
  if (op == op::Less) return compared(at_least(v[0], v[1]), Kind::kAtLeast, v[0], v[1], true);
  if (op == op::Greater) return compared(at_least(v[1], v[0]), Kind::kAtLeast, v[1], v[0], true);
  if (op == op::Not) return opposite(v[0]);
  if (op == op::Sqrt) {
    const auto x = v[0].number();
    return x && *x >= 0 ? Scalar::of(std::sqrt(*x)) : Scalar();
  }
  return {};
}

std::optional<Contents> contents_of(const Constant& constant) {
  const int64_t count = constant.elements();
  if (count > kMaxContents) return std::nullopt;
  Contents out;
  for (int64_t i = 0; i < count; i++) {
    if (is_floating(constant.dtype))
      out.push_back(Scalar::of(read_number(constant, i)));
    else
      out.push_back(Scalar::of(Dim(read_integer(constant, i))));
  }
  return out;
}

std::optional<Constant> constant_of(const Contents& contents, DType dtype,
                                    const std::vector<int64_t>& dims) {
  std::vector<double> numbers;
  std::vector<int64_t> integers;
  for (const Scalar& s : contents) {
    const auto x = s.number();
    if (!x) return std::nullopt;
    numbers.push_back(*x);
    if (is_floating(dtype)) continue;
    const auto whole = s.dim();
    if (!whole) return std::nullopt;
    integers.push_back(*whole->value());
  }
  return is_floating(dtype) ? make_floating(dtype, dims, numbers)
                            : make_integer(dtype, dims, integers);
}

}  // namespace ingot::graph
