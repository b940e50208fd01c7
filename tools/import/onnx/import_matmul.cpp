// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_matmul.cpp - products of matrices.
#include "tools/import/onnx/call.h"

namespace ingot::onnx {
namespace {

void gemm(Call& call) {
  call.expect_inputs(call.opset() >= 11 ? 2 : 3, 3);
  if (call.opset() < 7) call.integer("broadcast", 0);  // what C may be says its shape
  graph::Node& made = call.emit(op::Gemm);
  made.attributes[attr::alpha] = call.number("alpha", 1);
  made.attributes[attr::beta] = call.number("beta", 1);
  made.attributes[attr::transA] = int64_t(call.integer("transA", 0) != 0);
  made.attributes[attr::transB] = int64_t(call.integer("transB", 0) != 0);
}
void einsum(Call& call) {
  const std::string equation = call.text("equation", "");
  if (equation.empty()) call.translator().corrupt(describe(call.node()) + ": lacks its equation");
  call.emit(op::Einsum).attributes[attr::equation] = equation;
}

}  // namespace

void add_matmul(TranslateTable& table) {
  table["Gemm"] = gemm;
  table["Einsum"] = {1, SIZE_MAX, einsum};
}

}  // namespace ingot::onnx
