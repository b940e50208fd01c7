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
  call.expect_inputs(1, 1);
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

void shape(Call& call) {
  call.expect_inputs(1, 1);
  graph::Node& made = call.emit(op::Shape);
  made.attributes[attr::start] = call.integer("start", 0);
  if (call.attribute("end", kAttributeInt)) made.attributes[attr::end] = call.integer("end", 0);
}
void reshape(Call& call) {
  if (call.opset() < 5) {
    call.expect_inputs(1, 1);
    const auto shape = call.integers("shape");
    if (!shape) call.translator().corrupt(describe(call.node()) + ": lacks its shape");
    call.emit(op::Reshape).attributes[attr::shape] = *shape;
    return;
  }
  call.expect_inputs(2, 2);
  call.emit(op::Reshape).attributes[attr::allowzero] = call.integer("allowzero", 0);
}
void flatten(Call& call) {
  call.expect_inputs(1, 1);
  call.emit(op::Flatten).attributes[attr::axis] = call.integer("axis", 1);
}
/// Operators whose axes were an attribute until opset 12.
void with_axes(Call& call) {
  call.expect_inputs(1, call.opset() >= 13 ? 2 : 1);
  graph::Node& made = call.emit(call.op());
  if (call.opset() >= 13) return;
  if (const auto axes = call.integers("axes")) made.attributes[attr::axes] = *axes;
}
void plain(Call& call, size_t lowest, size_t highest) {
  call.expect_inputs(lowest, highest);
  call.emit(call.op());
}
void one_input(Call& call) { plain(call, 1, 1); }
void two_inputs(Call& call) { plain(call, 2, 2); }
void three_inputs(Call& call) { plain(call, 3, 3); }

/// Before opset 6 its repeats were those of one axis.
void tile(Call& call) {
  if (call.opset() >= 6) return two_inputs(call);
  if (call.input_count() == 2) {
    call.note("Tile of opset " + std::to_string(call.opset()) +
              " has the inputs that it got in opset 6; converted as that");
    return two_inputs(call);
  }
  call.expect_inputs(3, 3);
  call.emit(op::TileAxis);
}

void eye_like(Call& call) {
  call.expect_inputs(1, 1);
  graph::Node& made = call.emit(op::EyeLike);
  made.attributes[attr::k] = call.integer("k", 0);
  if (call.attribute("dtype", kAttributeInt)) {
    const DType dtype = dtype_of(int32_t(call.integer("dtype", 1)));
    if (dtype == DType::kInvalid) return call.refuse("dtype", "is not supported");
    made.attributes[attr::dtype] = int64_t(dtype);
  }
}

}  // namespace

void add_shape(TranslateTable& table) {
  table["Constant"] = constant;
  table["ConstantOfShape"] = constant_of_shape;
  table["Shape"] = shape;
  table["Size"] = one_input;
  table["Reshape"] = reshape;
  table["Flatten"] = flatten;
  table["Squeeze"] = with_axes;
  table["Unsqueeze"] = with_axes;
  table["Expand"] = two_inputs;
  table["Tile"] = tile;
  table["Range"] = three_inputs;
  table["EyeLike"] = eye_like;
}

}  // namespace ingot::onnx
