// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_data_dependent.cpp - operators whose results are as large as the data
// makes them.
#include "tools/import/onnx/call.h"

namespace ingot::onnx {
namespace {

void nonzero(Call& call) {
  call.expect_inputs(1, 1);
  call.emit(op::NonZero);
}
void compress(Call& call) {
  call.expect_inputs(2, 2);
  graph::Node& made = call.emit(op::Compress);
  if (call.attribute("axis", kAttributeInt)) made.attributes[attr::axis] = call.integer("axis", 0);
}
void unique(Call& call) {
  call.expect_inputs(1, 1);
  graph::Node& made = call.emit(op::Unique);
  if (call.attribute("axis", kAttributeInt)) made.attributes[attr::axis] = call.integer("axis", 0);
  made.attributes[attr::sorted] = call.integer("sorted", 1);
}
void non_max_suppression(Call& call) {
  call.expect_inputs(2, 5);
  call.emit(op::NonMaxSuppression).attributes[attr::center_point_box] =
      call.integer("center_point_box", 0);
}

}  // namespace

void add_data_dependent(TranslateTable& table) {
  table["NonZero"] = nonzero;
  table["Compress"] = compress;
  table["Unique"] = unique;
  table["NonMaxSuppression"] = non_max_suppression;
}

}  // namespace ingot::onnx
