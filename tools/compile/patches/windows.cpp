// SPDX-License-Identifier: Apache-2.0
// tools/compile/patches/windows.cpp - see windows.h.
#include "tools/compile/patches/windows.h"

#include <type_traits>

namespace ingot::convert {
namespace {

template <class A>
constexpr bool kHasWindow =
    std::is_same_v<A, Conv2dAttributes> || std::is_same_v<A, QuantizedConv2dAttributes> ||
    std::is_same_v<A, Pool2dAttributes> || std::is_same_v<A, QuantizedPool2dAttributes>;

bool has_window(const LoweredInstruction& instruction) {
  return std::visit([](const auto& a) { return kHasWindow<std::decay_t<decltype(a)>>; },
                    instruction.attributes);
}

/// Winograd's tiles begin where the image does, and averages that count pads would count others.
bool allows_patches(const LoweredInstruction& instruction) {
  if (const auto* conv = std::get_if<Conv2dAttributes>(&instruction.attributes))
    return conv->method != ConvMethod::kWinogradF43 && conv->input_layout == ChannelLayout::kNhwc;
  if (const auto* pool = std::get_if<Pool2dAttributes>(&instruction.attributes))
    return pool->kind == PoolKind::kMax || pool->kind == PoolKind::kAverage;
  if (const auto* pool = std::get_if<QuantizedPool2dAttributes>(&instruction.attributes))
    return pool->kind == PoolKind::kMax || pool->kind == PoolKind::kAverage;
  if (const auto* concat = std::get_if<ConcatAttributes>(&instruction.attributes))
    return concat->axis == 3;
  return true;
}

bool is_pointwise(OpCode op) {
  return op == OpCode::kElementwise || op == OpCode::kQuantize || op == OpCode::kDequantize ||
         op == OpCode::kLookup || op == OpCode::kQuantizedElementwise || op == OpCode::kConcat;
}

/// Broadcast over rows and columns.
bool is_one_pixel(const LoweredValue& value) {
  const size_t rank = value.dims.size();
  for (size_t back = 2; back <= 3; back++)
    if (rank >= back && value.dims[rank - back] != SymbolicDim(1)) return false;
  return true;
}

struct Reach {
  Interval inside;
  int64_t before = 0, behind = 0;  // in the pads
};
std::optional<Reach> reach(const Interval& y, const Interval& x, int64_t kernel, int64_t stride,
                           int64_t dilation, int64_t pad) {
  const int64_t begin = y.begin * stride - pad,
                end = (y.end - 1) * stride - pad + (kernel - 1) * dilation + 1;
  Reach reached;
  reached.inside = {std::max(begin, x.begin), std::min(end, x.end)};
  if (reached.inside.size() <= 0) return std::nullopt;
  reached.before = reached.inside.begin - begin, reached.behind = end - reached.inside.end;
  return reached;
}

}  // namespace

std::optional<Area> image_area(const LoweredValue& value) {
  if (value.dims.size() != 4 || value.dims[0] != SymbolicDim(1)) return std::nullopt;
  const auto h = value.dims[1].value(), w = value.dims[2].value(), c = value.dims[3].value();
  if (!h || !w || !c || *h < 1 || *w < 1) return std::nullopt;
  return Area{{0, *h}, {0, *w}};
}

Reading reading_of(const LoweredProgram& lowered, const LoweredInstruction& instruction,
                   size_t operand) {
  const LoweredValue& x = lowered.at(instruction.inputs[operand]);
  const bool is_constant = x.kind == ValueKind::kConstant;
  if (has_window(instruction)) {
    if (operand == 0) return is_constant ? Reading::kApart : Reading::kWindow;
    if (is_constant) return Reading::kWhole;
    const bool is_residual = instruction.op() == OpCode::kConv2d && operand == 3;
    return is_residual ? Reading::kSame : Reading::kApart;
  }
  if (instruction.op() == OpCode::kLookup && operand == 1) return Reading::kWhole;
  const std::optional<Area> area = image_area(x),
                            whole = image_area(lowered.at(instruction.outputs[0]));
  if (!is_constant && area && whole && *area == *whole) return Reading::kSame;
  return is_one_pixel(x) ? Reading::kWhole : Reading::kApart;
}

bool works_in_patches(const LoweredProgram& lowered, const LoweredInstruction& instruction) {
  if (!has_window(instruction) && !is_pointwise(instruction.op())) return false;
  if (!allows_patches(instruction) || instruction.outputs.size() != 1 ||
      !image_area(lowered.at(instruction.outputs[0])))
    return false;
  bool has_area = false;
  for (size_t k = 0; k < instruction.inputs.size(); k++) {
    if (instruction.inputs[k] < 0) continue;
    const Reading reading = reading_of(lowered, instruction, k);
    const bool is_area = reading == Reading::kSame || reading == Reading::kWindow;
    if (reading == Reading::kApart || (is_area && !image_area(lowered.at(instruction.inputs[k]))))
      return false;
    has_area = has_area || is_area;
  }
  return has_area;
}

std::optional<Area> window_area(const LoweredInstruction& instruction, const Area& x, const Area& y,
                                Pads* pads) {
  return std::visit(
      [&](const auto& a) -> std::optional<Area> {
        if constexpr (!kHasWindow<std::decay_t<decltype(a)>>) {
          return std::nullopt;
        } else {
          const auto rows = reach(y.rows, x.rows, a.kernel_h, a.stride_h, a.dilation_h, a.pad_top);
          const auto columns =
              reach(y.columns, x.columns, a.kernel_w, a.stride_w, a.dilation_w, a.pad_left);
          if (!rows || !columns) return std::nullopt;
          if (pads) *pads = {rows->before, columns->before, rows->behind, columns->behind};
          return Area{rows->inside, columns->inside};
        }
      },
      instruction.attributes);
}

void set_pads(LoweredInstruction* instruction, const Pads& pads) {
  std::visit(
      [&](auto& a) {
        if constexpr (kHasWindow<std::decay_t<decltype(a)>>) {
          a.pad_top = uint32_t(pads.top), a.pad_left = uint32_t(pads.left);
          a.pad_bottom = uint32_t(pads.bottom), a.pad_right = uint32_t(pads.right);
        }
      },
      instruction->attributes);
}

}  // namespace ingot::convert
