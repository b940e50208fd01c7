// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_quantized.cpp - operators on integers that stand for numbers: each
// becomes DequantizeLinear, the operator of floating point, and QuantizeLinear, which passes take
// to integer arithmetic again. Those of com.microsoft are what onnxruntime.quantization writes.
#include "tools/import/onnx/call.h"
#include "tools/import/onnx/scaled_sums.h"

namespace ingot::onnx {
namespace {

/// x, scale, zero point: three inputs from `first` on, as numbers.
ValueId numbers_of(Call& call, const char* name, ValueId x, ValueId scale, ValueId zero,
                   int64_t axis) {
  const ValueId y = call.temporary(name);
  graph::Node& made = call.emit(op::DequantizeLinear, {x, scale, zero}, {y});
  made.attributes[attr::axis] = axis;
  made.attributes[attr::block_size] = int64_t(0);
  return y;
}
ValueId operand(Call& call, const char* name, size_t first, int64_t axis = 0) {
  return numbers_of(call, name, call.input(first), call.input(first + 1), call.input(first + 2),
                    axis);
}
/// To output 0, with scale and zero point at `first`.
void give_bytes(Call& call, ValueId y, size_t first) {
  graph::Node& made = call.emit(op::QuantizeLinear, {y, call.input(first), call.input(first + 1)},
                                {call.output(0)});
  made.attributes[attr::axis] = int64_t(0);
  made.attributes[attr::block_size] = int64_t(0);
}
ValueId product_of(Call& call, ValueId a, ValueId b) {
  const ValueId y = call.temporary("scale");
  call.emit(op::Mul, {a, b}, {y});
  return y;
}
/// i32 on the steps of the products of both operands.
ValueId bias_of(Call& call, size_t bias, ValueId scale) {
  if (call.input(bias) == kAbsent) return kAbsent;
  return numbers_of(call, "bias", call.input(bias), scale, kAbsent, 0);
}
/// Of rank 2 + `spatial`: channels from the end to dimension 1, and back.
ValueId with_channels_first(Call& call, ValueId x, size_t spatial) {
  std::vector<int64_t> perm = {0, int64_t(spatial) + 1};
  for (size_t i = 1; i <= spatial; i++) perm.push_back(int64_t(i));
  const ValueId y = call.temporary("channels_first");
  call.emit(op::Transpose, {x}, {y}).attributes[attr::perm] = perm;
  return y;
}
ValueId with_channels_last(Call& call, ValueId x, size_t spatial) {
  std::vector<int64_t> perm = {0};
  for (size_t i = 2; i <= spatial + 1; i++) perm.push_back(int64_t(i));
  perm.push_back(1);
  const ValueId y = call.temporary("channels_last");
  call.emit(op::Transpose, {x}, {y}).attributes[attr::perm] = perm;
  return y;
}
/// Dimensions of the window of an operator with channels last; 0 where they are first.
size_t spatial_of_last(Call& call) {
  if (call.integer("channels_last", 0) == 0) return 0;
  const auto kernel = call.integers("kernel_shape");
  if (kernel && !kernel->empty()) return kernel->size();
  const graph::Constant* const weights = call.constant(3);
  if (weights && weights->dims.size() > 2) return weights->dims.size() - 2;
  call.refuse("channels_last", "without kernel_shape");
  return SIZE_MAX;
}

void qlinear_conv(Call& call) {
  const size_t last = call.node().domain == "com.microsoft" ? spatial_of_last(call) : 0;
  if (call.refused()) return;
  ValueId x = operand(call, "x", 0);
  if (last) x = with_channels_first(call, x, last);
  const ValueId w = operand(call, "w", 3), y = call.temporary("convolved");
  const ValueId bias = bias_of(call, 8, product_of(call, call.input(1), call.input(4)));
  graph::Node& made = call.emit(op::Conv, {x, w, bias}, {y});
  made.attributes[attr::group] = call.integer("group", 1);
  read_window(call, made);
  give_bytes(call, last ? with_channels_last(call, y, last) : y, 6);
}
void qlinear_matmul(Call& call) {
  const ValueId a = operand(call, "a", 0, -2), b = operand(call, "b", 3, -1),
                y = call.temporary("product");
  call.emit(op::MatMul, {a, b}, {y});
  give_bytes(call, y, 6);
}

void conv_integer(Call& call) {
  graph::Node& made = call.emit(op::ConvInteger);
  made.attributes[attr::group] = call.integer("group", 1);
  read_window(call, made);
}

// Of com.microsoft.

void binary(Call& call, graph::Operator op) {
  call.expect_inputs(7, 8);
  const ValueId a = operand(call, "a", 0), b = operand(call, "b", 3), y = call.temporary(text(op));
  call.emit(op, {a, b}, {y});
  give_bytes(call, y, 6);
}
void qlinear_add(Call& call) { binary(call, op::Add); }
void qlinear_mul(Call& call) { binary(call, op::Mul); }

/// The node of floating point between x (inputs 0 to 2) and y (3 and 4), with these attributes.
void unary(Call& call, graph::Operator op, graph::Attributes attributes = {}) {
  call.expect_inputs(4, 5);
  const ValueId x = operand(call, "x", 0), y = call.temporary(text(op));
  call.emit(op, {x}, {y}).attributes = std::move(attributes);
  give_bytes(call, y, 3);
}
void qlinear_average_pool(Call& call) {
  const size_t last = spatial_of_last(call);
  if (call.refused()) return;
  ValueId x = operand(call, "x", 0);
  if (last) x = with_channels_first(call, x, last);
  const ValueId y = call.temporary("averages");
  graph::Node& made = call.emit(op::AveragePool, {x}, {y});
  made.attributes[attr::ceil_mode] = call.integer("ceil_mode", 0);
  made.attributes[attr::count_include_pad] = call.integer("count_include_pad", 0);
  read_window(call, made);
  give_bytes(call, last ? with_channels_last(call, y, last) : y, 3);
}
void qlinear_global_average_pool(Call& call) {
  const int64_t last = call.integer("channels_last", 0);
  unary(call, op::GlobalAveragePool, {{attr::channels_last, last}});
}
void qlinear_mean(Call& call) {
  const auto axes = call.integers("axes");
  const int64_t keepdims = call.integer("keepdims", 1);
  if (!axes) return unary(call, op::ReduceMean, {{attr::keepdims, keepdims}});
  unary(call, op::ReduceMean, {{attr::axes, *axes}, {attr::keepdims, keepdims}});
}
/// condition, x, y, each with scale and zero point, and those of the result.
void qlinear_where(Call& call) {
  const ValueId x = operand(call, "x", 1), y = operand(call, "y", 4), z = call.temporary("chosen");
  call.emit(op::Where, {call.input(0), x, y}, {z});
  give_bytes(call, z, 7);
}
/// Of bytes as they are.
void nhwc_max_pool(Call& call) {
  const auto kernel = call.integers("kernel_shape");
  if (!kernel || kernel->empty()) return call.refuse("kernel_shape", "is missing");
  const ValueId y = call.temporary("largest");
  graph::Node& made =
      call.emit(op::MaxPool, {with_channels_first(call, call.input(0), kernel->size())}, {y});
  made.attributes[attr::ceil_mode] = call.integer("ceil_mode", 0);
  read_window(call, made);
  std::vector<int64_t> perm = {0};
  for (size_t i = 2; i <= kernel->size() + 1; i++) perm.push_back(int64_t(i));
  perm.push_back(1);
  call.emit(op::Transpose, {y}, {call.output(0)}).attributes[attr::perm] = perm;
}
void qlinear_sigmoid(Call& call) { unary(call, op::Sigmoid); }
void qlinear_leaky_relu(Call& call) {
  const double alpha = call.number("alpha", 0.01);
  unary(call, op::LeakyRelu, {{attr::alpha, alpha}});
}
void qlinear_softmax(Call& call) {
  const int64_t axis = call.integer("axis", -1), opset = call.integer("opset", 13);
  if (opset < 13) return call.refuse("opset", "softmax over several dimensions at once");
  unary(call, op::Softmax, {{attr::axis, axis}});
}
void qlinear_concat(Call& call) {
  if (call.input_count() % 3 != 2)
    call.translator().corrupt(describe(call.node()) + ": has " +
                              std::to_string(call.input_count()) +
                              " inputs, expected two and three for each part");
  std::vector<ValueId> parts;
  for (size_t i = 2; i < call.input_count(); i += 3) parts.push_back(operand(call, "part", i));
  const ValueId y = call.temporary("concatenated");
  call.emit(op::Concat, parts, {y}).attributes[attr::axis] = call.integer("axis", 0);
  give_bytes(call, y, 0);
}
void qgemm(Call& call) {
  const double alpha = call.number("alpha", 1);
  const bool transposed = call.integer("transB", 0) != 0;
  const ValueId a = operand(call, "a", 0), b = operand(call, "b", 3, transposed ? 0 : 1);
  ValueId scale = product_of(call, call.input(1), call.input(4));
  if (alpha != 1) {
    const float by = float(alpha);
    scale = product_of(
        call, scale,
        call.translator().model.add_constant("alpha", graph::make_constant(DType::kF32, {}, &by)));
  }
  const ValueId bias = bias_of(call, 6, scale);
  const bool is_float = call.input(7) == kAbsent;
  const ValueId y = is_float ? call.output(0) : call.temporary("product");
  graph::Node& made = call.emit(op::Gemm, {a, b, bias}, {y});
  made.attributes[attr::alpha] = alpha, made.attributes[attr::beta] = 1.0;
  made.attributes[attr::transA] = int64_t(call.integer("transA", 0) != 0);
  made.attributes[attr::transB] = int64_t(transposed);
  if (!is_float) give_bytes(call, y, 7);
}

void matmul_integer_to_float(Call& call) {
  emit_scaled_sums(call, {call.input(0), call.input(1), call.input(4), call.input(5)},
                   call.input(2), call.input(3), call.input(6), call.output(0));
}
void dynamic_quantize_matmul(Call& call) {
  const ValueId bytes = call.temporary("bytes"), scale = call.temporary("scale"),
                zero = call.temporary("zero");
  call.emit(op::DynamicQuantizeLinear, {call.input(0)}, {bytes, scale, zero});
  emit_scaled_sums(call, {bytes, call.input(1), zero, call.input(3)}, scale, call.input(2),
                   call.input(4), call.output(0));
}

}  // namespace

void emit_scaled_sums(Call& call, const std::vector<ValueId>& integers, ValueId a_scale,
                      ValueId b_scale, ValueId bias, ValueId y) {
  const ValueId sums = call.temporary("sums"), numbers = call.temporary("numbers"),
                scale = product_of(call, a_scale, b_scale),
                scaled = bias == kAbsent ? y : call.temporary("product");
  call.emit(op::MatMulInteger, integers, {sums});
  call.emit(op::Cast, {sums}, {numbers}).attributes[attr::to] = int64_t(DType::kF32);
  call.emit(op::Mul, {numbers, scale}, {scaled});
  if (bias != kAbsent) call.emit(op::Add, {scaled, bias}, {y});
}

void add_quantized(TranslateTable& table) {
  table["QLinearConv"] = {8, 9, qlinear_conv};
  table["QLinearMatMul"] = {8, 8, qlinear_matmul};
  table["ConvInteger"] = {2, 4, conv_integer};
}

const TranslateTable& microsoft_table() {
  static const TranslateTable kTable = [] {
    TranslateTable table;
    add_quantize(table);
    table["QLinearConv"] = {8, 9, qlinear_conv};
    table["QLinearAdd"] = qlinear_add;
    table["QLinearMul"] = qlinear_mul;
    table["QLinearAveragePool"] = {4, 5, qlinear_average_pool};
    table["QLinearGlobalAveragePool"] = qlinear_global_average_pool;
    table["QLinearReduceMean"] = qlinear_mean;
    table["QLinearWhere"] = {9, 9, qlinear_where};
    table["NhwcMaxPool"] = {1, 1, nhwc_max_pool};
    table["QLinearSigmoid"] = qlinear_sigmoid;
    table["QLinearLeakyRelu"] = qlinear_leaky_relu;
    table["QLinearSoftmax"] = qlinear_softmax;
    table["QLinearConcat"] = {5, SIZE_MAX, qlinear_concat};
    table["QGemm"] = {6, 9, qgemm};
    table["MatMulIntegerToFloat"] = {4, 7, matmul_integer_to_float};
    table["DynamicQuantizeMatMul"] = {3, 5, dynamic_quantize_matmul};
    add_contrib(table);
    add_declared_contrib(table);
    add_grid_sample(table);
    add_quantized_attention(table);
    add_quantized_recurrent(table);
    add_block_weights(table);
    return table;
  }();
  return kTable;
}

}  // namespace ingot::onnx
