// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_spectral.cpp - transforms of signals and the windows and matrices that
// go with them.
#include "tools/import/onnx/call.h"
#include "tools/import/onnx/tensor.h"

namespace ingot::onnx {
namespace {

void dft(Call& call) {
  const bool axis_is_input = call.opset() >= 20;
  call.expect_inputs(1, axis_is_input ? 3 : 2);
  graph::Node& made = call.emit(op::DFT);
  if (!axis_is_input) made.attributes[attr::axis] = std::vector<int64_t>{call.integer("axis", 1)};
  made.attributes[attr::inverse] = call.integer("inverse", 0);
  made.attributes[attr::onesided] = call.integer("onesided", 0);
}
void stft(Call& call) {
  call.expect_inputs(2, 4);
  call.emit(op::STFT).attributes[attr::onesided] = call.integer("onesided", 1);
}

/// output_datatype as one of ours; false when it is refused.
bool output_type(Call& call, DType* type) {
  const int64_t given = call.integer("output_datatype", 1);
  *type = given > 0 && given < INT32_MAX ? dtype_of(int32_t(given)) : DType::kInvalid;
  if (*type != DType::kInvalid) return true;
  call.refuse("output_datatype", "element type " + std::to_string(given) + " is not supported");
  return false;
}
void window(Call& call) {
  call.expect_inputs(1, 1);
  DType type;
  if (!output_type(call, &type)) return;
  graph::Node& made = call.emit(call.op());
  made.attributes[attr::periodic] = call.integer("periodic", 1);
  made.attributes[attr::output_datatype] = int64_t(type);
}
void mel_weight_matrix(Call& call) {
  call.expect_inputs(5, 5);
  DType type;
  if (!output_type(call, &type)) return;
  call.emit(op::MelWeightMatrix).attributes[attr::output_datatype] = int64_t(type);
}

}  // namespace

void add_spectral(TranslateTable& table) {
  table["DFT"] = dft;
  table["STFT"] = stft;
  for (const char* op : {"HannWindow", "HammingWindow", "BlackmanWindow"}) table[op] = window;
  table["MelWeightMatrix"] = mel_weight_matrix;
}

}  // namespace ingot::onnx
