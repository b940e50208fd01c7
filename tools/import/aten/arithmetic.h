// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/arithmetic.h - nodes written as formulas, for operators that are a few of the
// others: Term a, b; a * b + 1.0. Both sides of an operation have one type; a plain number takes
// that of the other side. Shapes broadcast as the nodes' do. Inside tools/import/aten only.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "tools/import/aten/operands.h"
#include "tools/import/aten/promotion.h"

namespace ingot::aten {

struct Term {
  Builder* b;
  ValueId id;
  Dims dims() const { return b->dims(id); }
  int64_t rank() const { return b->rank(id); }
  DType dtype() const { return b->dtype(id); }
  Term of(ValueId other) const { return {b, other}; }
  Term number(double value) const { return of(b->scalar(dtype(), value)); }  // of the same type
  Term cast(DType to) const { return of(b->cast(id, to)); }
  Term reshape(Dims to) const { return of(b->reshape(id, std::move(to))); }
  Term expand(const Dims& to) const { return of(b->expand(id, to)); }
  Term slice(int64_t axis, const Dim& start, const Dim& end) const {
    return of(b->slice(id, axis, start, end));
  }
  Term reduce(graph::Operator op, std::vector<int64_t> axes, bool keep = false) const {
    return of(b->reduce(op, id, std::move(axes), keep));
  }
};

inline Term call(graph::Operator op, const Term& x, Attributes attributes = {}) {
  return x.of(x.b->emit(op, {x.id}, std::move(attributes)));
}
inline Term call(graph::Operator op, const Term& x, const Term& y, Attributes attributes = {}) {
  return x.of(x.b->emit(op, {x.id, y.id}, std::move(attributes)));
}
inline Term operator+(const Term& x, const Term& y) { return call(op::Add, x, y); }
inline Term operator-(const Term& x, const Term& y) { return call(op::Sub, x, y); }
inline Term operator*(const Term& x, const Term& y) { return call(op::Mul, x, y); }
inline Term operator/(const Term& x, const Term& y) { return call(op::Div, x, y); }
inline Term operator<(const Term& x, const Term& y) { return call(op::Less, x, y); }
inline Term operator>(const Term& x, const Term& y) { return call(op::Greater, x, y); }
inline Term operator<=(const Term& x, const Term& y) { return call(op::LessOrEqual, x, y); }
inline Term operator>=(const Term& x, const Term& y) { return call(op::GreaterOrEqual, x, y); }
inline Term operator+(const Term& x, double y) { return x + x.number(y); }
inline Term operator-(const Term& x, double y) { return x - x.number(y); }
inline Term operator*(const Term& x, double y) { return x * x.number(y); }
inline Term operator/(const Term& x, double y) { return x / x.number(y); }
inline Term operator<(const Term& x, double y) { return x < x.number(y); }
inline Term operator>(const Term& x, double y) { return x > x.number(y); }
inline Term operator<=(const Term& x, double y) { return x <= x.number(y); }
inline Term operator>=(const Term& x, double y) { return x >= x.number(y); }
inline Term operator+(double x, const Term& y) { return y.number(x) + y; }
inline Term operator-(double x, const Term& y) { return y.number(x) - y; }
inline Term operator*(double x, const Term& y) { return y.number(x) * y; }
inline Term operator/(double x, const Term& y) { return y.number(x) / y; }
inline Term operator-(const Term& x) { return call(op::Neg, x); }
inline Term operator!(const Term& x) { return call(op::Not, x); }
inline Term both(const Term& x, const Term& y) { return call(op::And, x, y); }
inline Term either(const Term& x, const Term& y) { return call(op::Or, x, y); }
inline Term equal(const Term& x, const Term& y) { return call(op::Equal, x, y); }
inline Term equal(const Term& x, double y) { return equal(x, x.number(y)); }
inline Term larger(const Term& x, const Term& y) { return call(op::Max, x, y); }
inline Term larger(const Term& x, double y) { return larger(x, x.number(y)); }
inline Term smaller(const Term& x, const Term& y) { return call(op::Min, x, y); }
inline Term smaller(const Term& x, double y) { return smaller(x, x.number(y)); }
inline Term where(const Term& condition, const Term& x, const Term& y) {
  return x.of(x.b->emit(op::Where, {condition.id, x.id, y.id}));
}
inline Term where(const Term& condition, const Term& x, double y) {
  return where(condition, x, x.number(y));
}
inline Term where(const Term& condition, double x, const Term& y) {
  return where(condition, y.number(x), y);
}
inline Term is_not_a_number(const Term& x) { return call(op::IsNaN, x); }
inline Term absolute(const Term& x) { return call(op::Abs, x); }
inline Term exponential(const Term& x) { return call(op::Exp, x); }
inline Term logarithm(const Term& x) { return call(op::Log, x); }
inline Term square_root(const Term& x) { return call(op::Sqrt, x); }
inline Term product(const Term& x, const Term& y) { return call(op::MatMul, x, y); }
inline Term concat(const std::vector<Term>& parts, int64_t axis) {
  std::vector<ValueId> ids;
  for (const Term& part : parts) ids.push_back(part.id);
  if (ids.size() == 1) return parts[0];
  return parts[0].of(parts[0].b->emit(op::Concat, ids, {{attr::axis, axis}}));
}
inline Term gathered(const Term& x, const Term& index, int64_t axis) {
  return call(op::Gather, x, index, {{attr::axis, axis}});
}
inline Term gathered_along(const Term& x, const Term& index, int64_t axis) {
  return call(op::GatherElements, x, index, {{attr::axis, axis}});
}
inline Term scattered(const Term& x, const Term& index, const Term& updates, int64_t axis,
                      const char* reduction = "none") {
  return x.of(x.b->emit(op::ScatterElements, {x.id, index.id, updates.id},
                        {{attr::axis, axis}, {attr::reduction, std::string(reduction)}}));
}
inline void require_axis(const Term& x, int64_t axis) {
  if (axis < 0 || axis >= x.rank())
    throw graph::DimError("a tensor of " + graph::text(x.dims()) + " has too few dimensions");
}
/// @throws DimError, which the call reports, where x has no such dimensions; of moved() too.
inline Term swapped(const Term& x, int64_t one, int64_t other) {
  for (const int64_t axis : {one, other}) require_axis(x, axis);
  std::vector<int64_t> perm;
  for (int64_t i = 0; i < x.rank(); i++) perm.push_back(i);
  std::swap(perm[size_t(one)], perm[size_t(other)]);
  return x.of(x.b->transpose(x.id, perm));
}
/// Dimension `from` at place `to`, the others in their order.
inline Term moved(const Term& x, int64_t from, int64_t to) {
  for (const int64_t axis : {from, to}) require_axis(x, axis);
  std::vector<int64_t> perm;
  for (int64_t i = 0; i < x.rank(); i++)
    if (i != from) perm.push_back(i);
  perm.insert(perm.begin() + to, from);
  return x.of(x.b->transpose(x.id, perm));
}
/// i64: 0, 1, 2, ...
inline Term counting(Builder& b, const Dim& count) { return {&b, b.counting(count)}; }

/// An argument as it is; integers as f32.
inline Term term(Operands& o, const char* name) { return {&o.b, o.read(name)}; }
inline Term floating_term(Operands& o, const char* name) {
  const Term x = term(o, name);
  return graph::is_floating(x.dtype()) ? x : x.cast(DType::kF32);
}
/// Two arguments, tensors or numbers, of the type that PyTorch gives both.
struct Terms {
  Term x, y;
};
inline Terms two_terms(Operands& o, const char* first, const char* second, bool floating = false) {
  DType dtype = result_type(o.b, {o.value(first), o.value(second)});
  if (floating && !graph::is_floating(dtype)) dtype = DType::kF32;
  const ValueId x = as_type(o.b, o.value(first), dtype);
  return {{&o.b, x}, {&o.b, as_type(o.b, o.value(second), dtype)}};
}
inline Value value_of(const Term& x) { return Value::of(x.b->own(x.id)); }
inline Results result_of(const Term& x) { return {value_of(x)}; }
/// The extent of a dimension that must be fixed. @throws Refused.
inline int64_t fixed(const Operands& o, const char* argument, const Dim& extent) {
  if (const auto n = extent.value()) return *n;
  o.refuse(argument, "is made of a symbolic dimension (" + extent.text() + ")",
           "bind it with --dim");
}
/// log(exp(x) + exp(y)); of equal ones, infinite ones too, log(2) more.
inline Term log_add_exponentials(const Term& x, const Term& y) {
  const Term more = call(op::Softplus, -absolute(x - y));
  return larger(x, y) + where(equal(x, y), std::log(2.0), more);
}

}  // namespace ingot::aten
