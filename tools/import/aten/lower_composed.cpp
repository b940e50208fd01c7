// tools/import/aten/lower_composed.cpp - operators that are a few of the others: distances, joins
// of stacks, reductions by index.
#include <cmath>

#include "tools/import/aten/operands.h"
#include "tools/import/aten/promotion.h"

namespace ingot::aten {
namespace {

ValueId floating(Operands& o, const char* name) {
  const ValueId x = o.read(name);
  return is_floating_type(o.b.dtype(x)) ? x : o.b.cast(x, DType::kF32);
}
ValueId like(Builder& b, ValueId x, double number) { return b.scalar(b.dtype(x), number); }

Results is_finite(Operands& o) {
  const ValueId x = floating(o, "self");
  const bool both = o.op() == "isfinite";
  const Attributes sides = {{"detect_negative", int64_t(both || o.op() == "isneginf")},
                            {"detect_positive", int64_t(both || o.op() == "isposinf")}};
  const ValueId infinite = o.b.emit("IsInf", {x}, sides);
  if (!both) return o.result(infinite);
  return o.result(o.b.emit("Not", {o.b.emit("Or", {infinite, o.b.emit("IsNaN", {x})})}));
}
Results exp2(Operands& o) {
  const ValueId x = floating(o, "self");
  return o.result(o.b.emit("Pow", {like(o.b, x, 2), x}));
}
Results angle_unit(Operands& o) {
  const ValueId x = floating(o, "self");
  const double degree = 0.017453292519943295;
  return o.result(o.b.emit("Mul", {x, like(o.b, x, o.op() == "deg2rad" ? degree : 1 / degree)}));
}
/// log(x / (1 - x)), kept from both ends where eps is given.
Results logit(Operands& o) {
  ValueId x = floating(o, "self");
  if (o.given("eps")) {
    const double eps = o.number("eps");
    x = o.b.emit("Min", {o.b.emit("Max", {x, like(o.b, x, eps)}), like(o.b, x, 1 - eps)});
  }
  const ValueId odds = o.b.emit("Div", {x, o.b.emit("Sub", {like(o.b, x, 1), x})});
  return o.result(o.b.emit("Log", {odds}));
}
/// The larger one and log(1 + exp(-|a - b|)); of equal ones log(2), infinite ones too.
Results log_add_exp(Operands& o) {
  const DType dtype = result_type(o.b, {o.value("self"), o.value("other")});
  const ValueId a = as_type(o.b, o.value("self"), dtype), b = as_type(o.b, o.value("other"), dtype);
  const ValueId apart = o.b.emit("Neg", {o.b.emit("Abs", {o.b.emit("Sub", {a, b})})});
  const ValueId more = o.b.emit(
      "Where",
      {o.b.emit("Equal", {a, b}), o.b.scalar(dtype, std::log(2.0)), o.b.emit("Softplus", {apart})});
  return o.result(o.b.emit("Add", {o.b.emit("Max", {a, b}), more}));
}
/// NaN is not above 0.
Results heaviside(Operands& o) {
  const ValueId x = o.read("self"), at_zero = o.read("values");
  const DType dtype = o.b.dtype(x);
  const ValueId zero = like(o.b, x, 0);
  const ValueId step = o.b.cast(o.b.emit("Greater", {x, zero}), dtype);
  return o.result(
      o.b.emit("Where", {o.b.emit("Equal", {x, zero}), o.b.cast(at_zero, dtype), step}));
}
/// In inference form the slope is the middle of both.
Results random_slope(Operands& o) {
  if (o.flag("training"))
    o.refuse("training", "random slopes are not supported", "save the model in eval mode");
  return o.result(o.b.emit("LeakyRelu", {o.read("self")},
                           {{"alpha", (o.number("lower") + o.number("upper")) / 2}}));
}

/// The p-norm along the last dimension.
ValueId norm_of(Builder& b, ValueId x, double p, bool keep) {
  const std::vector<int64_t> last = {b.rank(x) - 1};
  if (p == 2) return b.reduce("ReduceL2", x, last, keep);
  if (p == 1) return b.reduce("ReduceL1", x, last, keep);
  const ValueId size = b.emit("Abs", {x});
  if (std::isinf(p)) return b.reduce("ReduceMax", size, last, keep);
  const ValueId sum = b.reduce("ReduceSum", b.emit("Pow", {size, like(b, x, p)}), last, keep);
  return b.emit("Pow", {sum, like(b, x, 1 / p)});
}
Results pairwise_distance(Operands& o) {
  const double p = o.number("p");
  if (!(p > 0)) o.refuse("p", "is " + std::to_string(p) + ", only numbers above 0 are supported");
  const ValueId apart = o.b.emit("Sub", {floating(o, "x1"), floating(o, "x2")});
  if (o.b.rank(apart) == 0) o.corrupt("measures numbers, expected vectors");
  const ValueId moved = o.b.emit("Add", {apart, like(o.b, apart, o.number("eps"))});
  return o.result(norm_of(o.b, moved, p, o.flag("keepdim")));
}
/// Euclidean distances of very many points come from products, which lose the small ones; the
/// others from differences.
Results distances(Operands& o) {
  constexpr int64_t kMaxDifferences = 1 << 22;
  Builder& b = o.b;
  const ValueId x = floating(o, "x1"), y = floating(o, "x2");
  const double p = o.number("p");
  if (!(p > 0)) o.refuse("p", "is " + std::to_string(p) + ", only numbers above 0 are supported");
  const Dims one = b.dims(x), other = b.dims(y);
  if (one.size() < 2 || other.size() < 2 || one.back() != other.back())
    o.corrupt("measures " + graph::text(one) + " against " + graph::text(other));
  const Dim differences = graph::product(one) * other[other.size() - 2];
  if (p == 2 && !graph::proven_at_least(Dim(kMaxDifferences), differences)) {
    const auto squares = [&](ValueId id) {
      return b.reduce("ReduceSum", b.emit("Mul", {id, id}), {b.rank(id) - 1}, true);
    };
    const auto turned = [&](ValueId id) {
      std::vector<int64_t> perm;
      for (int64_t i = 0; i < b.rank(id); i++) perm.push_back(i);
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
      return b.transpose(id, perm);
    };
    const ValueId twice = b.emit("Mul", {b.emit("MatMul", {x, turned(y)}), like(b, x, -2)});
    const ValueId sum = b.emit("Add", {b.emit("Add", {twice, squares(x)}), turned(squares(y))});
    return o.result(b.emit("Sqrt", {b.emit("Max", {sum, like(b, x, 0)})}));
  }
  Dims wide = one, tall = other;
  wide.insert(wide.end() - 1, Dim(1));
  tall.insert(tall.end() - 2, Dim(1));
  return o.result(norm_of(b, b.emit("Sub", {b.reshape(x, wide), b.reshape(y, tall)}), p, false));
}

/// hstack, vstack, dstack and column_stack: with so many dimensions at least, then joined along
/// one.
Results joined(Operands& o) {
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
  return o.result(o.b.emit("Concat", parts, {{"axis", int64_t(axis)}}));
}

/// `index` along one dimension, wide as `part`.
ValueId wide_index(Operands& o, const Dims& part, int64_t axis) {
  const ValueId index = o.b.cast(o.read("index"), DType::kI64);
  Dims row(part.size(), Dim(1));
  row[size_t(axis)] = graph::product(o.b.dims(index));
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
    if (o.has("alpha")) part = b.emit("Mul", {part, as_type(b, o.value("alpha"), dtype)});
  } else {
    Dims dims = whole;
    dims[size_t(axis)] = graph::product(b.dims(o.read("index")));
    part = b.expand(as_type(b, o.value("value"), dtype), dims);
  }
  return o.result(
      b.emit("ScatterElements", {x, wide_index(o, b.dims(part), axis), part},
             {{"axis", axis}, {"reduction", std::string(o.op() == "index_add" ? "add" : "none")}}));
}
Results scatter_reduce(Operands& o) {
  static const std::map<std::string, const char*> kTable = {
      {"sum", "add"}, {"prod", "mul"}, {"amax", "max"}, {"amin", "min"}};
  const std::string reduce = o.text("reduce");
  const auto found = kTable.find(reduce);
  if (found == kTable.end()) o.refuse("reduce", "'" + reduce + "' is not supported");
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
  if (!o.flag("include_self")) {  // what is written to begins at the number that changes nothing
    if (!is_floating_type(b.dtype(x)))
      o.refuse("include_self", "False is supported for floating types alone");
    const double start = reduce == "sum"    ? 0
                         : reduce == "prod" ? 1
                         : reduce == "amax" ? -INFINITY
                                            : INFINITY;
    x = b.emit("ScatterElements", {x, index, b.expand(like(b, x, start), dims)},
               {{"axis", axis}, {"reduction", std::string("none")}});
  }
  return o.result(b.emit("ScatterElements", {x, index, source},
                         {{"axis", axis}, {"reduction", std::string(found->second)}}));
}

}  // namespace

void add_composed(Table& table) {
  table.add_all("isfinite isposinf isneginf", "Tensor self", is_finite);
  table.add_all("exp2 special_exp2", "Tensor self", exp2);
  table.add_all("deg2rad rad2deg", "Tensor self", angle_unit);
  table.add_all("logit special_logit", "Tensor self, float? eps=None", logit);
  table.add("logaddexp", "Tensor self, Tensor other", log_add_exp);
  table.add("heaviside", "Tensor self, Tensor values", heaviside);
  table.add("rrelu",
            "Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False",
            random_slope);
  table.add("pairwise_distance",
            "Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False",
            pairwise_distance);
  table.add("cdist", "Tensor x1, Tensor x2, float p=2, int? compute_mode=None", distances);
  table.add_all("hstack vstack dstack column_stack", "Tensor[] tensors", joined);
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
}

}  // namespace ingot::aten
