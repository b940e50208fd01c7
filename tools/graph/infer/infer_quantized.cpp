// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_quantized.cpp - integers that stand for numbers: operators of core form,
// which importers emit as the runtime has them (runtime/op/quantize.h and its neighbors).
#include "tools/graph/infer/inference.h"

namespace ingot::graph {
namespace {

bool is_quantized_type(DType dtype) {
  return dtype == DType::kU8 || dtype == DType::kI8 || dtype == DType::kU16 ||
         dtype == DType::kI16 || dtype == DType::kI32;
}

/// Bytes, or 16-bit numbers. @return which
DType expect_numbers(NodeContext& context, size_t input) {
  const DType type = context.dtype(input);
  if (type != DType::kU8 && type != DType::kI16)
    context.corrupt("its input " + std::to_string(input) + " is " + dtype_text(type) +
                    ", expected u8 or i16");
  return type;
}
/// A constant operand.
void expect_constant(NodeContext& context, size_t input, DType dtype, const Dims& dims) {
  if (!context.model().constant(context.in(input)))
    context.refuse("", "its operand " + std::to_string(input) + " is no constant");
  if (context.dtype(input) != dtype || context.dims(input) != dims)
    context.corrupt("its operand " + std::to_string(input) + " is " +
                    dtype_text(context.dtype(input)) + " " + text(context.dims(input)) +
                    ", expected " + dtype_text(dtype) + " " + text(dims));
}

/// What stands for numbers has the type of the attribute "to"; u8 where that is absent.
void quantize_bytes(NodeContext& context) {
  if (context.dtype(0) != DType::kF32)
    context.corrupt(std::string("its input is ") + dtype_text(context.dtype(0)) + ", expected f32");
  if (!context.node.has(attr::to) && context.settled()) return;  // in normal form
  const DType to = DType(context.node.integer(attr::to, int64_t(DType::kU8)));
  if (!is_quantized_type(to)) context.corrupt(std::string("it gives ") + dtype_text(to));
  context.set(0, to, context.dims(0));
  context.erase({attr::to});
}
void dequantize_bytes(NodeContext& context) {
  if (!is_quantized_type(context.dtype(0)))
    context.corrupt(std::string("its input is ") + dtype_text(context.dtype(0)) +
                    ", expected a quantized type");
  context.set(0, DType::kF32, context.dims(0));
}

/// The first `axis` dimensions count the groups that have steps of their own.
void quantize_by_contents(NodeContext& context) {
  if (context.dtype(0) != DType::kF32)
    context.corrupt(std::string("its input is ") + dtype_text(context.dtype(0)) + ", expected f32");
  const int64_t axis = context.node.integer(attr::axis, 0);
  const Dims x = context.dims(0);
  if (axis < 0 || axis > int64_t(x.size())) context.corrupt("its axis is out of range");
  if (context.node.outputs.size() != 2) context.corrupt("has not two outputs");
  context.set(0, DType::kU8, x);
  context.set(1, DType::kF32, {graph::product(Dims(x.begin(), x.begin() + axis)), Dim(2)});
}

/// i8 to u8 or back: 128 is added modulo 256.
void offset_byte(NodeContext& context) {
  const DType from = context.dtype(0);
  if (from != DType::kI8 && from != DType::kU8)
    context.corrupt(std::string("its input is ") + dtype_text(from) + ", expected i8 or u8");
  context.set(0, from == DType::kI8 ? DType::kU8 : DType::kI8, context.dims(0));
}

constexpr size_t kSteps = 6;  // operand of to_float: scale and zero point of each group of rows

/// Sums, scales, biases and perhaps zero points of weights; then the steps of x.
void expect_float_channels(NodeContext& context, const Dim& outputs) {
  expect_constant(context, 2, DType::kI32, {outputs});
  expect_constant(context, 3, DType::kF32, {outputs});
  expect_constant(context, 4, DType::kF32, {outputs});
  if (context.has(5)) expect_constant(context, 5, DType::kI32, {outputs});
  if (!context.has(kSteps) || context.dtype(kSteps) != DType::kF32 || context.rank(kSteps) != 2 ||
      context.dims(kSteps)[1] != Dim(2))
    context.corrupt("has no steps of its input, f32 [groups, 2]");
}
void expect_channels(NodeContext& context, const Dim& outputs) {
  const std::string requant = context.node.text(attr::requant, "float_even");
  if (requant == "to_float") return expect_float_channels(context, outputs);
  const bool in_double = requant == "double_away", fixed = requant != "float_even" && !in_double;
  const bool wide = requant == "fixed_wide" || in_double;
  expect_constant(context, 2, wide ? DType::kI64 : DType::kI32, {outputs});
  expect_constant(context, 3,
                  fixed       ? DType::kI32
                  : in_double ? DType::kF64
                              : DType::kF32,
                  {outputs});
  if (fixed) expect_constant(context, 4, DType::kI32, {outputs});
  if (!fixed && context.has(4)) context.corrupt("has shifts, and multipliers in floating point");
}

struct Direction {
  AttributeName kernel, stride, dilation, before, after;
};
constexpr Direction kHeight = {attr::kernel_h, attr::stride_h, attr::dilation_h, attr::pad_top,
                               attr::pad_bottom};
constexpr Direction kWidth = {attr::kernel_w, attr::stride_w, attr::dilation_w, attr::pad_left,
                              attr::pad_right};

Dim windows(NodeContext& context, const Dim& extent, const Direction& d) {
  constexpr int64_t kLimit = int64_t(1) << 31;
  const Node& node = context.node;
  const int64_t kernel = node.integer(d.kernel, 1), stride = node.integer(d.stride, 1),
                dilation = node.integer(d.dilation, 1), before = node.integer(d.before, 0),
                after = node.integer(d.after, 0);
  for (const int64_t n : {kernel, stride, dilation, before + 1, after + 1})
    if (n < 1 || n > kLimit) context.corrupt("its window is out of range");
  const int64_t window = (kernel - 1) * dilation + 1;
  const Dim room = extent + Dim(before + after) - Dim(window);
  if (proven_at_least(Dim(-1), room))
    context.corrupt("its window of " + std::to_string(window) + " is larger than its padded input");
  return room / Dim(stride) + Dim(1);
}
void expect_image_bytes(NodeContext& context) {
  if (context.rank(0) != 4)
    context.corrupt("its input has shape " + text(context.dims(0)) + ", expected [N, H, W, C]");
}

/// What products give: "to" says of to_float whether it is f32 or the sums, and is stated once.
void set_product(NodeContext& context, DType type, Dims dims) {
  const bool is_float = context.node.text(attr::requant, "float_even") == "to_float";
  if (is_float && !context.node.has(attr::to) && context.settled()) return;
  const DType to = is_float ? DType(context.node.integer(attr::to, int64_t(DType::kF32))) : type;
  if (is_float && to != DType::kF32 && to != DType::kI32)
    context.corrupt(std::string("it gives ") + dtype_text(to));
  context.set(0, to, std::move(dims));
  context.erase({attr::to});
}

void convolve_bytes(NodeContext& context) {
  const DType type = expect_numbers(context, 0);
  expect_image_bytes(context);
  const Dims x = context.dims(0), w = context.dims(1);
  const int64_t groups = context.node.integer(attr::groups, 1);
  if (groups < 1 || w.size() != 4 || w[3] * Dim(groups) != x[3])
    context.corrupt("its input has shape " + text(x) + ", its weights " + text(w) + " in " +
                    std::to_string(groups) + " groups");
  expect_constant(context, 1, DType::kI8,
                  {w[0], Dim(context.node.integer(attr::kernel_h, 1)),
                   Dim(context.node.integer(attr::kernel_w, 1)), w[3]});
  expect_channels(context, w[0]);
  set_product(context, type,
              {x[0], windows(context, x[1], kHeight), windows(context, x[2], kWidth), w[0]});
}

void multiply_bytes(NodeContext& context) {
  const DType type = expect_numbers(context, 0);
  Dims x = context.dims(0);
  const Dims w = context.dims(1);
  if (x.empty() || w.size() != 2 || w[1] != x.back())
    context.corrupt("its input has shape " + text(x) + ", its weights " + text(w));
  expect_constant(context, 1, DType::kI8, w);
  expect_channels(context, w[0]);
  x.back() = w[0];
  set_product(context, type, std::move(x));
}

/// Linear with quantized weights: x, w i8 [O,K], bias, residual, scales and zeros [O, blocks].
void multiply_quantized_weights(NodeContext& context) {
  if (context.dtype(0) != DType::kF32)
    context.corrupt(std::string("its input is ") + dtype_text(context.dtype(0)) + ", expected f32");
  Dims x = context.dims(0);
  const Dims w = context.dims(1);
  if (x.empty() || w.size() != 2 || w[1] != x.back())
    context.corrupt("its input has shape " + text(x) + ", its weights " + text(w));
  expect_constant(context, 1, DType::kI8, w);
  const int64_t k = w[1].value().value_or(0), block = context.node.integer(attr::block, 0);
  if (block < 0 || block % 8 != 0)
    context.corrupt("its blocks have " + std::to_string(block) + " weights, expected whole eights");
  const Dims scales = {w[0], Dim(block ? k / block + (k % block != 0) : 1)};
  expect_constant(context, 4, DType::kF32, scales);
  if (context.has(5)) expect_constant(context, 5, DType::kI8, scales);
  x.back() = w[0];
  context.set(0, DType::kF32, std::move(x));
}

/// [..., M, K] x [..., K, N], or [..., N, K] with trans_b.
void multiply_matrices_of_bytes(NodeContext& context) {
  for (const size_t input : {0, 1})
    if (context.dtype(input) != DType::kU8)
      context.corrupt(std::string("its input is ") + dtype_text(context.dtype(input)) +
                      ", expected u8");
  Dims a = context.dims(0);
  const Dims b = context.dims(1);
  if (a.size() < 2 || a.size() != b.size())
    context.corrupt("its inputs have shapes " + text(a) + " and " + text(b));
  a.back() = b[b.size() - (context.node.integer(attr::trans_b, 0) != 0 ? 2 : 1)];
  context.set(0, DType::kU8, std::move(a));
}

void look_up(NodeContext& context) {
  const DType type = expect_numbers(context, 0);
  expect_constant(context, 1, type, {Dim(type == DType::kI16 ? 65536 : 256)});
  context.set(0, type, context.dims(0));
}

void elementwise_bytes(NodeContext& context) {
  const DType type = expect_numbers(context, 0);
  if (expect_numbers(context, 1) != type) context.corrupt("its inputs are not of one type");
  context.set(0, type, broadcast(context, context.dims(0), context.dims(1)));
}

void pool_bytes(NodeContext& context) {
  const DType type = expect_numbers(context, 0);
  expect_image_bytes(context);
  const Dims x = context.dims(0);
  context.set(0, type,
              {x[0], windows(context, x[1], kHeight), windows(context, x[2], kWidth), x[3]});
}

void softmax_bytes(NodeContext& context) {
  expect_numbers(context, 0);
  if (context.rank(0) < 1) context.corrupt("its input has no dimensions");
  if (!context.node.has(attr::to) && context.settled()) return;
  const DType to = DType(context.node.integer(attr::to, int64_t(DType::kU8)));
  if (!is_quantized_type(to)) context.corrupt(std::string("it gives ") + dtype_text(to));
  context.set(0, to, context.dims(0));
  context.erase({attr::to});
}

}  // namespace

void add_quantized_rules(InferTable& table) {
  table[op::Quantize] = quantize_bytes;
  table[op::Dequantize] = dequantize_bytes;
  table[op::DynamicQuantize] = quantize_by_contents;
  table[op::OffsetByte] = offset_byte;
  table[op::QuantizedConv2d] = convolve_bytes;
  table[op::QuantizedLinear] = multiply_bytes;
  table[op::Linear] = multiply_quantized_weights;
  table[op::QuantizedMatMul] = multiply_matrices_of_bytes;
  table[op::Lookup] = look_up;
  table[op::QuantizedElementwise] = elementwise_bytes;
  table[op::QuantizedPool2d] = pool_bytes;
  table[op::QuantizedSoftmax] = softmax_bytes;
}

}  // namespace ingot::graph
