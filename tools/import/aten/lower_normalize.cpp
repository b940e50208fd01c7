// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_normalize.cpp - normalizations, in inference form.
#include "tools/import/aten/operands.h"
#include "tools/import/aten/promotion.h"

namespace ingot::aten {
namespace {

const char* const kStatistics = "the statistics of a normalization are not made in inference form";

/// The argument, or `n` times the same number.
ValueId vector_or(Operands& o, const char* name, DType dtype, const Dims& dims, double otherwise) {
  if (o.given(name)) return o.read(name);
  return o.b.expand(o.b.scalar(dtype, otherwise), dims);
}

/// Without running statistics those of the batch at hand count, in inference form too: weights are
/// standardized so.
ValueId by_own_statistics(Operands& o, ValueId x, ValueId scale, ValueId bias) {
  Builder& b = o.b;
  std::vector<int64_t> others;
  Dims column(size_t(b.rank(x)), Dim(1));
  column[1] = b.dims(x)[1];
  for (int64_t i = 0; i < b.rank(x); i++)
    if (i != 1) others.push_back(i);
  const ValueId apart = b.emit(op::Sub, {x, b.reduce(op::ReduceMean, x, others, true)});
  const ValueId variance = b.reduce(op::ReduceMean, b.emit(op::Mul, {apart, apart}), others, true);
  const ValueId safe = b.emit(op::Add, {variance, b.scalar(b.dtype(x), o.number("eps"))});
  const ValueId factor = b.emit(op::Div, {b.reshape(scale, column), b.emit(op::Sqrt, {safe})});
  return b.emit(op::Add, {b.emit(op::Mul, {apart, factor}), b.reshape(bias, column)});
}
Results batch_norm(Operands& o) {
  const ValueId x = o.read("input");
  if (o.b.rank(x) < 2) o.corrupt("its input has shape " + graph::text(o.b.dims(x)));
  const bool running = o.given("running_mean") && o.given("running_var");
  const bool training = o.has("training") && o.flag("training");
  if (training && running)
    o.b.note(
        "BatchNorm was saved in training mode; converted in inference form, with its running "
        "statistics");
  const Dims channels = {o.b.dims(x)[1]};
  const DType dtype = o.b.dtype(x);
  const ValueId scale = vector_or(o, "weight", dtype, channels, 1),
                bias = vector_or(o, "bias", dtype, channels, 0);
  const ValueId made =
      running ? o.b.emit(op::BatchNormalization,
                         {x, scale, bias, o.read("running_mean"), o.read("running_var")},
                         {{attr::epsilon, o.number("eps")}})
              : by_own_statistics(o, x, scale, bias);
  Results results = o.result(made);
  if (o.op() != "batch_norm")
    for (int i = 0; i < (o.op() == "_batch_norm_impl_index" ? 4 : 2); i++)
      results.push_back(Value::unavailable(kStatistics));
  return results;
}
Results instance_norm(Operands& o) {
  const ValueId x = o.read("input");
  if (o.b.rank(x) < 3) o.corrupt("its input has shape " + graph::text(o.b.dims(x)));
  const Dims channels = {o.b.dims(x)[1]};
  const DType dtype = o.b.dtype(x);
  const ValueId scale = vector_or(o, "weight", dtype, channels, 1),
                bias = vector_or(o, "bias", dtype, channels, 0);
  const Attributes attributes = {{attr::epsilon, o.number("eps")}};
  if (o.flag("use_input_stats"))
    return o.result(o.b.emit(op::InstanceNormalization, {x, scale, bias}, attributes));
  return o.result(o.b.emit(op::BatchNormalization,
                           {x, scale, bias, o.read("running_mean"), o.read("running_var")},
                           attributes));
}
Results group_norm(Operands& o) {
  const ValueId x = o.read("input");
  if (o.b.rank(x) < 2) o.corrupt("its input has shape " + graph::text(o.b.dims(x)));
  const Dims channels = {o.b.dims(x)[1]};
  const DType dtype = o.b.dtype(x);
  const int64_t groups = o.integer(o.has("num_groups") ? "num_groups" : "group");
  Results results = o.result(o.b.emit(
      op::GroupNormalization,
      {x, vector_or(o, "weight", dtype, channels, 1), vector_or(o, "bias", dtype, channels, 0)},
      {{attr::epsilon, o.number("eps")}, {attr::num_groups, groups}}));
  if (o.op() == "native_group_norm")
    for (int i = 0; i < 2; i++) results.push_back(Value::unavailable(kStatistics));
  return results;
}
/// The last dimensions of x, which the program states again.
Dims normalized_shape(Operands& o, ValueId x) {
  const Dims shape = o.dims("normalized_shape"), in = o.b.dims(x);
  bool same = shape.size() <= in.size();
  for (size_t i = 0; same && i < shape.size(); i++) {
    const Dim& last = in[in.size() - shape.size() + i];
    same = !shape[i].is_static() || !last.is_static() || shape[i] == last;
  }
  if (!same) o.corrupt("normalizes " + graph::text(shape) + " of " + graph::text(in));
  return shape;
}
Results layer_norm(Operands& o) {
  const ValueId x = o.read("input");
  const Dims shape = normalized_shape(o, x);
  const DType dtype = o.b.dtype(x);
  std::vector<ValueId> inputs = {x, vector_or(o, "weight", dtype, shape, 1)};
  if (o.given("bias")) inputs.push_back(o.read("bias"));
  Results results =
      o.result(o.b.emit(op::LayerNormalization, inputs,
                        {{attr::axis, -int64_t(shape.size())}, {attr::epsilon, o.number("eps")}}));
  if (o.op() == "native_layer_norm")
    for (int i = 0; i < 2; i++) results.push_back(Value::unavailable(kStatistics));
  return results;
}
Results rms_norm(Operands& o) {
  const ValueId x = o.read("input");
  const Dims shape = normalized_shape(o, x);
  const DType dtype = o.b.dtype(x);
  const double epsilon = o.given("eps") ? o.number("eps") : 1.1920928955078125e-07;
  return o.result(o.b.emit(op::RMSNormalization, {x, vector_or(o, "weight", dtype, shape, 1)},
                           {{attr::axis, -int64_t(shape.size())}, {attr::epsilon, epsilon}}));
}
Results softmax(Operands& o) {
  ValueId x = o.read("self");
  if (o.has("dtype")) x = o.b.cast(x, o.dtype("dtype", o.b.dtype(x)));
  if (!graph::is_floating(o.b.dtype(x)) || (o.has("half_to_float") && o.flag("half_to_float")))
    x = o.b.cast(x, DType::kF32);
  const bool logarithm = o.op() == "log_softmax" || o.op() == "_log_softmax";
  const Dims dims = o.b.dims(x);
  if (dims.empty()) x = o.b.reshape(x, {Dim(1)});
  const ValueId made = o.b.emit(logarithm ? op::LogSoftmax : op::Softmax, {x},
                                {{attr::axis, o.axis("dim", int64_t(dims.size()))}});
  return o.result(o.b.reshape(made, dims));
}
/// A direction with a length: v * g / |v|, over every dimension but `dim`.
Results weight_norm(Operands& o) {
  const ValueId v = o.read("v");
  const int64_t dim = o.integer("dim");
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < o.b.rank(v); i++)
    if (dim == -1 || i != dim) axes.push_back(i);
  const ValueId norm = o.b.reduce(op::ReduceL2, v, axes, true);
  Results results = o.result(o.b.emit(op::Mul, {v, o.b.emit(op::Div, {o.read("g"), norm})}));
  if (o.op() != "_weight_norm") results.push_back(Value::of(o.b.own(norm)));
  return results;
}

}  // namespace

void add_normalizations(Table& table) {
  const std::string running =
      "Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, ";
  table.add_all("batch_norm _batch_norm_impl_index",
                running + "bool training, float momentum, float eps, bool cudnn_enabled=False",
                batch_norm);
  table.add_all("native_batch_norm _native_batch_norm_legit",
                running + "bool training, float momentum, float eps", batch_norm);
  table.add_all("_native_batch_norm_legit_no_training _batch_norm_no_update",
                running + "float momentum, float eps", batch_norm);
  table.add("instance_norm",
            running + "bool use_input_stats, float momentum, float eps, bool cudnn_enabled=False",
            instance_norm);
  table.add("group_norm",
            "Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float "
            "eps=1e-05, bool cudnn_enabled=True",
            group_norm);
  table.add(
      "native_group_norm",
      "Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps",
      group_norm);
  table.add("layer_norm",
            "Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float "
            "eps=1e-05, bool "
            "cudnn_enable=True",
            layer_norm);
  table.add("native_layer_norm",
            "Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps",
            layer_norm);
  table.add("rms_norm",
            "Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None", rms_norm);
  table.add_all("softmax.int log_softmax.int", "Tensor self, int dim, int? dtype=None", softmax);
  table.add_all("_softmax _log_softmax", "Tensor self, int dim, bool half_to_float", softmax);
  table.add_all("_weight_norm _weight_norm_interface", "Tensor v, Tensor g, int dim=0",
                weight_norm);
}

}  // namespace ingot::aten
