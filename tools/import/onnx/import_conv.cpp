// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_conv.cpp - windows: convolutions and pools. Their geometry is completed
// when shapes are known.
#include "tools/import/onnx/call.h"

namespace ingot::onnx {

bool read_window(Call& call, graph::Node& made) {
  for (const auto name :
       graph::AttributeNames{attr::kernel_shape, attr::strides, attr::dilations, attr::pads}) {
    if (const auto values = call.integers(name)) made.attributes[name] = *values;
  }
  const std::string auto_pad = call.text("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID" && auto_pad != "SAME_UPPER" &&
      auto_pad != "SAME_LOWER") {
    call.refuse("auto_pad", "'" + auto_pad + "' is not known");
    return false;
  }
  made.attributes[attr::auto_pad] = auto_pad;
  return true;
}

namespace {

void max_pool(Call& call) {
  const int64_t storage_order = call.integer("storage_order", 0);  // of Indices alone
  graph::Node& made = call.wants(1) ? call.emit(op::MaxPool)
                                    : call.emit(op::MaxPool, call.inputs(), {call.output(0)});
  if (call.wants(1)) made.attributes[attr::storage_order] = storage_order;
  made.attributes[attr::ceil_mode] = call.integer("ceil_mode", 0);
  read_window(call, made);
}
/// Before opset 2 a number of any kind.
int64_t norm_of(Call& call) {
  return call.opset() < 2 ? int64_t(call.number("p", 2)) : call.integer("p", 2);
}
void lp_pool(Call& call) {
  graph::Node& made = call.emit(op::LpPool);
  made.attributes[attr::ceil_mode] = call.integer("ceil_mode", 0);
  made.attributes[attr::p] = norm_of(call);
  read_window(call, made);
}
void global_lp_pool(Call& call) { call.emit(op::GlobalLpPool).attributes[attr::p] = norm_of(call); }

}  // namespace

void add_conv(TranslateTable& table) {
  table["MaxPool"] = {1, 1, max_pool};
  table["LpPool"] = {1, 1, lp_pool};
  table["GlobalLpPool"] = {1, 1, global_lp_pool};
}

}  // namespace ingot::onnx
