// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_normalize.cpp - batch, layer, instance, group, RMS and Lp normalization,
// LRN.
#include "tools/import/onnx/call.h"

namespace ingot::onnx {
namespace {

void batch_normalization(Call& call) {
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
void lp_normalization(Call& call) {
  const int64_t p = call.integer("p", 2);
  if (p != 1 && p != 2) return call.refuse("p", std::to_string(p) + ", known are 1 and 2");
  graph::Node& made = call.emit(op::LpNormalization);
  made.attributes[attr::axis] = call.integer("axis", -1);
  made.attributes[attr::p] = p;
}

}  // namespace

void add_normalize(TranslateTable& table) {
  table["BatchNormalization"] = {5, 5, batch_normalization};
  table["LpNormalization"] = {1, 1, lp_normalization};
}

}  // namespace ingot::onnx
