// SPDX-License-Identifier: Apache-2.0
#include "tools/import/aten/quantized_tensor.h"

#include <set>

#include "tools/files/word_list.h"
#include "tools/graph/tensor_math.h"

namespace ingot::aten {
namespace {

/// Elements keep their numbers: they move, or the larger one is chosen.
bool keeps_steps(const std::string& op) {
  static const std::set<std::string> kTable = host::word_list(
      "alias as_strided channel_shuffle chunk clone contiguous detach dropout expand "
      "expand_as feature_dropout flatten flip index_select max_pool1d max_pool2d max_pool3d "
      "movedim narrow permute pixel_shuffle pixel_unshuffle repeat reshape reshape_as roll "
      "select slice split split_with_sizes squeeze swapaxes t tensor_split transpose unbind "
      "unflatten unsqueeze upsample_nearest1d upsample_nearest2d upsample_nearest3d view "
      "view_as _unsafe_view _reshape_alias");
  return kTable.count(op) != 0;
}
/// Numbers between the steps are rounded to those of the argument.
bool rounds_to_steps(const std::string& op) {
  static const std::set<std::string> kTable = host::word_list(
      "adaptive_avg_pool2d _adaptive_avg_pool2d adaptive_avg_pool3d avg_pool1d avg_pool2d "
      "avg_pool3d cat clamp constant_pad_nd elu hardtanh leaky_relu masked_fill mean pad "
      "reflection_pad1d relu reflection_pad2d relu6 stack threshold upsample_bilinear2d");
  return kTable.count(op) != 0;
}
/// Plain numbers, truths and facts about the tensor.
bool leaves_steps(const std::string& op) {
  static const std::set<std::string> kTable = {
      "dequantize", "eq", "ge",    "gt",      "int_repr",     "is_quantized", "le",
      "lt",         "ne", "numel", "q_scale", "q_zero_point", "size"};
  return kTable.count(op) != 0;
}
/// Functions with a known range have the finest steps that hold it.
std::optional<TensorQuantization> steps_of_range(const std::string& op, DType integers) {
  const bool is_signed = integers == DType::kI8;
  if (integers != DType::kU8 && !is_signed) return std::nullopt;
  if (op == "sigmoid" || op == "hardsigmoid")
    return TensorQuantization{integers, 1.0 / 256, is_signed ? -128 : 0};
  if (op == "tanh") return TensorQuantization{integers, 2.0 / 256, is_signed ? 0 : 128};
  return std::nullopt;
}

void check_zero_point(const TensorQuantization& by) {
  int64_t low = 0, high = 255;
  switch (by.integers) {
    case DType::kU8: break;
    case DType::kI8: low = -128, high = 127; break;
    case DType::kI16: low = -32768, high = 32767; break;
    case DType::kU16: high = 65535; break;
    default: throw Refused{"dtype", std::string("quantization to ") + dtype_name(by.integers), ""};
  }
  if (by.zero_point < low || by.zero_point > high)
    graph::fail_corrupt("its zero point is " + std::to_string(by.zero_point) + ", expected " +
                        std::to_string(low) + " to " + std::to_string(high));
}

void each_tensor(Value* value, const std::function<void(Value*)>& change) {
  if (value->is(Value::Kind::kTensor)) change(value);
  if (!value->items) return;
  const Nesting level;
  for (Value& item : *value->items) each_tensor(&item, change);
}

}  // namespace

std::optional<DType> integers_of_c10(int64_t scalar_type) {
  switch (scalar_type) {
    case 12: return DType::kI8;
    case 13: return DType::kU8;
    case 14: return DType::kI32;
    default: return std::nullopt;
  }
}

int64_t c10_of_integers(DType integers) {
  return integers == DType::kI8 ? 12 : integers == DType::kU8 ? 13 : 14;
}

ValueId quantize(Builder& b, ValueId x, const TensorQuantization& by) {
  check_zero_point(by);
  return b.emit(op::QuantizeLinear, {b.cast(x, DType::kF32), b.scalar(DType::kF32, by.scale),
                                     b.scalar(by.integers, double(by.zero_point))});
}
Tensor quantized(Builder& b, ValueId x, const TensorQuantization& by) {
  const ValueId bytes = quantize(b, x, by);
  const Tensor made =
      b.own(b.emit(op::DequantizeLinear, {bytes, b.scalar(DType::kF32, by.scale),
                                          b.scalar(by.integers, double(by.zero_point))}));
  Builder::set_quantization(made, by);
  return made;
}
ValueId dequantize(Builder& b, ValueId integers, ValueId scales, ValueId zero_points,
                   int64_t axis) {
  const DType type = b.dtype(integers);
  if (const graph::Constant* zeros = b.model.constant(zero_points); zeros && zeros->dtype != type)
    for (int64_t i = 0; i < zeros->elements(); i++)
      check_zero_point({type, 1, graph::read_integer(*zeros, i)});
  return b.emit(op::DequantizeLinear,
                {integers, b.cast(scales, DType::kF32), b.cast(zero_points, type)},
                {{attr::axis, axis}});
}

// Bytes, from which passes find the integers.
ValueId quantized_in_run(Builder& b, ValueId x, bool reduced) {
  if (!reduced) {
    const std::vector<ValueId> made = b.emit_many(op::DynamicQuantizeLinear, {x}, {}, 3);
    return b.emit(op::DequantizeLinear, made);
  }
  const ValueId nothing = b.scalar(DType::kF32, 0), most = b.scalar(DType::kF32, 127);
  const ValueId high = b.emit(op::Max, {b.reduce(op::ReduceMax, x, {}, false), nothing}),
                low = b.emit(op::Min, {b.reduce(op::ReduceMin, x, {}, false), nothing});
  const ValueId range = b.emit(op::Sub, {high, low});
  const ValueId scale =
      b.emit(op::Where, {b.emit(op::Equal, {range, nothing}), b.scalar(DType::kF32, 0.1),
                         b.emit(op::Div, {range, most})});
  const auto limited = [&](ValueId steps) {
    return b.emit(op::Clip, {b.emit(op::Round, {steps})}, {{attr::min, 0.0}, {attr::max, 127.0}});
  };
  const ValueId zero = limited(b.emit(op::Div, {b.emit(op::Neg, {low}), scale}));
  const ValueId steps = b.emit(op::Add, {b.emit(op::Round, {b.emit(op::Div, {x, scale})}), zero});
  const ValueId bytes = b.cast(limited(steps), DType::kU8);
  return b.emit(op::Mul, {b.emit(op::Sub, {b.cast(bytes, DType::kF32), zero}), scale});
}

const TensorQuantization* quantization_among(const std::vector<Value>& arguments) {
  for (const Value& argument : arguments) {
    if (argument.is(Value::Kind::kTensor))
      if (const auto* const found = Builder::quantization(argument.tensor)) return found;
    if (!argument.items) continue;
    const Nesting level;
    if (const auto* const found = quantization_among(*argument.items)) return found;
  }
  return nullptr;
}

void follow_quantization(Builder& b, const std::string& op, const TensorQuantization& by,
                         std::vector<Value>* results) {
  if (op.find("::") != std::string::npos || op.rfind("quantized_", 0) == 0 || leaves_steps(op))
    return;
  const auto other = steps_of_range(op, by.integers);
  if (!other && !keeps_steps(op) && !rounds_to_steps(op))
    throw Refused{"", "of a quantized tensor is not supported", "dequantize() it before"};
  for (Value& result : *results)
    each_tensor(&result, [&](Value* value) {
      if (keeps_steps(op))
        Builder::set_quantization(value->tensor, by);
      else
        *value = Value::of(quantized(b, b.read(value->tensor), other ? *other : by));
    });
}

}  // namespace ingot::aten
