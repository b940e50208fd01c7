// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_reduce.cpp - sums, extremes, norms, orders.
#include <cmath>
#include <limits>

#include "tools/import/aten/operands.h"
#include "tools/import/aten/promotion.h"

namespace ingot::aten {
namespace {

bool kept(const Operands& o) { return o.has("keepdim") && o.flag("keepdim"); }
/// dim where the operator has it and it is given; none: all.
std::vector<int64_t> reduced_axes(Operands& o, int64_t rank) {
  if (!o.has("dim") || !o.given("dim")) return {};
  return o.axes("dim", rank);
}
ValueId reduced(Operands& o, graph::Operator op, ValueId x, bool keep) {
  const std::vector<int64_t> axes = reduced_axes(o, o.b.rank(x));
  return o.b.rank(x) == 0 ? x : o.b.reduce(op, x, axes, keep);
}

Results sum(Operands& o) {
  ValueId x = o.read("self");
  const bool mean = o.op() == "mean";
  const DType natural = graph::is_floating(o.b.dtype(x)) ? o.b.dtype(x)
                        : mean                           ? DType::kF32
                                                         : DType::kI64;
  x = o.b.cast(x, o.dtype("dtype", natural));
  const graph::Operator op = mean               ? op::ReduceMean
                             : o.op() == "prod" ? op::ReduceProd
                                                : op::ReduceSum;
  return o.result(reduced(o, op, x, kept(o)));
}
Results whole_extreme(Operands& o) {
  ValueId x = o.read("self");
  const bool largest = o.op() == "amax" || o.op() == "max";
  const DType dtype = o.b.dtype(x);
  if (dtype == DType::kBool) x = o.b.cast(x, DType::kI32);
  return o.result(o.b.cast(reduced(o, largest ? op::ReduceMax : op::ReduceMin, x, kept(o)), dtype));
}
/// NaN counts as more than any number, infinities too, and as less: an extreme is NaN where there
/// is one. So the first place is asked for that holds the extreme or NaN.
ValueId position_of_extreme(Operands& o, ValueId x, bool largest, int64_t axis, bool keep) {
  if (graph::is_floating(o.b.dtype(x))) {
    const ValueId extreme = o.b.reduce(largest ? op::ReduceMax : op::ReduceMin, x, {axis}, true);
    const ValueId here =
        o.b.emit(op::Or, {o.b.emit(op::Equal, {x, extreme}), o.b.emit(op::IsNaN, {x})});
    x = o.b.cast(here, DType::kF32);
    largest = true;
  }
  return o.b.emit(
      largest ? op::ArgMax : op::ArgMin, {x},
      {{attr::axis, axis}, {attr::keepdims, int64_t(keep)}, {attr::select_last_index, int64_t(0)}});
}
/// Values and positions along one dimension.
Results extreme_along(Operands& o) {
  const ValueId x = o.read("self");
  const bool largest = o.op() == "max", keep = kept(o);
  const int64_t axis = o.axis("dim", o.b.rank(x));
  if (o.b.rank(x) == 0)
    return {Value::of(o.b.own(x)), Value::of(o.b.own(o.b.scalar(DType::kI64, 0)))};
  const ValueId values = o.b.reduce(largest ? op::ReduceMax : op::ReduceMin, x, {axis}, keep);
  return {Value::of(o.b.own(values)),
          Value::of(o.b.own(position_of_extreme(o, x, largest, axis, keep)))};
}
Results arg_extreme(Operands& o) {
  ValueId x = o.read("self");
  if (o.b.dtype(x) == DType::kBool) x = o.b.cast(x, DType::kI32);
  const bool largest = o.op() == "argmax", keep = kept(o);
  const int64_t axis = o.given("dim") ? o.axis("dim", o.b.rank(x)) : -1;
  if (axis >= 0 && o.b.rank(x) > 0) return o.result(position_of_extreme(o, x, largest, axis, keep));
  const Dims in = o.b.dims(x);
  const ValueId flat = o.b.reshape(x, {graph::product(in)});
  const ValueId made = position_of_extreme(o, flat, largest, 0, false);
  return o.result(keep ? o.b.reshape(made, Dims(in.size(), Dim(1))) : made);
}
/// Through integers: at least one, or all, are other than 0.
Results truth(Operands& o) {
  if (o.has("dim") && o.given("dim") && o.integers("dim").empty())  // which here is none
    return o.result(o.b.cast(o.read("self"), DType::kBool));
  const ValueId x = o.b.cast(o.b.cast(o.read("self"), DType::kBool), DType::kI32);
  const ValueId most = reduced(o, o.op() == "any" ? op::ReduceMax : op::ReduceMin, x, kept(o));
  // The extremes of nothing are the least and the most integer: any() of nothing is false, all() is
  // true.
  const ValueId made = o.b.emit(op::Greater, {most, o.b.scalar(DType::kI32, 0)});
  if (graph::product(o.b.dims(x)) != Dim(0)) return o.result(made);
  return o.result(o.b.expand(o.b.scalar(DType::kBool, o.op() == "all"), o.b.dims(made)));
}
Results log_sum_exp(Operands& o) {
  return o.result(reduced(o, op::ReduceLogSumExp, o.read("self"), kept(o)));
}

/// The number that PyTorch subtracts from the count: unbiased is 1.
double correction_of(Operands& o) {
  if (o.has("unbiased")) return o.flag("unbiased") ? 1 : 0;
  return o.given("correction") ? o.number("correction") : 1;
}
struct Moments {
  ValueId mean, variance;
};
Moments moments(Operands& o) {
  const ValueId x = o.read("self");
  std::vector<int64_t> axes = reduced_axes(o, o.b.rank(x));
  const Dims in = o.b.dims(x);
  Dim count(1);
  if (axes.empty()) count = graph::product(in);
  for (const int64_t axis : axes) count = count * in[size_t(axis)];
  const bool keep = kept(o);
  const DType dtype = o.b.dtype(x);
  const ValueId mean = o.b.reduce(op::ReduceMean, x, axes, true),
                centred = o.b.emit(op::Sub, {x, mean});
  ValueId variance = o.b.reduce(op::ReduceMean, o.b.emit(op::Mul, {centred, centred}), axes, keep);
  if (const double correction = correction_of(o); correction != 0) {
    const auto n = count.value();
    if (!n)
      o.refuse("correction", "over a symbolic dimension (" + count.text() + ") is not supported",
               "bind it with --dim, or use unbiased=False");
    variance =
        o.b.emit(op::Mul, {variance, o.b.scalar(dtype, double(*n) / (double(*n) - correction))});
  }
  return {keep ? mean : o.b.reshape(mean, o.b.dims(variance)), variance};
}
Results variance(Operands& o) {
  const Moments m = moments(o);
  const bool deviation = o.op().rfind("std", 0) == 0;
  const ValueId spread = deviation ? o.b.emit(op::Sqrt, {m.variance}) : m.variance;
  Results results = o.result(spread);
  if (o.op().find("_mean") != std::string::npos) results.push_back(Value::of(o.b.own(m.mean)));
  return results;
}

ValueId norm_of(Operands& o, ValueId x, double p, std::vector<int64_t> axes, bool keep) {
  if (p == 1) return o.b.reduce(op::ReduceL1, x, axes, keep);
  if (p == 2) return o.b.reduce(op::ReduceL2, x, axes, keep);
  const ValueId size = o.b.emit(op::Abs, {x});
  if (std::isinf(p)) return o.b.reduce(p > 0 ? op::ReduceMax : op::ReduceMin, size, axes, keep);
  const DType dtype = o.b.dtype(x);
  if (p == 0) {
    const ValueId zero = o.b.emit(op::Equal, {x, o.b.scalar(dtype, 0)});
    return o.b.reduce(op::ReduceSum, o.b.cast(o.b.emit(op::Not, {zero}), dtype), axes, keep);
  }
  const ValueId sum =
      o.b.reduce(op::ReduceSum, o.b.emit(op::Pow, {size, o.b.scalar(dtype, p)}), axes, keep);
  return o.b.emit(op::Pow, {sum, o.b.scalar(dtype, 1 / p)});
}
Results norm(Operands& o) {
  ValueId x = o.read("self");
  if (o.has("dtype") && o.given("dtype")) x = o.b.cast(x, o.dtype("dtype", DType::kF32));
  const char* const name = o.has("ord") ? "ord" : "p";
  double p = 2;
  if (o.has(name) && o.given(name)) {
    if (o.value(name).is(Value::Kind::kString)) {
      const std::string text = o.text(name);
      if (text != "inf" && text != "-inf" && text != "fro")
        o.refuse(name, "'" + text + "' is not supported");
      p = text == "fro"   ? 2
          : text == "inf" ? std::numeric_limits<double>::infinity()
                          : -std::numeric_limits<double>::infinity();
    } else {
      p = o.number(name);
    }
  }
  return o.result(norm_of(o, x, p, reduced_axes(o, o.b.rank(x)), kept(o)));
}
Results cosine_similarity(Operands& o) {
  const DType dtype = result_type(o.b, {o.value("x1"), o.value("x2")});
  ValueId a = as_type(o.b, o.value("x1"), dtype), b = as_type(o.b, o.value("x2"), dtype);
  const int64_t rank = std::max(o.b.rank(a), o.b.rank(b)), axis = o.axis("dim", rank);
  // both to one rank, so that the dimension is the same; one of them may be 1 along it
  for (ValueId* x : {&a, &b}) {
    Dims to = o.b.dims(*x);
    to.insert(to.begin(), size_t(rank) - to.size(), Dim(1));
    *x = o.b.reshape(*x, to);
  }
  for (ValueId* x : {&a, &b}) {
    Dims to = o.b.dims(*x);
    const Dim other = o.b.dims(x == &a ? b : a)[size_t(axis)];
    if (to[size_t(axis)] != Dim(1) || other == Dim(1)) continue;
    to[size_t(axis)] = other;
    *x = o.b.expand(*x, to);
  }
  const ValueId epsilon = o.b.scalar(dtype, o.number("eps"));
  const auto unit = [&](ValueId x) {
    return o.b.emit(op::Div,
                    {x, o.b.emit(op::Max, {o.b.reduce(op::ReduceL2, x, {axis}, true), epsilon})});
  };
  return o.result(o.b.reduce(op::ReduceSum, o.b.emit(op::Mul, {unit(a), unit(b)}), {axis}, false));
}

Results cumulative(Operands& o) {
  ValueId x = o.read("self");
  const DType natural = graph::is_floating(o.b.dtype(x)) ? o.b.dtype(x) : DType::kI64;
  x = o.b.cast(x, o.dtype("dtype", natural));
  const int64_t axis = o.axis("dim", o.b.rank(x));
  if (o.b.rank(x) == 0) return o.result(x);
  return o.result(
      o.b.emit(op::CumSum, {x},
               {{attr::axis, axis}, {attr::exclusive, int64_t(0)}, {attr::reverse, int64_t(0)}}));
}
Results ordered(Operands& o, const Dim& count, bool largest, bool sorted) {
  const ValueId x = o.read("self");
  const int64_t axis = o.axis("dim", o.b.rank(x));
  if (o.b.rank(x) == 0)
    return {Value::of(o.b.own(x)), Value::of(o.b.own(o.b.scalar(DType::kI64, 0)))};
  const std::vector<ValueId> made = o.b.emit_many(op::TopK, {x},
                                                  {{attr::k, Dims{count}},
                                                   {attr::axis, axis},
                                                   {attr::largest, int64_t(largest)},
                                                   {attr::sorted, int64_t(sorted)}},
                                                  2);
  return {Value::of(o.b.own(made[0])), Value::of(o.b.own(made[1]))};
}
Results top_k(Operands& o) { return ordered(o, o.dim("k"), o.flag("largest"), o.flag("sorted")); }
Results sort(Operands& o) {
  const Dims in = o.b.dims(o.read("self"));
  const Dim count = in.empty() ? Dim(1) : in[size_t(o.axis("dim", int64_t(in.size())))];
  Results both = ordered(o, count, o.flag("descending"), true);
  if (o.op() == "argsort") return {both[1]};
  return both;
}

}  // namespace

void add_reductions(Table& table) {
  table.add_all("sum mean prod", "Tensor self, *, int? dtype=None", sum);
  table.add_all("sum.dim_IntList mean.dim",
                "Tensor self, int[]? dim, bool keepdim=False, *, int? dtype=None", sum);
  table.add("prod.dim_int", "Tensor self, int dim, bool keepdim=False, *, int? dtype=None", sum);
  table.add_all("amax amin", "Tensor self, int[] dim=[], bool keepdim=False", whole_extreme);
  table.add_all("max min", "Tensor self", whole_extreme);
  table.add_all("max.dim min.dim", "Tensor self, int dim, bool keepdim=False", extreme_along);
  table.add_all("argmax argmin", "Tensor self, int? dim=None, bool keepdim=False", arg_extreme);
  table.add_all("any all", "Tensor self", truth);
  table.add_all("any.dim all.dim", "Tensor self, int dim, bool keepdim=False", truth);
  table.add_all("any.dims all.dims", "Tensor self, int[]? dim=None, bool keepdim=False", truth);
  table.add("logsumexp", "Tensor self, int[] dim, bool keepdim=False", log_sum_exp);
  table.add_all("var std var_mean std_mean", "Tensor self, bool unbiased=True", variance);
  table.add_all("var.dim std.dim var_mean.dim std_mean.dim",
                "Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False", variance);
  table.add_all("var.correction std.correction var_mean.correction std_mean.correction",
                "Tensor self, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False",
                variance);
  table.add("norm.Scalar", "Tensor self, Scalar p=2", norm);
  table.add("norm.ScalarOpt_dim", "Tensor self, Scalar? p, int[] dim, bool keepdim=False", norm);
  table.add("norm.ScalarOpt_dim_dtype",
            "Tensor self, Scalar? p, int[] dim, bool keepdim, *, int dtype", norm);
  table.add("frobenius_norm.dim", "Tensor self, int[] dim, bool keepdim=False", norm);
  table.add("linalg_vector_norm",
            "Tensor self, Any ord=2, int[]? dim=None, bool keepdim=False, *, int? dtype=None",
            norm);
  table.add("cosine_similarity", "Tensor x1, Tensor x2, int dim=1, float eps=1e-08",
            cosine_similarity);
  table.add("cumsum", "Tensor self, int dim, *, int? dtype=None", cumulative);
  table.add("topk", "Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True", top_k);
  table.add("sort", "Tensor self, int dim=-1, bool descending=False", sort);
  table.add("sort.stable", "Tensor self, *, bool? stable, int dim=-1, bool descending=False", sort);
  table.add("argsort", "Tensor self, int dim=-1, bool descending=False", sort);
  table.add("argsort.stable", "Tensor self, *, bool stable, int dim=-1, bool descending=False",
            sort);
}

}  // namespace ingot::aten
