// SPDX-License-Identifier: Apache-2.0
// Any bytes as an .onnx file: a model with every shape known, or a ConversionError of a class that
// a source can cause; nothing else.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tools/import/onnx/import.h"

namespace {

using namespace ingot;

void look_at(const graph::Model& model, const graph::Graph& graph) {
  for (const graph::Node& node : graph.nodes) {
    for (const graph::ValueId id : node.outputs) {
      if (id < 0) continue;
      const graph::Value& value = model.values.at(size_t(id));
      if (!value.shape_known || value.dtype == DType::kInvalid) abort();
      if (value.constant) abort();  // a constant is written by no node
    }
    for (const graph::ValueId id : node.inputs) {
      if (id >= 0 && model.values.at(size_t(id)).name.size() > SIZE_MAX / 2) abort();
    }
    for (const auto& branch : {attr::then_branch, attr::else_branch}) {
      if (const auto inner = node.subgraph(branch)) look_at(model, *inner);
    }
  }
  for (const graph::Value& value : model.values) {
    if (!value.constant) continue;
    const size_t bytes = value.constant->bytes ? value.constant->bytes->size() : 0;
    if (bytes != size_t(value.constant->elements()) * size_t(dtype_bytes(value.constant->dtype)))
      abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const graph::Model model = onnx::import_onnx_bytes({reinterpret_cast<const char*>(data), size},
                                                       "fuzz.onnx", "/nonexistent");
    look_at(model, model.graph);
  } catch (const graph::ConversionError& error) {
    const int code = error.exit_code;
    if (code != 2 && code != 3 && code != 4 && code != 5 && code != 7) abort();
    if (code == 4 && error.unsupported.empty() && error.message.empty()) abort();
  }
  return 0;
}
