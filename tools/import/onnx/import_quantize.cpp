// tools/import/onnx/import_quantize.cpp - tensors to integers and back.
#include "tools/import/onnx/call.h"

namespace ingot::onnx {
namespace {

/// Attributes that both directions have; false where one was refused.
bool read_quantisation(Call& call, graph::Node& made) {
  made.attributes["axis"] = call.integer("axis", 1);
  made.attributes["block_size"] = call.integer("block_size", 0);
  const int64_t stated = call.integer("output_dtype", 0);
  if (stated == 0) return true;
  const DType dtype = dtype_of(int32_t(stated));
  if (dtype == DType::kInvalid) {
    call.refuse("output_dtype",
                "element type " + element_type_name(int32_t(stated)) + " is not supported");
    return false;
  }
  made.attributes["output_dtype"] = int64_t(dtype);
  return true;
}

void quantize(Call& call) {
  call.expect_inputs(2, 3);
  graph::Node made;
  if (!read_quantisation(call, made)) return;
  // The type in which x / scale is computed; f32 is what every runtime takes for narrower ones too.
  const int64_t precision = call.integer("precision", 0);
  if (precision != 0 && dtype_of(int32_t(precision)) != DType::kF32)
    return call.refuse("precision", "division in " + element_type_name(int32_t(precision)));
  call.emit("QuantizeLinear").attributes = made.attributes;
}
void dequantize(Call& call) {
  call.expect_inputs(2, 3);
  graph::Node made;
  if (!read_quantisation(call, made)) return;
  call.emit("DequantizeLinear").attributes = made.attributes;
}
void dynamic(Call& call) {
  call.expect_inputs(1, 1);
  call.emit("DynamicQuantizeLinear");
}

}  // namespace

void add_quantize(TranslateTable& table) {
  table["QuantizeLinear"] = quantize;
  table["DequantizeLinear"] = dequantize;
  table["DynamicQuantizeLinear"] = dynamic;
}

}  // namespace ingot::onnx
