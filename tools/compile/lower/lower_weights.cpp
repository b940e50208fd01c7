// SPDX-License-Identifier: Apache-2.0
// tools/compile/lower/lower_weights.cpp - operands of the operators that have packed weights; every
// other operand as it is.
#include <algorithm>
#include <cstring>

#include "runtime/base/checked_math.h"
#include "runtime/op/linear.h"
#include "tools/compile/lower/block_packing.h"
#include "tools/compile/lower/lower.h"
#include "tools/compile/lower/packing.h"
#include "tools/compile/lower/quantized_packing.h"
#include "tools/files/spill_file.h"
#include "tools/graph/block_type.h"

namespace ingot::convert {
namespace {

std::span<const float> numbers_of(const graph::Constant& constant) {
  return constant.as<float>().part(0, constant.elements());
}

std::vector<uint8_t> bytes_of(const std::vector<float>& numbers) {
  std::vector<uint8_t> bytes;
  bytes.reserve(numbers.size() * sizeof(float));
  host::append_weights(bytes, reinterpret_cast<const uint8_t*>(numbers.data()),
                       numbers.size() * sizeof(float));
  return bytes;
}

}  // namespace

void Lowering::lower_weights(const graph::Node& node, LoweredInstruction* instruction) {
  switch (instruction->op()) {
    case OpCode::kConv2d: return lower_conv2d(node, instruction);
    case OpCode::kConvTranspose2d: return lower_conv_transpose2d(node, instruction);
    case OpCode::kLinear: return lower_linear(node, instruction);
    case OpCode::kBlockLinear: return lower_blocks(node, 1, instruction);
    case OpCode::kBlockGather: return lower_blocks(node, 0, instruction);
    case OpCode::kGroupedLinear: return lower_grouped_linear(node, instruction);
    case OpCode::kRecurrent: return lower_recurrent(node, instruction);
    case OpCode::kQuantizedConv2d: return lower_quantized_conv2d(node, instruction);
    case OpCode::kQuantizedLinear: return lower_quantized_linear(node, instruction);
    default:
      for (const graph::ValueId id : node.inputs) instruction->inputs.push_back(value(id));
  }
}

const graph::Constant& Lowering::weight(const graph::Node& node, size_t operand, size_t rank,
                                        DType dtype) const {
  const graph::Constant* constant =
      operand < node.inputs.size() ? model_.constant(node.inputs[operand]) : nullptr;
  if (!constant || constant->dtype != dtype || constant->dims.size() != rank)
    graph::fail_internal("node '" + node.name + "' (" + text(node.op) + "): operand " +
                         std::to_string(operand) + " is not a constant of " + dtype_name(dtype) +
                         " and " + std::to_string(rank) +
                         " dimensions; a fault of ingot's passes, please report it with the model");
  return *constant;
}

int32_t Lowering::packed(graph::ValueId id, Packing packing, const std::vector<int64_t>& dims,
                         Pack pack, DType dtype) {
  const auto [found, is_first] = packed_.try_emplace({id, packing, dims}, -1);
  if (!is_first) return found->second;
  LoweredValue value;
  value.name = model_.values[size_t(id)].name;
  value.dtype = dtype;
  value.packing = packing;
  value.kind = ValueKind::kConstant;
  value.dims.assign(dims.begin(), dims.end());
  value.bytes.make = std::move(pack);
  return found->second = lowered_.add(std::move(value));
}

int32_t Lowering::bias_vector(const graph::Node& node, size_t operand, int64_t outputs) {
  if (operand >= node.inputs.size() || node.inputs[operand] < 0) return -1;
  const graph::Constant bias = weight(node, operand, 1);
  if (bias.dims[0] != outputs)
    graph::fail_internal("node '" + node.name + "': the bias has not one number an output");
  return packed(node.inputs[operand], Packing::kVector16, {outputs},
                [bias] { return bytes_of(pack_vector16(numbers_of(bias))); });
}

void Lowering::lower_conv2d(const graph::Node& node, LoweredInstruction* instruction) {
  auto& attributes = std::get<Conv2dAttributes>(instruction->attributes);
  if (const auto choice = methods_.find(&node); choice != methods_.end()) {
    attributes.method = choice->second.method;
    instruction->note = choice->second.why;
  }
  const graph::Constant w = weight(node, 1, 4);
  const int64_t outputs = w.dims[0], taps = w.dims[1] * w.dims[2], channels = w.dims[3];
  int32_t weights = -1;
  switch (attributes.method) {
    case ConvMethod::kDirect:
      weights = packed(node.inputs[1], Packing::kPanels16, w.dims, [=] {
        return bytes_of(pack_panels16(numbers_of(w), outputs, taps * channels));
      });
      break;
    case ConvMethod::kWinogradF43:
      weights = packed(node.inputs[1], Packing::kWinogradF43, w.dims, [=] {
        return bytes_of(pack_winograd_f43(numbers_of(w), outputs, channels));
      });
      report_->winograd++;
      break;
    case ConvMethod::kDepthwise:
      weights = packed(node.inputs[1], Packing::kDepthwise16, w.dims,
                       [=] { return bytes_of(pack_depthwise16(numbers_of(w), outputs, taps)); });
      break;
    case ConvMethod::kGrouped: weights = value(node.inputs[1]); break;
  }
  instruction->inputs = {value(node.inputs[0]), weights, bias_vector(node, 2, outputs)};
  if (node.inputs.size() > 3 && node.inputs[3] >= 0)
    instruction->inputs.push_back(value(node.inputs[3]));
}

void Lowering::lower_conv_transpose2d(const graph::Node& node, LoweredInstruction* instruction) {
  const auto& attributes = std::get<ConvTranspose2dAttributes>(instruction->attributes);
  const graph::Constant w = weight(node, 1, 4);
  const int64_t outputs = w.dims[0], taps = w.dims[1] * w.dims[2], channels = w.dims[3];
  int32_t weights = -1;
  if (attributes.groups != 1) {
    weights = value(node.inputs[1]);
  } else {
    weights = packed(node.inputs[1], Packing::kPanels16, w.dims, [=] {
      return bytes_of(pack_panels16(numbers_of(w), outputs, taps * channels));
    });
  }
  instruction->inputs = {value(node.inputs[0]), weights, bias_vector(node, 2, outputs)};
}

void Lowering::lower_linear(const graph::Node& node, LoweredInstruction* instruction) {
  const bool quantized = node.inputs.size() > size_t(linear_weights::kScales);
  const graph::Constant w = weight(node, 1, 2, quantized ? DType::kI8 : DType::kF32);
  const int32_t weights =
      quantized ? quantized_weights(node) : packed(node.inputs[1], Packing::kPanels16, w.dims, [w] {
        return bytes_of(pack_panels16(numbers_of(w), w.dims[0], w.dims[1]));
      });
  instruction->inputs = {value(node.inputs[0]), weights, bias_vector(node, 2, w.dims[0])};
  for (size_t i = 3; i < node.inputs.size(); i++)
    instruction->inputs.push_back(i == 3 ? value(node.inputs[i]) : panels_of(node, i));
}

/// Operands as they are but `weights`, which go into panels.
void Lowering::lower_blocks(const graph::Node& node, size_t weights,
                            LoweredInstruction* instruction) {
  const BlockType type = graph::find_block_type(node.text(attr::type, "")).value();
  for (size_t i = 0; i < node.inputs.size(); i++) {
    if (i != weights) {
      instruction->inputs.push_back(value(node.inputs[i]));
      continue;
    }
    const graph::Constant w = weight(node, i, 2, DType::kU8);
    instruction->inputs.push_back(packed(
        node.inputs[i], Packing::kBlocks32, w.dims,
        [w, type] {
          const std::span<const uint8_t> rows = w.as<uint8_t>().part(0, w.elements());
          return pack_blocks32(type, rows, w.dims[0], w.dims[1]);
        },
        DType::kU8));
  }
}

/// Experts one after another, each in whole panels.
void Lowering::lower_grouped_linear(const graph::Node& node, LoweredInstruction* instruction) {
  const bool blocks = model_.values[size_t(node.inputs[1])].dtype == DType::kU8;
  const graph::Constant w = weight(node, 1, 3, blocks ? DType::kU8 : DType::kF32);
  const int64_t experts = w.dims[0], outputs = w.dims[1], row = w.dims[2];
  const int64_t padded = round_up(outputs, blocks ? block_weights::kOutputs : kPanel);
  const BlockType type =
      blocks ? graph::find_block_type(node.text(attr::type, "")).value() : BlockType();
  const auto pack = [=] {
    std::vector<uint8_t> all;
    for (int64_t e = 0; e < experts; e++) {
      const int64_t from = e * outputs * row;
      const std::vector<uint8_t> panels =
          blocks ? pack_blocks32(type, w.as<uint8_t>().part(from, outputs * row), outputs, row)
                 : bytes_of(pack_panels16(w.as<float>().part(from, outputs * row), outputs, row));
      if (all.empty()) all.reserve(panels.size() * size_t(experts));
      host::append_weights(all, panels.data(), panels.size());
    }
    return all;
  };
  const int32_t weights = packed(node.inputs[1], blocks ? Packing::kBlocks32 : Packing::kPanels16,
                                 {experts * padded, row}, pack, blocks ? DType::kU8 : DType::kF32);
  instruction->inputs = {value(node.inputs[0]), weights, value(node.inputs[2])};
}

namespace {

/// [blocks * H, row] to [blocks * P, row], every gate's rows followed by zeros up to a multiple of
/// 16.
template <class T = float>
std::vector<T> pad_gates(const graph::Constant& constant, int64_t blocks, int64_t hidden,
                         int64_t row) {
  const int64_t padded = round_up(hidden, kPanel);
  std::vector<T> rows(size_t(blocks * padded * row), T(0));
  for (int64_t b = 0; b < blocks; b++)
    std::copy_n(constant.as<T>() + b * hidden * row, hidden * row, rows.data() + b * padded * row);
  return rows;
}

}  // namespace

void Lowering::lower_recurrent(const graph::Node& node, LoweredInstruction* instruction) {
  const auto& attributes = std::get<RecurrentAttributes>(instruction->attributes);
  const int64_t hidden = attributes.hidden, padded = round_up(hidden, kPanel),
                gates = recurrent_gates(attributes.kind);
  for (size_t i = 0; i < node.inputs.size(); i++) {
    if (node.inputs[i] < 0 || i == 0 || (i >= 4 && i <= 6)) {
      instruction->inputs.push_back(value(node.inputs[i]));
      continue;
    }
    if (i >= 8) {  // of weights of bytes: rows of [D*G*H]
      const graph::Constant c = weight(node, i, 2, DType::kI32);
      const int64_t blocks = c.elements() / hidden;
      instruction->inputs.push_back(packed(
          node.inputs[i], Packing::kDense, {c.dims[0], blocks / c.dims[0] * padded},
          [=] {
            const std::vector<int32_t> rows = pad_gates<int32_t>(c, blocks, hidden, 1);
            const auto* bytes = reinterpret_cast<const uint8_t*>(rows.data());
            return std::vector<uint8_t>(bytes, bytes + rows.size() * sizeof(int32_t));
          },
          DType::kI32));
      continue;
    }
    const bool of_bytes = i <= 2 && model_.values[size_t(node.inputs[i])].dtype == DType::kI8;
    const graph::Constant c = weight(node, i, i == 7 ? 2 : 3, of_bytes ? DType::kI8 : DType::kF32);
    const int64_t directions = c.dims[0];
    if (i <= 2) {  // w, r: panels over [D*G*P, I or H]
      const int64_t blocks = directions * gates, columns = c.dims[2];
      const std::vector<int64_t> dims = {blocks * padded, columns};
      if (of_bytes) {
        instruction->inputs.push_back(packed(
            node.inputs[i], Packing::kPanels16x4, dims,
            [=] { return pack_panels16x4(pad_gates<int8_t>(c, blocks, hidden, columns), dims); },
            DType::kI8));
        continue;
      }
      instruction->inputs.push_back(packed(node.inputs[i], Packing::kPanels16, dims, [=] {
        return bytes_of(
            pack_panels16(pad_gates(c, blocks, hidden, columns), blocks * padded, columns));
      }));
    } else {
      const int64_t parts = i == 3 ? c.dims[1] * gates : 3;
      const std::vector<int64_t> dims =
          i == 3 ? std::vector<int64_t>{directions, c.dims[1], gates * padded}
                 : std::vector<int64_t>{directions, 3 * padded};
      instruction->inputs.push_back(packed(node.inputs[i], Packing::kDense, dims, [=] {
        return bytes_of(pad_gates(c, directions * parts, hidden, 1));
      }));
    }
  }
}

}  // namespace ingot::convert
