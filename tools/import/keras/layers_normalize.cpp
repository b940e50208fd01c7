// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/layers_normalize.cpp - normalizations, with what training gathered.
#include <cmath>

#include "tools/import/keras/layer_call.h"

namespace ingot::keras {
namespace {

/// A number, or a list of one, counted from the front.
int64_t only_axis(LayerCall& call, int64_t otherwise) {
  const std::vector<double> all = call.numbers_of("axis");
  if (all.size() > 1) call.refuse("axis", "more than one is not built");
  int64_t axis = all.empty() ? otherwise : int64_t(all[0]);
  if (axis < 0) axis += call.rank();
  if (axis < 0 || axis >= call.rank()) call.corrupt("its axis is " + std::to_string(axis));
  return axis;
}

void batch_normalization(LayerCall& call) {
  const int64_t axis = only_axis(call, -1), channels = call.extent(axis), rank = call.rank();
  const double epsilon = call.number("epsilon", 0.001);
  const bool scale = call.truth("scale", true), center = call.truth("center", true);
  std::vector<Weight> w = call.weights(2 + size_t(scale) + size_t(center));
  for (const Weight& each : w) call.expect_dims(each, {channels}, "weight");
  if (!center)
    w.insert(w.begin() + (scale ? 1 : 0),
             Weight{{channels}, std::vector<float>(size_t(channels), 0)});
  if (!scale) w.insert(w.begin(), Weight{{channels}, std::vector<float>(size_t(channels), 1)});
  std::vector<int64_t> perm(size_t(rank), 0), back(size_t(rank), 0);
  perm[1 % size_t(rank)] = axis;
  for (int64_t d = 1, to = 2; d < rank; d++)
    if (d != axis) perm[size_t(to++)] = d;
  if (axis == 0) call.refuse("axis", "0 is not built");
  for (size_t i = 0; i < perm.size(); i++) back[size_t(perm[i])] = int64_t(i);
  std::vector<ValueId> inputs = {call.b.transpose(call.input(), perm)};
  for (const Weight& each : w) inputs.push_back(call.net.constant(each));
  call.net.said_inference("BatchNormalization");
  const ValueId x =
      call.b.emit(op::BatchNormalization, inputs, {{attr::epsilon, double(float(epsilon))}});
  call.give(call.b.transpose(x, back));
}

void layer_normalization(LayerCall& call) {
  std::vector<double> axes = call.numbers_of("axis");
  if (axes.empty()) axes = {-1};
  for (size_t i = 0; i < axes.size(); i++) {
    const double wanted = double(call.rank()) - double(axes.size()) + double(i);
    if (axes[i] != wanted && axes[i] + double(call.rank()) != wanted)
      call.refuse("axis", "other than the last ones is not built");
  }
  const bool scale = call.truth("scale", true), center = call.truth("center", true);
  if (call.truth("rms_scaling", false)) call.refuse("rms_scaling", "is not built");
  const int64_t axis = call.rank() - int64_t(axes.size());
  std::vector<int64_t> dims;
  for (int64_t d = axis; d < call.rank(); d++) dims.push_back(call.extent(d));
  int64_t count = 1;
  for (const int64_t d : dims) count *= d;
  const std::vector<Weight> w = call.weights(size_t(scale) + size_t(center));
  for (const Weight& each : w) call.expect_dims(each, dims, "weight");
  std::vector<ValueId> inputs = {call.input()};
  inputs.push_back(scale ? call.net.constant(w[0])
                         : call.net.constant(std::vector<float>(size_t(count), 1), dims));
  if (center) inputs.push_back(call.net.constant(w[scale ? 1 : 0]));
  call.give(call.b.emit(
      op::LayerNormalization, inputs,
      {{attr::axis, axis}, {attr::epsilon, double(float(call.number("epsilon", 0.001)))}}));
}

/// (x - mean) / sqrt(variance), both from the data that the layer was adapted to.
void normalization(LayerCall& call) {
  const std::vector<double> axes = call.numbers_of("axis");
  const bool invert = call.truth("invert", false);
  if (axes.size() > 1) call.refuse("axis", "more than one is not built");
  std::vector<double> mean = call.numbers_of("mean"), variance = call.numbers_of("variance");
  if (mean.empty() || variance.empty()) {
    const std::vector<Weight> w = call.all_weights();
    if (w.size() < 2) call.refuse("", "was never adapted", "call adapt() before saving");
    mean.assign(w[0].values.begin(), w[0].values.end());
    variance.assign(w[1].values.begin(), w[1].values.end());
  }
  std::vector<int64_t> dims(size_t(call.rank()), 1);
  if (!axes.empty()) dims[size_t(only_axis(call, -1))] = int64_t(mean.size());
  if (mean.size() != variance.size() || (axes.empty() && mean.size() != 1))
    call.corrupt("its mean and variance have different sizes");
  std::vector<float> shift(mean.begin(), mean.end()), spread;
  for (const double v : variance) spread.push_back(std::max(std::sqrt(float(v)), 1e-7f));
  const ValueId x = call.b.cast(call.input(), DType::kF32), m = call.net.constant(shift, dims),
                s = call.net.constant(spread, dims);
  call.give(invert ? call.b.emit(op::Add, {m, call.b.emit(op::Mul, {x, s})})
                   : call.b.emit(op::Div, {call.b.emit(op::Sub, {x, m}), s}));
}

void group_normalization(LayerCall& call) {
  const int64_t axis = only_axis(call, -1), channels = call.extent(axis);
  int64_t groups = call.integer("groups", 32);
  if (groups == -1) groups = channels;
  const bool scale = call.truth("scale", true), center = call.truth("center", true),
             last = axis == call.rank() - 1;
  if (!last && axis != 1)
    call.refuse("axis", "other than the first or last after the batch is not built");
  if (groups < 1 || channels % groups)
    call.corrupt(std::to_string(channels) + " channels in " + std::to_string(groups) + " groups");
  const std::vector<Weight> w = call.weights(size_t(scale) + size_t(center));
  for (const Weight& each : w) call.expect_dims(each, {channels}, "weight");
  const ValueId gamma =
      scale ? call.net.constant(w[0])
            : call.net.constant(std::vector<float>(size_t(channels), 1), {channels});
  const ValueId beta = center
                           ? call.net.constant(w[scale ? 1 : 0])
                           : call.net.constant(std::vector<float>(size_t(channels), 0), {channels});
  const ValueId x =
      call.b.emit(op::GroupNormalization, {call.to_channels_first(call.input(), last), gamma, beta},
                  {{attr::epsilon, double(float(call.number("epsilon", 0.001)))},
                   {attr::num_groups, groups},
                   {attr::per_group, int64_t(0)}});
  call.give(call.from_channels_first(x, last));
}

/// Divided by the Euclidean norm.
void unit_normalization(LayerCall& call) {
  std::vector<int64_t> axes;
  for (const double given : call.numbers_of("axis")) {
    const int64_t axis = int64_t(given) < 0 ? int64_t(given) + call.rank() : int64_t(given);
    if (axis < 0 || axis >= call.rank()) call.corrupt("its axis is out of range");
    axes.push_back(axis);
  }
  if (axes.empty()) axes = {call.rank() - 1};
  const ValueId x = call.input();
  const ValueId norm = call.b.reduce(op::ReduceL2, x, axes, true);
  call.give(call.b.emit(op::Div, {x, call.b.emit(op::Max, {norm, call.net.scalar(1e-6)})}));
}
void rms_normalization(LayerCall& call) {
  const int64_t axis = only_axis(call, -1);
  if (axis != call.rank() - 1) call.refuse("axis", "other than the last is not built");
  const std::vector<Weight> w = call.weights(1);
  call.expect_dims(w[0], {call.extent(axis)}, "scale");
  call.give(call.b.emit(
      op::RMSNormalization, {call.input(), call.net.constant(w[0])},
      {{attr::axis, axis}, {attr::epsilon, double(float(call.number("epsilon", 1e-6)))}}));
}

}  // namespace

void add_normalizations(TranslateTable& table) {
  table["BatchNormalization"] = table["BatchNormalizationV1"] = table["BatchNormalizationV2"] =
      batch_normalization;
  table["LayerNormalization"] = layer_normalization;
  table["Normalization"] = normalization;
  table["UnitNormalization"] = unit_normalization;
  table["RMSNormalization"] = rms_normalization;
  table["GroupNormalization"] = group_normalization;
}

}  // namespace ingot::keras
