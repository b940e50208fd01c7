// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_random.cpp - random numbers: those of runtime/op/random.h, not PyTorch's
// own.
#include "tools/import/aten/arithmetic.h"

namespace ingot::aten {
namespace {

Term drawn(Operands& o, graph::Operator op, const Dims& dims, DType dtype, Attributes attributes) {
  if (!graph::is_floating(dtype)) o.refuse("dtype", "random numbers are of floating types");
  attributes[attr::shape] = dims;
  attributes[attr::dtype] = int64_t(dtype);
  return {&o.b, o.b.emit(op, {}, std::move(attributes))};
}
Dims dims_of(Operands& o) { return o.has("size") ? o.dims("size") : o.b.dims(o.read("self")); }
DType type_of(Operands& o) {
  return o.dtype("dtype", o.has("self") ? o.b.dtype(o.read("self")) : DType::kF32);
}

Results uniform(Operands& o) {
  const double low = o.has("from") ? o.number("from") : 0, high = o.has("to") ? o.number("to") : 1;
  return result_of(
      drawn(o, op::RandomUniform, dims_of(o), type_of(o), {{attr::low, low}, {attr::high, high}}));
}
Results exponential_noise(Operands& o) {
  const double rate = o.number("lambd");
  if (!(rate > 0)) o.corrupt("has the rate " + std::to_string(rate));
  const Term u = drawn(o, op::RandomUniform, dims_of(o), type_of(o), {});
  return result_of(logarithm(1.0 - u) / -rate);
}
Results normal(Operands& o) {
  const double mean = o.has("mean") ? o.number("mean") : 0,
               deviation = o.has("std") ? o.number("std") : 1;
  if (!(deviation >= 0)) o.corrupt("has the deviation " + std::to_string(deviation));
  return result_of(drawn(o, op::RandomNormal, dims_of(o), type_of(o),
                         {{attr::mean, mean}, {attr::scale, deviation}}));
}
/// Mean, deviation or both are tensors.
Results normal_of_tensors(Operands& o) {
  const Term like = {&o.b, o.read(o.value("mean").is(Value::Kind::kTensor) ? "mean" : "std")};
  const auto part = [&](const char* name) {
    return o.value(name).is(Value::Kind::kTensor) ? Term{&o.b, o.read(name)}
                                                  : like.number(o.number(name));
  };
  const Term mean = part("mean"), deviation = part("std");
  const Dims dims = (mean + deviation).dims();
  return result_of(mean + deviation * drawn(o, op::RandomNormal, dims, like.dtype(), {}));
}
/// Whole numbers from low to high - 1; below 2^24 apart, so that each can come.
Results whole(Operands& o) {
  const int64_t low = o.has("low") ? o.integer("low") : 0, high = o.integer("high");
  int64_t span = 0;
  if (low >= high || __builtin_sub_overflow(high, low, &span) || span > 1 << 24)
    o.refuse("high", "draws from " + std::to_string(low) + " to " + std::to_string(high));
  const Term u = drawn(o, op::RandomUniform, dims_of(o), DType::kF32,
                       {{attr::low, 0.0}, {attr::high, double(high - low)}});
  const Term number = smaller(call(op::Floor, u), double(high - low - 1)).cast(DType::kI64);
  const DType dtype = o.has("self") ? type_of(o) : o.dtype("dtype", DType::kI64);
  return result_of((number + double(low)).cast(dtype));
}
Results bernoulli(Operands& o) {
  const Term x = term(o, "self");
  if (!o.has("p")) return result_of(call(op::Bernoulli, x));
  const Term u = drawn(o, op::RandomUniform, x.dims(), DType::kF32, {});
  return result_of((u < o.number("p")).cast(x.dtype()));
}
Results multinomial(Operands& o) {
  Term x = term(o, "self").cast(DType::kF32);
  const bool single = x.rank() == 1;
  if (single) x = x.reshape({Dim(1), x.dims()[0]});
  const int64_t count = o.integer("num_samples");
  if (x.rank() != 2 || count < 1)
    o.corrupt("draws " + std::to_string(count) + " from " + graph::text(x.dims()));
  const Term scores = call(op::Log, x);
  Term made = scores;
  if (count == 1 || o.flag("replacement")) {
    made = call(op::Multinomial, scores,
                {{attr::sample_size, count}, {attr::dtype, int64_t(DType::kI64)}});
  } else {  // the largest of scores with Gumbel's noise are a sample without replacement
    const Term u = drawn(o, op::RandomUniform, x.dims(), DType::kF32, {});
    const Term noisy = scores - call(op::Log, -call(op::Log, larger(u, 1e-30)));
    made = x.of(o.b.emit_many(
        op::TopK, {noisy.id, o.b.integers({count})},
        {{attr::axis, int64_t(1)}, {attr::largest, int64_t(1)}, {attr::sorted, int64_t(1)}}, 2)[1]);
  }
  return result_of(single ? made.reshape({Dim(count)}) : made);
}
Results shape_as_tensor(Operands& o) { return o.result(o.b.emit(op::Shape, {o.read("self")})); }

}  // namespace

void add_random(Table& table) {
  const std::string options =
      "*, int? dtype=None, Any layout=None, Any device=None, Any pin_memory=None";
  const std::string like = options + ", Any memory_format=None";
  const std::string generator = "*, Any generator=None",
                    drawn_by =
                        generator +
                        ", int? dtype=None, Any layout=None, Any device=None, Any pin_memory=None";
  table.add("rand", "int[] size, " + options, uniform);
  table.add("rand.generator", "int[] size, " + drawn_by, uniform);
  table.add("randn", "int[] size, " + options, normal);
  table.add("randn.generator", "int[] size, " + drawn_by, normal);
  table.add("rand_like", "Tensor self, " + like, uniform);
  table.add("randn_like", "Tensor self, " + like, normal);
  table.add("uniform", "Tensor self, float from=0, float to=1, " + generator, uniform);
  table.add("exponential", "Tensor self, float lambd=1, " + generator, exponential_noise);
  table.add("normal", "Tensor self, float mean=0, float std=1, " + generator, normal);
  table.add("normal_functional", "Tensor self, float mean=0, float std=1, " + generator, normal);
  table.add("normal.float_float", "float mean, float std, int[] size, " + drawn_by, normal);
  table.add("normal.Tensor_float", "Tensor mean, float std=1, " + generator, normal_of_tensors);
  table.add("normal.float_Tensor", "float mean, Tensor std, " + generator, normal_of_tensors);
  table.add("normal.Tensor_Tensor", "Tensor mean, Tensor std, " + generator, normal_of_tensors);
  table.add("randint", "int high, int[] size, " + options, whole);
  table.add("randint.low", "int low, int high, int[] size, " + options, whole);
  table.add("randint_like", "Tensor self, int high, " + like, whole);
  table.add("randint_like.low_dtype", "Tensor self, int low, int high, " + like, whole);
  table.add("bernoulli", "Tensor self, " + generator, bernoulli);
  table.add("bernoulli.p", "Tensor self, float p, " + generator, bernoulli);
  table.add("multinomial", "Tensor self, int num_samples, bool replacement=False, " + generator,
            multinomial);
  table.add("_shape_as_tensor", "Tensor self", shape_as_tensor);
}

}  // namespace ingot::aten
