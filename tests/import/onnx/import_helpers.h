// SPDX-License-Identifier: Apache-2.0
// tests/import/onnx/import_helpers.h - import a model made in memory and look at what came out.
#pragma once
#include <doctest/doctest.h>

#include <string>

#include "tests/support/onnx_writer.h"
#include "tools/import/onnx/import.h"

namespace ingot::test {

inline graph::Model import(const OnnxGraph& made, int64_t opset = 13,
                           const importer::ImportOptions& options = {}) {
  return onnx::import_onnx_bytes(made.bytes(opset), "test.onnx", "", options);
}
inline graph::ConversionError import_error(const std::string& bytes,
                                           const importer::ImportOptions& options = {},
                                           const std::string& folder = "") {
  try {
    onnx::import_onnx_bytes(bytes, "test.onnx", folder, options);
  } catch (const graph::ConversionError& error) {
    return error;
  }
  return {host::Exit::kOk, "nothing was thrown", {}};
}
/// "f32[1, W]" of output i.
inline std::string output_type(const graph::Model& model, size_t i = 0) {
  static const char* const kNames[] = {"invalid", "f32", "f16", "bf16", "f64", "i8",  "u8",
                                       "i16",     "u16", "i32", "u32",  "i64", "u64", "bool"};
  const graph::Value& value = model.values[size_t(model.graph.outputs[i])];
  return kNames[size_t(value.dtype)] + graph::text(value.dims);
}
/// "Conv Relu".
inline std::string operators(const graph::Graph& graph) {
  std::string out;
  for (const graph::Node& node : graph.nodes) out += (out.empty() ? "" : " ") + text(node.op);
  return out;
}

}  // namespace ingot::test
