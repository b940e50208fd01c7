// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_composed.cpp - operators that are a few of the others: distances, joins
// of stacks, reductions by index.
#include "tools/import/aten/arithmetic.h"

namespace ingot::aten {
namespace {

ValueId like(Builder& b, ValueId x, double number) { return b.scalar(b.dtype(x), number); }

Results is_finite(Operands& o) {
  const ValueId x = o.floating("self");
  const bool both = o.op() == "isfinite" || o.op() == "isinf";
  const Attributes sides = {{attr::detect_negative, int64_t(both || o.op() == "isneginf")},
                            {attr::detect_positive, int64_t(both || o.op() == "isposinf")}};
  const ValueId infinite = o.b.emit(op::IsInf, {x}, sides);
  if (o.op() != "isfinite") return o.result(infinite);
  return o.result(o.b.emit(op::Not, {o.b.emit(op::Or, {infinite, o.b.emit(op::IsNaN, {x})})}));
}
Results exp2(Operands& o) {
  const ValueId x = o.floating("self");
  return o.result(o.b.emit(op::Pow, {like(o.b, x, 2), x}));
}
Results angle_unit(Operands& o) {
  const ValueId x = o.floating("self");
  const double degree = 0.017453292519943295;
  return o.result(o.b.emit(op::Mul, {x, like(o.b, x, o.op() == "deg2rad" ? degree : 1 / degree)}));
}
/// log(x / (1 - x)), kept from both ends where eps is given.
Results logit(Operands& o) {
  ValueId x = o.floating("self");
  if (o.given("eps")) {
    const double eps = o.number("eps");
    x = o.b.emit(op::Min, {o.b.emit(op::Max, {x, like(o.b, x, eps)}), like(o.b, x, 1 - eps)});
  }
  const ValueId odds = o.b.emit(op::Div, {x, o.b.emit(op::Sub, {like(o.b, x, 1), x})});
  return o.result(o.b.emit(op::Log, {odds}));
}
Results log_add_exp(Operands& o) {
  const Terms t = two_terms(o, "self", "other");
  return result_of(log_add_exponentials(t.x, t.y));
}
/// NaN is not above 0.
Results heaviside(Operands& o) {
  const ValueId x = o.read("self"), at_zero = o.read("values");
  const DType dtype = o.b.dtype(x);
  const ValueId zero = like(o.b, x, 0);
  const ValueId step = o.b.cast(o.b.emit(op::Greater, {x, zero}), dtype);
  return o.result(
      o.b.emit(op::Where, {o.b.emit(op::Equal, {x, zero}), o.b.cast(at_zero, dtype), step}));
}
/// In inference form the slope is the middle of both.
Results random_slope(Operands& o) {
  if (o.flag("training"))
    o.refuse("training", "random slopes are not supported", "save the model in eval mode");
  Results all = o.result(o.b.emit(op::LeakyRelu, {o.read("self")},
                                  {{attr::alpha, (o.number("lower") + o.number("upper")) / 2}}));
  if (o.has("noise")) all.push_back(o.value("noise"));
  return all;
}

/// The p-norm along the last dimension.
ValueId norm_of(Builder& b, ValueId x, double p, bool keep) {
  const std::vector<int64_t> last = {b.rank(x) - 1};
  if (p == 2) return b.reduce(op::ReduceL2, x, last, keep);
  if (p == 1) return b.reduce(op::ReduceL1, x, last, keep);
  const ValueId size = b.emit(op::Abs, {x});
  if (std::isinf(p)) return b.reduce(op::ReduceMax, size, last, keep);
  const ValueId sum = b.reduce(op::ReduceSum, b.emit(op::Pow, {size, like(b, x, p)}), last, keep);
  return b.emit(op::Pow, {sum, like(b, x, 1 / p)});
}
Results pairwise_distance(Operands& o) {
  const double p = o.number("p");
  if (!(p > 0)) o.refuse("p", "is " + std::to_string(p) + ", only numbers above 0 are supported");
  const ValueId apart = o.b.emit(op::Sub, {o.floating("x1"), o.floating("x2")});
  if (o.b.rank(apart) == 0) o.corrupt("measures numbers, expected vectors");
  const ValueId moved = o.b.emit(op::Add, {apart, like(o.b, apart, o.number("eps"))});
  return o.result(norm_of(o.b, moved, p, o.flag("keepdim")));
}
/// Euclidean distances of very many points come from products where PyTorch does so too, which
/// lose the small ones; the others from differences.
ValueId distances_of(Operands& o, ValueId x, ValueId y, bool may_multiply) {
  constexpr int64_t kMaxDifferences = 1 << 22;
  Builder& b = o.b;
  const double p = o.number("p");
  if (!(p > 0)) o.refuse("p", "is " + std::to_string(p) + ", only numbers above 0 are supported");
  const Dims one = b.dims(x), other = b.dims(y);
  if (one.size() < 2 || other.size() < 2 || one.back() != other.back())
    o.corrupt("measures " + graph::text(one) + " against " + graph::text(other));
  const Dim differences = graph::product(one) * other[other.size() - 2];
  if (may_multiply && p == 2 && !graph::proven_at_least(Dim(kMaxDifferences), differences)) {
    const auto squares = [&](ValueId id) {
      return b.reduce(op::ReduceSum, b.emit(op::Mul, {id, id}), {b.rank(id) - 1}, true);
    };
    const auto turned = [&](ValueId id) {
      std::vector<int64_t> perm;
      for (int64_t i = 0; i < b.rank(id); i++) perm.push_back(i);
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
      return b.transpose(id, perm);
    };
    const ValueId twice = b.emit(op::Mul, {b.emit(op::MatMul, {x, turned(y)}), like(b, x, -2)});
    const ValueId sum = b.emit(op::Add, {b.emit(op::Add, {twice, squares(x)}), turned(squares(y))});
    return b.emit(op::Sqrt, {b.emit(op::Max, {sum, like(b, x, 0)})});
  }
  Dims wide = one, tall = other;
  wide.insert(wide.end() - 1, Dim(1));
  tall.insert(tall.end() - 2, Dim(1));
  return norm_of(b, b.emit(op::Sub, {b.reshape(x, wide), b.reshape(y, tall)}), p, false);
}
Results distances(Operands& o) {
  // 2: never by products
  const bool may_multiply = !o.given("compute_mode") || o.integer("compute_mode") != 2;
  return o.result(distances_of(o, o.floating("x1"), o.floating("x2"), may_multiply));
}
/// Of each row to every later one.
Results distances_of_pairs(Operands& o) {
  const Term x = {&o.b, o.floating("self")};
  if (x.rank() != 2) o.corrupt("measures the rows of " + graph::text(x.dims()));
  const int64_t rows = x.dims()[0].value().value_or(INT64_MAX);
  if (rows > 2048)
    o.refuse("self", "has " + x.dims()[0].text() + " rows; at most 2048, and a fixed number",
             "use torch.cdist");
  std::vector<int64_t> places;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = i + 1; j < rows; j++) places.push_back(i * rows + j);
  const Term all = x.of(distances_of(o, x.id, x.id, false)).reshape({Dim(rows * rows)});
  return result_of(gathered(all, x.of(o.b.integers(places)), 0));
}

/// hstack, vstack, dstack and column_stack: with so many dimensions at least, then joined along
/// one.
Results joined_tensors(Operands& o) {
  std::vector<ValueId> parts = o.read_all("tensors");
  if (parts.empty()) o.corrupt("joins nothing");
  DType dtype = DType::kInvalid;
  for (const ValueId id : parts) dtype = promoted(dtype, o.b.dtype(id));
  size_t axis = 0;
  for (ValueId& id : parts) {
    Dims dims = o.b.dims(id);
    const size_t rank = dims.size();
    if (dims.empty()) dims = {Dim(1)};
    if (o.op() == "column_stack" && dims.size() == 1) dims.push_back(Dim(1));
    if ((o.op() == "vstack" || o.op() == "dstack") && dims.size() == 1)
      dims.insert(dims.begin(), Dim(1));
    if (o.op() == "dstack" && dims.size() == 2) dims.push_back(Dim(1));
    axis = o.op() == "vstack" ? 0 : o.op() == "dstack" ? 2 : o.op() == "hstack" && rank < 2 ? 0 : 1;
    id = o.b.cast(o.b.reshape(id, dims), dtype);
  }
  return o.result(o.b.emit(op::Concat, parts, {{attr::axis, int64_t(axis)}}));
}

/// `index` along one dimension, wide as `part`.
ValueId wide_index(Operands& o, const Dims& part, int64_t axis) {
  const ValueId index = o.b.cast(o.read("index"), DType::kI64);
  Dims row(part.size(), Dim(1));
  row[size_t(axis)] = graph::product(o.b.dims(index));
  if (!row[size_t(axis)].is_static() && row[size_t(axis)] != part[size_t(axis)])
    o.refuse("index", "has " + row[size_t(axis)].text() + " places for " + graph::text(part) +
                          ", which only the data tells equal");
  if (row[size_t(axis)] != part[size_t(axis)])
    o.corrupt("has " + row[size_t(axis)].text() + " places for " + graph::text(part));
  return o.b.expand(o.b.reshape(index, row), part);
}
Results by_index(Operands& o) {
  Builder& b = o.b;
  ValueId x = o.read("self");
  const Dims whole = b.dims(x);
  const DType dtype = b.dtype(x);
  if (whole.empty()) o.refuse("self", "has no dimension");
  const int64_t axis = o.axis("dim", int64_t(whole.size()));
  ValueId part;
  if (o.has("source")) {
    part = b.cast(o.read("source"), dtype);
    if (b.rank(part) != int64_t(whole.size())) o.corrupt("reads " + graph::text(b.dims(part)));
    if (o.has("alpha")) part = b.emit(op::Mul, {part, as_type(b, o.value("alpha"), dtype)});
  } else {
    Dims dims = whole;
    dims[size_t(axis)] = graph::product(b.dims(o.read("index")));
    part = b.expand(as_type(b, o.value("value"), dtype), dims);
  }
  return o.result(b.emit(op::ScatterElements, {x, wide_index(o, b.dims(part), axis), part},
                         {{attr::axis, axis},
                          {attr::reduction, std::string(o.op() == "index_add" ? "add" : "none")}}));
}
/// What is written to begins at the number that changes nothing, unless it counts itself.
Term reduced_into(Operands& o, Term x, const Term& index, const Term& source, int64_t axis,
                  const std::string& reduce) {
  const char* const node = reduce == "amax"   ? "max"
                           : reduce == "amin" ? "min"
                           : reduce == "prod" ? "mul"
                                              : "add";
  const bool own = o.flag("include_self");
  const Term given = x;
  if (!own) {
    if (!graph::is_floating(x.dtype()) && reduce != "sum" && reduce != "mean" && reduce != "prod")
      o.refuse("include_self", "False is supported for floating types alone");
    const double start = reduce == "prod"   ? 1
                         : reduce == "amax" ? -INFINITY
                         : reduce == "amin" ? INFINITY
                                            : 0;
    x = scattered(x, index, x.number(start).expand(index.dims()), axis);
  }
  const Term made = scattered(x, index, source, axis, node);
  if (reduce != "mean") return made;
  const Term count = scattered(x.number(own ? 1 : 0).expand(x.dims()), index,
                               x.number(1).expand(index.dims()), axis, "add");
  if (graph::is_floating(x.dtype())) return where(equal(count, 0), given, made / larger(count, 1));
  const Term times = larger(count, 1);
  const Term whole = (made - call(op::Mod, made, times, {{attr::fmod, int64_t(0)}})) / times;
  return where(equal(count, 0), given, whole);
}
Results scatter_reduce(Operands& o) {
  const std::string reduce = o.text("reduce");
  if (reduce != "sum" && reduce != "prod" && reduce != "mean" && reduce != "amax" &&
      reduce != "amin")
    o.refuse("reduce", "'" + reduce + "' is not supported");
  Builder& b = o.b;
  ValueId x = o.read("self");
  const ValueId index = b.cast(o.read("index"), DType::kI64);
  const Dims dims = b.dims(index);
  if (b.rank(x) == 0 || b.rank(x) != int64_t(dims.size()))
    o.refuse("index", "has another rank than its tensor");
  const int64_t axis = o.axis("dim", b.rank(x));
  ValueId source = b.cast(o.read("src"), b.dtype(x));
  for (int64_t i = 0; i < b.rank(index); i++)
    if (b.dims(source)[size_t(i)] != dims[size_t(i)])
      source = b.slice(source, i, Dim(0), dims[size_t(i)]);
  return result_of(reduced_into(o, {&b, x}, {&b, index}, {&b, source}, axis, reduce));
}
/// Rows of one dimension by their index.
Results index_reduce(Operands& o) {
  Builder& b = o.b;
  const Term x = term(o, "self"), source = term(o, "source").cast(x.dtype());
  const std::string reduce = o.text("reduce");
  if (reduce != "prod" && reduce != "mean" && reduce != "amax" && reduce != "amin")
    o.refuse("reduce", "'" + reduce + "' is not supported");
  const int64_t axis = o.axis("dim", x.rank());
  const Term index = {&b, wide_index(o, source.dims(), axis)};
  return result_of(reduced_into(o, x, index, source, axis, reduce));
}

}  // namespace

void add_composed(Table& table) {
  table.add_all("isfinite isinf isposinf isneginf", "Tensor self", is_finite);
  table.add_all("exp2 special_exp2", "Tensor self", exp2);
  table.add_all("deg2rad rad2deg", "Tensor self", angle_unit);
  table.add_all("logit special_logit", "Tensor self, float? eps=None", logit);
  table.add("logaddexp", "Tensor self, Tensor other", log_add_exp);
  table.add("heaviside", "Tensor self, Tensor values", heaviside);
  table.add("rrelu",
            "Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False",
            random_slope);
  table.add("rrelu_with_noise_functional",
            "Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool "
            "training=False, Any generator=None",
            random_slope);
  table.add("pairwise_distance",
            "Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False",
            pairwise_distance);
  table.add_all("cdist _cdist_forward", "Tensor x1, Tensor x2, float p=2, int? compute_mode=None",
                distances);
  table.add_all("pdist _pdist_forward", "Tensor self, float p=2", distances_of_pairs);
  table.add_all("hstack vstack dstack column_stack", "Tensor[] tensors", joined_tensors);
  table.add("index_add", "Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1",
            by_index);
  table.add("index_copy", "Tensor self, int dim, Tensor index, Tensor source", by_index);
  table.add_all("index_fill.int_Scalar", "Tensor self, int dim, Tensor index, Scalar value",
                by_index);
  table.add_all("index_fill.int_Tensor", "Tensor self, int dim, Tensor index, Tensor value",
                by_index);
  table.add("scatter_reduce.two",
            "Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True",
            scatter_reduce);
  table.add("index_reduce",
            "Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool "
            "include_self=True",
            index_reduce);
}

}  // namespace ingot::aten
