// SPDX-License-Identifier: Apache-2.0
// tools/compile/lower/lower_quantized.cpp - operands of products of integers, and of Linear with
// quantized weights: panels of bytes, the numbers of channels padded to whole panels.
#include <algorithm>
#include <cstring>

#include "runtime/base/checked_math.h"
#include "runtime/op/linear.h"
#include "runtime/op/quantized_blocks.h"
#include "tools/compile/lower/lower.h"
#include "tools/compile/lower/packing.h"
#include "tools/compile/lower/quantized_packing.h"

namespace ingot::convert {
namespace {

std::span<const int8_t> weights_of(const graph::Constant& constant) {
  return constant.as<int8_t>().part(0, constant.elements());
}

constexpr size_t kStepsOperand =
    6;  // of a node; scale and zero point of what was quantized in the run

bool has_halves(DType type) { return type == DType::kI64 || type == DType::kF64; }

/// The lower and the upper halves of 64 bits, as i32.
std::pair<graph::Constant, graph::Constant> halves_of(const graph::Constant& wide) {
  std::vector<int32_t> low, high;
  for (int64_t i = 0; i < wide.elements(); i++) {
    uint64_t bits;
    std::memcpy(&bits, wide.as<uint8_t>() + i * int64_t(sizeof bits), sizeof bits);
    low.push_back(int32_t(uint32_t(bits))), high.push_back(int32_t(uint32_t(bits >> 32)));
  }
  return {graph::make_constant(DType::kI32, wide.dims, low.data()),
          graph::make_constant(DType::kI32, wide.dims, high.data())};
}

}  // namespace

/// Numbers of channels, operands 2 to 5 of the node, become rows of one operand; the upper halves
/// of 64 bits follow the lower ones, those of biases as the last row.
int32_t Lowering::channels_of(const graph::Node& node, int64_t outputs) {
  std::vector<graph::Constant> rows;
  for (size_t i = 2; i < std::min(node.inputs.size(), kStepsOperand) && node.inputs[i] >= 0; i++) {
    const DType type = model_.values[size_t(node.inputs[i])].dtype;
    const bool plain = type == DType::kF32 || has_halves(type);
    rows.push_back(weight(node, i, 1, plain ? type : DType::kI32));
    if (rows.back().dims[0] != outputs)
      graph::fail_internal(
          "node '" + node.name + "': operand " + std::to_string(i) +
          " has not one number an output; a fault of ingot's passes, please report it");
  }
  // multipliers, then biases
  for (const size_t i : {size_t{1}, size_t{0}}) {
    if (rows.size() <= i || !has_halves(rows[i].dtype)) continue;
    auto [low, high] = halves_of(rows[i]);
    rows[i] = std::move(low);
    rows.push_back(std::move(high));
  }
  LoweredValue value;
  value.name = model_.values[size_t(node.inputs[2])].name;
  value.dtype = DType::kI32;
  value.kind = ValueKind::kConstant;
  value.dims = {int64_t(rows.size()), round_up(outputs, kPanel)};
  value.bytes.make = [rows] {
    std::vector<std::span<const uint8_t>> numbers;
    for (const graph::Constant& row : rows)
      numbers.push_back(row.as<uint8_t>().part(0, row.elements() * 4));
    return pack_channels(numbers);
  };
  return lowered_.add(std::move(value));
}

void Lowering::add_steps(const graph::Node& node, LoweredInstruction* instruction) {
  if (node.inputs.size() > kStepsOperand)
    instruction->inputs.push_back(value(node.inputs[kStepsOperand]));
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
  instruction->inputs = {value(node.inputs[0]), weights, channels_of(node, w.dims[0])};
  add_steps(node, instruction);
}

void Lowering::lower_quantized_linear(const graph::Node& node, LoweredInstruction* instruction) {
  const graph::Constant w = weight(node, 1, 2, DType::kI8);
  instruction->inputs = {value(node.inputs[0]),
                         packed(
                             node.inputs[1], Packing::kPanels16x4, w.dims,
                             [w] { return pack_panels16x4(weights_of(w), w.dims); }, DType::kI8),
                         channels_of(node, w.dims[0])};
  add_steps(node, instruction);
}

/// Of Linear: i8 [O,K] in panels, or those of 4 bits by twos.
int32_t Lowering::quantized_weights(const graph::Node& node) {
  const graph::Constant w = weight(node, 1, 2, DType::kI8);
  if (node.integer(attr::bits, 8) != 4)
    return packed(
        node.inputs[1], Packing::kPanels16, w.dims,
        [w] { return pack_panels16(weights_of(w), w.dims[0], w.dims[1]); }, DType::kI8);
  const std::vector<int64_t> dims = {w.dims[0], ceil_div(w.dims[1], 2)};
  return packed(
      node.inputs[1], Packing::kPanels16x4, dims,
      [w, dims] { return pack_panels16x4(pair_nibbles(weights_of(w), w.dims[1]), dims); },
      DType::kU8);
}

/// Scales and zeros of Linear's blocks.
int32_t Lowering::panels_of(const graph::Node& node, size_t operand) {
  if (node.inputs[operand] < 0) return -1;
  const bool zeros = operand == size_t(linear_weights::kZeros);
  const graph::Constant c = weight(node, operand, 2, zeros ? DType::kI8 : DType::kF32);
  return packed(
      node.inputs[operand], Packing::kPanels16, c.dims,
      [c, zeros] {
        if (zeros) return pack_panels16(weights_of(c), c.dims[0], c.dims[1]);
        const std::span<const float> numbers = c.as<float>().part(0, c.elements());
        const std::vector<float> panels = pack_panels16(numbers, c.dims[0], c.dims[1]);
        const auto* bytes = reinterpret_cast<const uint8_t*>(panels.data());
        return std::vector<uint8_t>(bytes, bytes + panels.size() * sizeof(float));
      },
      zeros ? DType::kI8 : DType::kF32);
}

}  // namespace ingot::convert
