// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_normalize.cpp - batch, layer, instance, group, RMS and Lp normalization,
// LRN.
#include "tools/import/onnx/call.h"

namespace ingot::onnx {
namespace {

void batch_normalization(Call& call) {
  call.expect_inputs(5, 5);
  if (call.opset() < 9 && call.integer("spatial", 1) != 1)
    return call.refuse("spatial", "0 is not supported");
  if (call.opset() < 7 && call.integer("is_test", 0) == 0)
    call.note("BatchNormalization does not say is_test; converted in inference form");
  if (call.opset() >= 14 && call.integer("training_mode", 0) != 0) {
    call.note(
        "BatchNormalization was saved in training mode; converted in inference form with its "
        "running "
        "mean and variance");
  } else if (call.opset() < 14 && call.output_count() > 1) {
    call.note(
        "BatchNormalization was saved with training outputs; converted in inference form with its "
        "running mean and "
        "variance");
  }
  graph::Node& made = call.emit(op::BatchNormalization, call.inputs(), {call.output(0)});
  made.attributes[attr::epsilon] = call.number("epsilon", double(1e-5f));
  for (size_t i = 1; i < call.output_count(); i++)
    call.leave_out(i, "a training output of BatchNormalization");
}
void instance_normalization(Call& call) {
  call.expect_inputs(3, 3);
  call.emit(op::InstanceNormalization).attributes[attr::epsilon] =
      call.number("epsilon", double(1e-5f));
}
void group_normalization(Call& call) {
  call.expect_inputs(3, 3);
  graph::Node& made = call.emit(op::GroupNormalization);
  made.attributes[attr::epsilon] = call.number("epsilon", double(1e-5f));
  made.attributes[attr::num_groups] = call.integer("num_groups", 0);
  // scale and bias per group, not per channel
  made.attributes[attr::per_group] = int64_t(call.opset() < 21);
  if (call.opset() >= 21 && call.integer("stash_type", 1) != 1)
    call.refuse("stash_type", "only 1 (float) is supported");
}
void layer_normalization(Call& call) {
  call.expect_inputs(2, 3);
  graph::Node& made = call.emit(op::LayerNormalization);
  made.attributes[attr::axis] = call.integer("axis", -1);
  made.attributes[attr::epsilon] = call.number("epsilon", double(1e-5f));
  if (call.integer("stash_type", 1) != 1) call.refuse("stash_type", "only 1 (float) is supported");
}
void rms_normalization(Call& call) {
  call.expect_inputs(2, 2);
  graph::Node& made = call.emit(op::RMSNormalization);
  made.attributes[attr::axis] = call.integer("axis", -1);
  made.attributes[attr::epsilon] = call.number("epsilon", double(1e-5f));
  if (call.integer("stash_type", 1) != 1) call.refuse("stash_type", "only 1 (float) is supported");
}
void lp_normalization(Call& call) {
  call.expect_inputs(1, 1);
  const int64_t p = call.integer("p", 2);
  if (p != 1 && p != 2) return call.refuse("p", std::to_string(p) + ", known are 1 and 2");
  graph::Node& made = call.emit(op::LpNormalization);
  made.attributes[attr::axis] = call.integer("axis", -1);
  made.attributes[attr::p] = p;
}
void mean_variance(Call& call) {
  call.expect_inputs(1, 1);
  graph::Node& made = call.emit(op::MeanVarianceNormalization);
  made.attributes[attr::axes] = call.integers("axes").value_or(std::vector<int64_t>{0, 2, 3});
}
void lrn(Call& call) {
  call.expect_inputs(1, 1);
  graph::Node& made = call.emit(op::LRN);
  made.attributes[attr::alpha] = call.number("alpha", double(1e-4f));
  made.attributes[attr::beta] = call.number("beta", 0.75);
  made.attributes[attr::bias] = call.number("bias", 1.0);
  made.attributes[attr::size] = call.integer("size", 0);
}

}  // namespace

void add_normalize(TranslateTable& table) {
  table["BatchNormalization"] = batch_normalization;
  table["InstanceNormalization"] = instance_normalization;
  table["GroupNormalization"] = group_normalization;
  table["LayerNormalization"] = layer_normalization;
  table["RMSNormalization"] = rms_normalization;
  table["LpNormalization"] = lp_normalization;
  table["MeanVarianceNormalization"] = mean_variance;
  table["LRN"] = lrn;
}

}  // namespace ingot::onnx
