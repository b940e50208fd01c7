// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_shape.cpp - shapes as data, and operators that change only the shape.
// What became an input in a later opset is an attribute of the same name here when the file has it
// as one; shape inference takes either.
#include "tools/import/onnx/call.h"

namespace ingot::onnx {
namespace {

void constant(Call& call) {
  if (const Attribute* value = call.attribute("value", kAttributeTensor)) {
    try {
      return call.make_constant(
          0, read_tensor(*value->tensor, describe(call.node()), call.translator().external()),
          value->tensor->data_type);
    } catch (const TensorRefused& refused) {
      return call.refuse("value", refused.why);
    }
  }
  if (const Attribute* value = call.attribute("sparse_value", kAttributeSparse)) {
    try {
      return call.make_constant(
          0, read_sparse(*value->sparse, describe(call.node()), call.translator().external()));
    } catch (const TensorRefused& refused) {
      return call.refuse("sparse_value", refused.why);
    }
  }
  if (const Attribute* value = call.attribute("value_float", kAttributeFloat)) {
    return call.make_constant(0, graph::make_constant(DType::kF32, {}, &value->f));
  }
  if (const Attribute* value = call.attribute("value_int", kAttributeInt)) {
    return call.make_constant(0, graph::make_constant(DType::kI64, {}, &value->i));
  }
  if (const Attribute* value = call.attribute("value_floats", kAttributeFloats)) {
    return call.make_constant(0, graph::make_constant(DType::kF32, {int64_t(value->floats.size())},
                                                      value->floats.data()));
  }
  if (const Attribute* value = call.attribute("value_ints", kAttributeInts)) {
    return call.make_constant(
        0, graph::make_constant(DType::kI64, {int64_t(value->ints.size())}, value->ints.data()));
  }
  for (const char* text : {"value_string", "value_strings"}) {
    for (const Attribute& attribute : call.node().attributes) {
      if (attribute.name == text) return call.refuse(text, "text tensors are not supported");
    }
  }
  call.translator().corrupt(describe(call.node()) + ": has no value");
}

void constant_of_shape(Call& call) {
  graph::Constant value;
  const float zero = 0;
  if (const Attribute* given = call.attribute("value", kAttributeTensor)) {
    try {
      value = read_tensor(*given->tensor, describe(call.node()), call.translator().external());
    } catch (const TensorRefused& refused) {
      return call.refuse("value", refused.why);
    }
    if (value.elements() != 1)
      call.translator().corrupt(describe(call.node()) + ": its value has more than one element");
    value.dims.clear();
  } else {
    value = graph::make_constant(DType::kF32, {}, &zero);
  }
  call.emit(op::ConstantOfShape).attributes[attr::value] = std::move(value);
}

/// Before opset 6 its repeats were those of one axis.
void tile(Call& call) {
  if (call.opset() >= 6 || call.input_count() == 2) {
    if (call.opset() < 6)
      call.note("Tile of opset " + std::to_string(call.opset()) +
                " has the inputs that it got in opset 6; converted as that");
    call.expect_inputs(2, 2);
    call.emit(op::Tile);
    return;
  }
  call.expect_inputs(3, 3);
  call.emit(op::TileAxis);
}

}  // namespace

void add_shape(TranslateTable& table) {
  table["Constant"] = constant;
  table["ConstantOfShape"] = {1, 1, constant_of_shape};
  table["Tile"] = tile;
}

}  // namespace ingot::onnx
