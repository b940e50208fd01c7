// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_reduce.cpp - reductions and softmax.
#include "tools/import/onnx/call.h"

namespace ingot::onnx {
namespace {

void reduce(Call& call) {
  // ReduceSum took its axes as an input from opset 13, the others from 18.
  const bool by_input = call.opset() >= (call.node().op == "ReduceSum" ? 13 : 18);
  call.expect_inputs(1, by_input ? 2 : 1);
  graph::Node& made = call.emit(call.op());
  made.attributes[attr::keepdims] = int64_t(call.integer("keepdims", 1) != 0);
  if (by_input) {
    made.attributes[attr::noop_with_empty_axes] = call.integer("noop_with_empty_axes", 0);
  } else if (const auto axes = call.integers("axes")) {
    made.attributes[attr::axes] = *axes;
  }
}
void arg_reduce(Call& call) {
  call.expect_inputs(1, 1);
  graph::Node& made = call.emit(call.op());
  made.attributes[attr::axis] = call.integer("axis", 0);
  made.attributes[attr::keepdims] = int64_t(call.integer("keepdims", 1) != 0);
  made.attributes[attr::select_last_index] =
      call.opset() >= 12 ? call.integer("select_last_index", 0) : int64_t(0);
}
void softmax(Call& call) {
  call.expect_inputs(1, 1);
  graph::Node& made = call.emit(call.op());
  made.attributes[attr::axis] = call.integer("axis", call.opset() >= 13 ? -1 : 1);
  // Before opset 13 all dimensions from the axis on are one.
  if (call.opset() < 13) made.attributes[attr::flatten] = int64_t(1);
}

}  // namespace

void add_reduce(TranslateTable& table) {
  for (const char* op :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
        "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"}) {
    table[op] = reduce;
  }
  table["ArgMax"] = arg_reduce;
  table["ArgMin"] = arg_reduce;
  table["Softmax"] = softmax;
  table["LogSoftmax"] = softmax;
  table["Hardmax"] = softmax;
}

}  // namespace ingot::onnx
