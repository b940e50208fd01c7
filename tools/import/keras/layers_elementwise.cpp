// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/layers_elementwise.cpp - activations, sums and products of several,
// concatenation, what does nothing in inference.
#include "tools/import/keras/layer_call.h"

namespace ingot::keras {
namespace {

/// Part of training alone.
void nothing(LayerCall& call) {
  call.net.said_inference(call.layer.kind);
  call.give(call.input());
}
void identity(LayerCall& call) { call.give(call.input()); }

void activation(LayerCall& call) {
  const std::string name = call.activation("activation");
  call.give(call.net.activation(call.input(), name, call.rank() - 1));
}

void relu(LayerCall& call) {
  const Json* most = call.field("max_value");
  const double slope = call.number("negative_slope", 0), threshold = call.number("threshold", 0);
  if (threshold != 0) call.refuse("threshold", "other than 0 is not built");
  if (slope != 0 && most) call.refuse("max_value", "beside a negative_slope is not built");
  if (slope != 0)
    call.give(call.b.emit(op::LeakyRelu, {call.input()}, {{attr::alpha, double(float(slope))}}));
  else if (most)
    call.give(
        call.b.emit(op::Clip, {call.input()},
                    {{attr::min, 0.0}, {attr::max, double(float(call.number("max_value", 6)))}}));
  else
    call.give(call.b.emit(op::Relu, {call.input()}));
}
void leaky_relu(LayerCall& call) {
  const double alpha =
      call.field("negative_slope") ? call.number("negative_slope", 0.3) : call.number("alpha", 0.3);
  call.give(call.b.emit(op::LeakyRelu, {call.input()}, {{attr::alpha, double(float(alpha))}}));
}
void prelu(LayerCall& call) {
  const std::vector<Weight> w = call.weights(1);
  call.give(call.b.emit(op::PRelu, {call.input(), call.net.constant(w[0])}));
}
/// Of keras.applications' ConvNeXt: a factor for each channel.
void layer_scale(LayerCall& call) {
  const std::vector<Weight> w = call.weights(1);
  call.give(call.b.emit(op::Mul, {call.input(), call.net.constant(w[0])}));
}
/// Of keras.applications' InceptionResNetV2: a residual, times a number.
void custom_scale(LayerCall& call) {
  if (call.inputs().size() != 2)
    call.corrupt("has " + std::to_string(call.inputs().size()) + " inputs, expected two");
  const ValueId scale = call.net.scalar(double(float(call.number("scale", 1))));
  call.give(
      call.b.emit(op::Add, {call.inputs()[0], call.b.emit(op::Mul, {call.inputs()[1], scale})}));
}
void elu(LayerCall& call) {
  call.give(call.b.emit(op::Elu, {call.input()},
                        {{attr::alpha, double(float(call.number("alpha", 1)))}}));
}
void softmax(LayerCall& call) {
  const int64_t axis = call.integer("axis", -1), rank = call.rank();
  if (axis < -rank || axis >= rank) call.corrupt("its axis is " + std::to_string(axis));
  call.give(
      call.b.emit(op::Softmax, {call.input()}, {{attr::axis, axis < 0 ? axis + rank : axis}}));
}
void thresholded_relu(LayerCall& call) {
  call.give(call.b.emit(op::ThresholdedRelu, {call.input()},
                        {{attr::alpha, double(float(call.number("theta", 1)))}}));
}

/// In .h5 files an operation of keras.ops has the name of the layer; only it takes a number.
bool with_number(LayerCall& call, graph::Operator op) {
  if (call.numbers().empty()) return false;
  if (call.inputs().size() != 1 || call.numbers().size() != 1)
    call.refuse("", "tensors and numbers are not built");
  call.give(call.b.emit(op, {call.input(), call.net.scalar(double(float(call.numbers()[0])))}));
  return true;
}
/// A mask [batch, steps] for [batch, steps, width].
ValueId over_rows(LayerCall& call, ValueId mask) {
  graph::Dims dims = call.b.dims(mask);
  dims.push_back(graph::Dim(1));
  return call.b.reshape(mask, dims);
}
/// A step of the result is there where one of Keras 3's inputs has it, and all of Keras 2's.
ValueId mask_of_all(LayerCall& call) {
  ValueId all = kAbsent;
  for (size_t i = 0; i < call.inputs().size(); i++) {
    const ValueId one = call.mask(i);
    if (one == kAbsent && call.version >= 3) return kAbsent;
    if (one == kAbsent || one == all) continue;
    all = all == kAbsent ? one : call.b.emit(call.version >= 3 ? op::Or : op::And, {all, one});
  }
  return all;
}
void merge(LayerCall& call, graph::Operator op) {
  if (call.inputs().size() < 2)
    call.corrupt("has " + std::to_string(call.inputs().size()) + " inputs, expected two or more");
  ValueId x = call.inputs()[0];
  for (size_t i = 1; i < call.inputs().size(); i++) x = call.b.emit(op, {x, call.inputs()[i]});
  call.give(x);
  call.output_masks = {mask_of_all(call)};
}
/// The larger or smaller of the numbers that are there, as Keras 3 has it.
void select(LayerCall& call, graph::Operator op) {
  merge(call, op);
  if (!call.is_masked() || call.version < 3) return;
  const std::vector<ValueId>& given = call.inputs();
  const auto held = [&](size_t i) {
    return call.mask(i) == kAbsent ? kAbsent : over_rows(call, call.mask(i));
  };
  ValueId made = given[0], mask = held(0);
  for (size_t i = 1; i < given.size(); i++) {
    ValueId x = given[i];
    const ValueId own = held(i);
    if (own != kAbsent) x = call.b.emit(op::Where, {own, x, made});
    if (mask != kAbsent) made = call.b.emit(op::Where, {mask, made, x});
    mask = own == kAbsent || mask == kAbsent ? kAbsent : call.b.emit(op::Or, {mask, own});
    made = call.b.emit(op, {made, x});
  }
  call.give(made);
}
void add(LayerCall& call) {
  if (!with_number(call, op::Add)) merge(call, op::Add);
}
/// What a mask leaves out is 1 in the product, as Keras 3 has it, and 0 where all leave it out.
void multiply(LayerCall& call) {
  if (with_number(call, op::Mul)) return;
  merge(call, op::Mul);
  if (!call.is_masked() || call.version < 3) return;
  ValueId made = kAbsent;
  for (size_t i = 0; i < call.inputs().size(); i++) {
    ValueId x = call.inputs()[i];
    if (call.mask(i) != kAbsent)
      x = call.b.emit(op::Where, {over_rows(call, call.mask(i)), x, call.net.scalar(1)});
    made = made == kAbsent ? x : call.b.emit(op::Mul, {made, x});
  }
  if (const ValueId all = call.output_masks[0]; all != kAbsent)
    made = call.b.emit(op::Where, {over_rows(call, all), made, call.net.scalar(0)});
  call.give(made);
}
void maximum(LayerCall& call) { select(call, op::Max); }
void minimum(LayerCall& call) { select(call, op::Min); }
void subtract(LayerCall& call) {
  if (call.inputs().size() != 2)
    call.corrupt("has " + std::to_string(call.inputs().size()) + " inputs, expected two");
  merge(call, op::Sub);
}
void average(LayerCall& call) {
  merge(call, op::Add);
  call.give(call.b.emit(op::Div, {call.outputs[0], call.net.scalar(double(call.inputs().size()))}));
}
void concatenate(LayerCall& call) {
  const int64_t axis = call.integer("axis", -1), rank = call.rank();
  if (axis < -rank || axis >= rank) call.corrupt("its axis is " + std::to_string(axis));
  if (call.inputs().size() == 1) return call.give(call.input());
  const int64_t at = axis < 0 ? axis + rank : axis;
  call.give(call.b.emit(op::Concat, call.inputs(), {{attr::axis, at}}));
  if (!call.is_masked()) return;
  if (at == rank - 1) {
    call.output_masks = {mask_of_all(call)};
    return;
  }
  if (rank != 3 || at != 1) call.refuse("axis", "of masked sequences is " + std::to_string(axis));
  std::vector<ValueId> parts;
  for (size_t i = 0; i < call.inputs().size(); i++) {
    const graph::Dims dims = call.b.dims(call.inputs()[i]);
    parts.push_back(call.mask(i) != kAbsent
                        ? call.mask(i)
                        : call.b.expand(call.b.scalar(DType::kBool, 1), {dims[0], dims[1]}));
  }
  call.output_masks = {call.b.emit(op::Concat, parts, {{attr::axis, int64_t(1)}})};
}

/// One number, or one for each channel.
ValueId numbers(LayerCall& call, const char* key, double otherwise) {
  const std::vector<double> all = call.numbers_of(key);
  if (all.empty()) return call.net.scalar(otherwise);
  if (all.size() == 1) return call.net.scalar(double(float(all[0])));
  return call.net.constant(std::vector<float>(all.begin(), all.end()), {int64_t(all.size())});
}
void rescaling(LayerCall& call) {
  const ValueId x =
      call.b.emit(op::Mul, {call.b.cast(call.input(), DType::kF32), numbers(call, "scale", 1)});
  const std::vector<double> offset = call.numbers_of("offset");
  bool any = false;
  for (const double n : offset) any |= n != 0;
  call.give(any ? call.b.emit(op::Add, {x, numbers(call, "offset", 0)}) : x);
}

}  // namespace

void add_elementwise(TranslateTable& table) {
  for (const char* kind :
       {"Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "AlphaDropout",
        "GaussianDropout", "GaussianNoise", "ActivityRegularization", "StochasticDepth"})
    table[kind] = nothing;
  table["Identity"] = identity;
  table["Activation"] = activation;
  table["ReLU"] = relu;
  table["LeakyReLU"] = leaky_relu;
  table["PReLU"] = prelu;
  table["LayerScale"] = layer_scale;
  table["CustomScaleLayer"] = custom_scale;
  table["ELU"] = elu;
  table["Softmax"] = softmax;
  table["ThresholdedReLU"] = thresholded_relu;
  table["Add"] = add;
  table["Multiply"] = multiply;
  table["Maximum"] = maximum;
  table["Minimum"] = minimum;
  table["Subtract"] = subtract;
  table["Average"] = average;
  table["Concatenate"] = concatenate;
  table["Rescaling"] = rescaling;
}

}  // namespace ingot::keras
