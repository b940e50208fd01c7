// tools/compile/lower/lower_quantized.cpp - operands of products of integers: weights in panels of
// bytes, the numbers of channels padded to whole panels.
#include "runtime/op/quantized_blocks.h"
#include "tools/compile/lower/lower.h"
#include "tools/compile/lower/quantized_packing.h"

namespace ingot::convert {
namespace {

std::span<const int8_t> weights_of(const graph::Constant& constant) {
  return {constant.as<int8_t>(), size_t(constant.elements())};
}

}  // namespace

/// Bias, multipliers and shifts: operands 2 and up.
void Lowering::lower_channels(const graph::Node& node, int64_t outputs,
                              LoweredInstruction* instruction) {
  for (size_t i = 2; i < node.inputs.size(); i++) {
    const DType type =
        node.inputs[i] < 0 ? DType::kI32 : model_.values[size_t(node.inputs[i])].dtype;
    if (node.inputs[i] < 0) {
      instruction->inputs.push_back(-1);
      continue;
    }
    const graph::Constant numbers =
        weight(node, i, 1, type == DType::kF32 ? DType::kF32 : DType::kI32);
    if (numbers.dims[0] != outputs)
      graph::fail_conversion(
          8, "node '" + node.name + "': operand " + std::to_string(i) +
                 " has not one number an output; a fault of ingot's passes, please report it");
    instruction->inputs.push_back(packed(
        node.inputs[i], Packing::kVector16, {outputs},
        [numbers] {
          return pack_vector16({numbers.as<uint8_t>(), size_t(numbers.elements()) * 4});
        },
        type));
  }
}

void Lowering::lower_quantized_conv2d(const graph::Node& node, LoweredInstruction* instruction) {
  const auto& attributes = std::get<QuantizedConv2dAttributes>(instruction->attributes);
  const graph::Constant w = weight(node, 1, 4, DType::kI8);
  int32_t weights = -1;
  switch (attributes.method) {
    case ConvMethod::kDirect: {
      std::vector<int64_t> dims(4);
      quantized::direct_dims(attributes, w.dims[0], w.dims[3], dims.data());
      weights = packed(
          node.inputs[1], Packing::kPanels16x4, dims,
          [w, dims] { return pack_panels16x4(weights_of(w), dims); }, DType::kI8);
      break;
    }
    case ConvMethod::kDepthwise:
      weights = packed(
          node.inputs[1], Packing::kDepthwise16, w.dims,
          [w] { return pack_depthwise16(weights_of(w), w.dims[0], w.dims[1] * w.dims[2]); },
          DType::kI8);
      break;
    case ConvMethod::kWinogradF43:
    case ConvMethod::kGrouped: weights = value(node.inputs[1]); break;
  }
  instruction->inputs = {value(node.inputs[0]), weights};
  lower_channels(node, w.dims[0], instruction);
}

void Lowering::lower_quantized_linear(const graph::Node& node, LoweredInstruction* instruction) {
  const graph::Constant w = weight(node, 1, 2, DType::kI8);
  instruction->inputs = {value(node.inputs[0]),
                         packed(
                             node.inputs[1], Packing::kPanels16x4, w.dims,
                             [w] { return pack_panels16x4(weights_of(w), w.dims); }, DType::kI8)};
  lower_channels(node, w.dims[0], instruction);
}

}  // namespace ingot::convert
