// tools/import/onnx/import_normalize.cpp - batch, layer, instance, group, RMS and Lp normalisation,
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
  graph::Node& made = call.emit("BatchNormalization", call.inputs(), {call.output(0)});
  made.attributes["epsilon"] = call.number("epsilon", double(1e-5f));
  for (size_t i = 1; i < call.output_count(); i++)
    call.leave_out(i, "a training output of BatchNormalization");
}
void instance_normalization(Call& call) {
  call.expect_inputs(3, 3);
  call.emit("InstanceNormalization").attributes["epsilon"] = call.number("epsilon", double(1e-5f));
}
void group_normalization(Call& call) {
  call.expect_inputs(3, 3);
  graph::Node& made = call.emit("GroupNormalization");
  made.attributes["epsilon"] = call.number("epsilon", double(1e-5f));
  made.attributes["num_groups"] = call.integer("num_groups", 0);
  // scale and bias per group, not per channel
  made.attributes["per_group"] = int64_t(call.opset() < 21);
  if (call.opset() >= 21 && call.integer("stash_type", 1) != 1)
    call.refuse("stash_type", "only 1 (float) is supported");
}
void layer_normalization(Call& call) {
  call.expect_inputs(2, 3);
  graph::Node& made = call.emit("LayerNormalization");
  made.attributes["axis"] = call.integer("axis", -1);
  made.attributes["epsilon"] = call.number("epsilon", double(1e-5f));
  if (call.integer("stash_type", 1) != 1) call.refuse("stash_type", "only 1 (float) is supported");
}
void rms_normalization(Call& call) {
  call.expect_inputs(2, 2);
  graph::Node& made = call.emit("RMSNormalization");
  made.attributes["axis"] = call.integer("axis", -1);
  made.attributes["epsilon"] = call.number("epsilon", double(1e-5f));
  if (call.integer("stash_type", 1) != 1) call.refuse("stash_type", "only 1 (float) is supported");
}
void lp_normalization(Call& call) {
  call.expect_inputs(1, 1);
  const int64_t p = call.integer("p", 2);
  if (p != 1 && p != 2) return call.refuse("p", std::to_string(p) + ", known are 1 and 2");
  graph::Node& made = call.emit("LpNormalization");
  made.attributes["axis"] = call.integer("axis", -1);
  made.attributes["p"] = p;
}
void mean_variance(Call& call) {
  call.expect_inputs(1, 1);
  graph::Node& made = call.emit("MeanVarianceNormalization");
  made.attributes["axes"] = call.integers("axes").value_or(std::vector<int64_t>{0, 2, 3});
}
void lrn(Call& call) {
  call.expect_inputs(1, 1);
  graph::Node& made = call.emit("LRN");
  made.attributes["alpha"] = call.number("alpha", double(1e-4f));
  made.attributes["beta"] = call.number("beta", 0.75);
  made.attributes["bias"] = call.number("bias", 1.0);
  made.attributes["size"] = call.integer("size", 0);
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
