// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_generate.cpp - tensors made from numbers.
#include <cmath>

#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"
#include "tools/import/aten/operands.h"
#include "tools/import/aten/promotion.h"

namespace ingot::aten {
namespace {

ValueId filled(Operands& o, const Dims& dims, const Value& value, DType dtype) {
  return o.b.expand(as_type(o.b, value, dtype), dims);
}
DType type_of_number(const Value& value) {
  return value.is(Value::Kind::kBool)  ? DType::kBool
         : value.is(Value::Kind::kInt) ? DType::kI64
                                       : DType::kF32;
}
Value number_of(const std::string& op) {
  return Value::of(op.find("ones") != std::string::npos ? 1.0 : 0.0);
}

/// What empty() holds nobody may rely on: zeros.
Results constant_like(Operands& o) {
  const ValueId x = o.read("self");
  const DType dtype = o.dtype("dtype", o.b.dtype(x));
  const Dims dims = o.has("size") ? o.dims("size") : o.b.dims(x);
  return o.result(
      filled(o, dims, o.has("fill_value") ? o.value("fill_value") : number_of(o.op()), dtype));
}
Results constant(Operands& o) {
  const Value value = o.has("fill_value") ? o.value("fill_value") : number_of(o.op());
  const DType dtype = o.dtype("dtype", o.has("fill_value") ? type_of_number(value) : DType::kF32);
  return o.result(filled(o, o.dims("size"), value, dtype));
}
Results fill(Operands& o) {
  const ValueId x = o.read("self");
  return o.result(
      filled(o, o.b.dims(x), o.has("value") ? o.value("value") : number_of(o.op()), o.b.dtype(x)));
}
Results scalar_tensor(Operands& o) {
  const char* const name = o.has("s") ? "s" : "data";
  const Value& value = o.value(name);
  if (value.items || value.is(Value::Kind::kNone) || value.is(Value::Kind::kString) ||
      value.is(Value::Kind::kForeign))
    o.refuse(name, "is " + value.describe() + ", expected a number");
  return o.result(as_type(
      o.b, value,
      o.dtype("dtype", o.has("s") && !o.given("dtype") ? DType::kF32 : type_of_number(value))));
}

/// A list of numbers, nested as its shape.
void collect(Operands& o, const Value& value, size_t depth, std::vector<int64_t>* dims,
             std::vector<double>* numbers) {
  if (value.items) {
    if (depth >= size_t(kMaxRank)) o.refuse("data", "has too many dimensions");
    if (dims->size() == depth) dims->push_back(int64_t(value.items->size()));
    // one row may be many rows of the next
    host::charge_memory(value.items->size() * sizeof(double));
    if ((*dims)[depth] != int64_t(value.items->size()))
      o.refuse("data", "its rows differ in length");
    for (const Value& item : *value.items) collect(o, item, depth + 1, dims, numbers);
    return;
  }
  if (value.is(Value::Kind::kInt)) {
    const auto n = value.integer.value();
    if (!n)
      o.refuse("data", "has a symbolic dimension in a list (" + value.integer.text() + ")",
               "bind it with --dim");
    numbers->push_back(double(*n));
  } else if (value.is(Value::Kind::kFloat)) {
    numbers->push_back(value.number);
  } else if (value.is(Value::Kind::kBool)) {
    numbers->push_back(value.truth ? 1 : 0);
  } else {
    o.refuse("data", "has " + value.describe() + " in it, expected numbers");
  }
}
const Value& first_number(const Value& value) {
  return value.items && !value.items->empty() ? first_number((*value.items)[0]) : value;
}
Results tensor(Operands& o) {
  const Value& data = o.value("data");
  if (data.is(Value::Kind::kTensor))
    return o.result(o.b.cast(o.read("data"), o.dtype("dtype", o.b.dtype(o.read("data")))));
  if (!data.items) return scalar_tensor(o);
  std::vector<int64_t> dims;
  std::vector<double> numbers;
  collect(o, data, 0, &dims, &numbers);
  const Value& first = first_number(data);
  const DType dtype = o.dtype("dtype", first.items ? DType::kF32 : type_of_number(first));
  const ValueId wide = o.b.constant(graph::make_floating(DType::kF64, dims, numbers));
  return o.result(o.b.cast(wide, dtype));
}

Results arange(Operands& o) {
  const Value start = o.has("start") ? o.value("start") : Value::of(Dim(0)), &end = o.value("end");
  const Value step = o.has("step") ? o.value("step") : Value::of(Dim(1));
  const auto real = [](const Value& v) { return v.is(Value::Kind::kFloat); };
  const bool floating = real(start) || real(end) || real(step);
  const DType dtype = o.dtype("dtype", floating ? DType::kF32 : DType::kI64);
  if (floating) {
    const auto number = [&](const Value& v, const char* name) {
      if (real(v)) return v.number;
      const auto n = v.integer.value();
      if (!n)
        o.refuse(name, "a symbolic dimension beside fractions is not supported",
                 "bind it with --dim");
      return double(*n);
    };
    const double from = number(start, "start"), to = number(end, "end"), by = number(step, "step");
    if (!(by != 0) || !std::isfinite((to - from) / by)) o.corrupt("its range does not end");
    const double count = std::ceil((to - from) / by);
    if (count > double(int64_t(1) << 24)) o.refuse("end", "makes more than 16 million elements");
    std::vector<double> values;
    for (int64_t i = 0; double(i) < count; i++) values.push_back(from + double(i) * by);
    return o.result(o.b.cast(
        o.b.constant(graph::make_floating(DType::kF64, {int64_t(values.size())}, values)), dtype));
  }
  const auto by = step.integer.value();
  if (!by) o.refuse("step", "is symbolic", "bind it with --dim");
  if (*by == 0) o.corrupt("its step is 0");
  if (*by == INT64_MIN) o.refuse("step", std::to_string(*by) + " is not supported");
  const Dim span = *by > 0 ? end.integer - start.integer : start.integer - end.integer;
  const Dim count = max(Dim(0), ceil_div(span, Dim(std::abs(*by))));
  const Dim sized =
      graph::proven_at_least(span, Dim(0)) ? ceil_div(span, Dim(std::abs(*by))) : count;
  if (sized.is_static() && *sized.value() > int64_t(1) << 24)
    o.refuse("end", "makes more than 16 million elements");
  ValueId made = o.b.counting(sized);
  if (*by != 1) made = o.b.emit(op::Mul, {made, o.b.scalar(DType::kI64, double(*by))});
  if (start.integer != Dim(0)) made = o.b.emit(op::Add, {made, o.b.extent(start.integer)});
  return o.result(o.b.cast(made, dtype));
}
Results linspace(Operands& o) {
  const double start = o.number("start"), end = o.number("end");
  const int64_t steps = o.integer("steps");
  if (steps < 0 || steps > int64_t(1) << 24)
    o.corrupt("makes " + std::to_string(steps) + " elements");
  std::vector<double> values;
  for (int64_t i = 0; i < steps; i++)
    values.push_back(steps == 1 ? start : start + (end - start) * double(i) / double(steps - 1));
  return o.result(
      o.b.constant(graph::make_floating(o.dtype("dtype", DType::kF32), {steps}, values)));
}
Results eye(Operands& o) {
  const int64_t n = o.integer("n"), m = o.has("m") ? o.integer("m") : n;
  if (n < 0 || m < 0 || n > 1 << 14 || m > 1 << 14)
    o.corrupt("makes " + std::to_string(n) + " x " + std::to_string(m));
  std::vector<double> values(size_t(n * m), 0.0);
  for (int64_t i = 0; i < std::min(n, m); i++) values[size_t(i * m + i)] = 1;
  return o.result(o.b.cast(o.b.constant(graph::make_floating(DType::kF64, {n, m}, values)),
                           o.dtype("dtype", DType::kF32)));
}
Results one_hot(Operands& o) {
  const int64_t classes = o.integer("num_classes");
  if (classes < 1) o.refuse("num_classes", "must be given");
  const ValueId index = o.read("self");
  Dims wide = o.b.dims(index);
  wide.push_back(Dim(1));
  const ValueId hit = o.b.emit(
      op::Equal, {o.b.reshape(o.b.cast(index, DType::kI64), wide), o.b.counting(Dim(classes))});
  return o.result(o.b.cast(hit, DType::kI64));
}

}  // namespace

void add_generators(Table& table) {
  const std::string factory =
      "*, int? dtype=None, Any layout=None, Any device=None, Any pin_memory=None";
  const std::string format = ", Any memory_format=None";
  table.add_all("zeros ones", "int[] size, " + factory, constant);
  table.add("empty.memory_format", "int[] size, " + factory + format, constant);
  table.add("empty_permuted", "int[] size, int[] physical_layout, " + factory, constant);
  table.add("full", "int[] size, Scalar fill_value, " + factory, constant);
  table.add_all("zeros_like ones_like empty_like", "Tensor self, " + factory + format,
                constant_like);
  table.add("full_like", "Tensor self, Scalar fill_value, " + factory + format, constant_like);
  table.add_all("new_zeros new_ones new_empty", "Tensor self, int[] size, " + factory,
                constant_like);
  table.add("new_full", "Tensor self, int[] size, Scalar fill_value, " + factory, constant_like);
  table.add("fill.Scalar", "Tensor self, Scalar value", fill);
  table.add("fill.Tensor", "Tensor self, Tensor value", fill);
  table.add("zero", "Tensor self", fill);
  table.add("scalar_tensor", "Any s, " + factory, scalar_tensor);
  table.add_all("tensor _tensor as_tensor",
                "Any data, *, int? dtype=None, Any device=None, bool requires_grad=False", tensor);
  table.add("arange", "Scalar end, " + factory, arange);
  table.add("arange.start", "Scalar start, Scalar end, " + factory, arange);
  table.add("arange.start_step", "Scalar start, Scalar end, Scalar step=1, " + factory, arange);
  table.add("linspace", "Scalar start, Scalar end, int steps, " + factory, linspace);
  table.add("eye", "int n, " + factory, eye);
  table.add("eye.m", "int n, int m, " + factory, eye);
  table.add("one_hot", "Tensor self, int num_classes=-1", one_hot);
}

}  // namespace ingot::aten
