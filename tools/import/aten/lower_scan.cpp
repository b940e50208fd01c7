// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_scan.cpp - running products, extremes and sums along a dimension, and
// integrals. A running value doubles its reach in each step: of n elements in log2(n) steps.
#include "tools/import/aten/arithmetic.h"

namespace ingot::aten {
namespace {

using Combine = Term (*)(const Term&, const Term&);

Term running(Operands& o, Term x, int64_t axis, Combine combine) {
  const int64_t n = fixed(o, "dim", x.dims()[size_t(axis)]);
  for (int64_t reach = 1; reach < n; reach *= 2) {
    const Term first = x.slice(axis, Dim(0), Dim(reach)),
               before = x.slice(axis, Dim(0), Dim(n - reach)),
               after = x.slice(axis, Dim(reach), Dim(n));
    x = concat({first, combine(before, after)}, axis);
  }
  return x;
}
Term product_of_both(const Term& x, const Term& y) { return x * y; }
Term larger_of_both(const Term& x, const Term& y) { return larger(x, y); }
Term smaller_of_both(const Term& x, const Term& y) { return smaller(x, y); }

Results running_product(Operands& o) {
  Term x = term(o, "self");
  x = x.cast(o.dtype("dtype", graph::is_floating(x.dtype()) ? x.dtype() : DType::kI64));
  if (x.rank() == 0) return result_of(x);
  return result_of(running(o, x, o.axis("dim", x.rank()), product_of_both));
}
/// Values, and the last position up to each that holds one or NaN.
Results running_extreme(Operands& o) {
  const Term given = term(o, "self");
  const bool largest = o.op() == "cummax";
  const int64_t axis = o.axis("dim", given.rank());
  if (given.rank() == 0) return {value_of(given), Value::of(o.b.own(o.b.scalar(DType::kI64, 0)))};
  const Term x = given.dtype() == DType::kBool ? given.cast(DType::kI32) : given;
  const Term values = running(o, x, axis, largest ? larger_of_both : smaller_of_both);
  Term here = equal(x, values);
  if (graph::is_floating(x.dtype())) here = either(here, is_not_a_number(x));
  Dims row(x.dims().size(), Dim(1));
  row[size_t(axis)] = x.dims()[size_t(axis)];
  const Term at = counting(o.b, row[size_t(axis)]).reshape(row).expand(x.dims());
  const Term places = running(o, where(here, at, 0), axis, larger_of_both);
  return {value_of(values.cast(given.dtype())), value_of(places)};
}
Results running_log_sum(Operands& o) {
  const Term x = floating_term(o, "self");
  if (x.rank() == 0) return result_of(x);
  return result_of(running(o, x, o.axis("dim", x.rank()), log_add_exponentials));
}

/// The areas between neighbors.
Results trapezoids(Operands& o) {
  const char* const name = o.has("y") ? "y" : "self";
  const Term y = floating_term(o, name);
  const int64_t axis = o.axis("dim", y.rank());
  const auto inner = [axis](const Term& t) {
    const Dim n = t.dims()[size_t(axis)];
    return std::make_pair(t.slice(axis, Dim(0), n - Dim(1)), t.slice(axis, Dim(1), n));
  };
  const auto [first, second] = inner(y);
  Term area = (first + second) * 0.5;
  if (o.has("dx") && o.number("dx") != 1) area = area * o.number("dx");
  if (o.has("x")) {
    Term x = floating_term(o, "x");
    if (x.rank() == 1) {
      Dims row(size_t(y.rank()), Dim(1));
      row[size_t(axis)] = x.dims()[0];
      x = x.reshape(row);
    }
    if (x.rank() != y.rank()) o.refuse("x", "has another rank than y");
    const auto [from, to] = inner(x);
    area = area * (to - from);
  }
  if (o.op() != "cumulative_trapezoid") return result_of(area.reduce(op::ReduceSum, {axis}));
  return result_of(
      call(op::CumSum, area,
           {{attr::axis, axis}, {attr::exclusive, int64_t(0)}, {attr::reverse, int64_t(0)}}));
}

}  // namespace

void add_scans(Table& table) {
  table.add("cumprod", "Tensor self, int dim, *, int? dtype=None", running_product);
  table.add_all("cummax cummin", "Tensor self, int dim", running_extreme);
  table.add("logcumsumexp", "Tensor self, int dim", running_log_sum);
  for (const char* name : {"trapezoid", "trapz", "cumulative_trapezoid"}) {
    table.add(std::string(name) + ".x", "Tensor y, Tensor x, *, int dim=-1", trapezoids);
    table.add(std::string(name) + ".dx", "Tensor y, *, Scalar dx=1, int dim=-1", trapezoids);
  }
}

}  // namespace ingot::aten
