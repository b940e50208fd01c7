// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/quantized/quantized_maps_plan.cpp - Quantize, Dequantize, Lookup,
// QuantizedElementwise, QuantizedPool2d, QuantizedSoftmax.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/quantized/quantized_params.h"
#include "runtime/op/lookup.h"
#include "runtime/op/quantize.h"

namespace ingot::cuda {
namespace {

Status plan_map(const GpuWork& work, QuantizedMapParams p) {
  const TensorView &x = work.arguments->inputs[0], &y = work.arguments->outputs[0];
  p.count = y.elements();
  if (p.count == 0) return {};
  p.x = x.data, p.y = y.data;
  p.x_type = x.dtype, p.y_type = y.dtype;
  p.columns = fast_divisor(y.rank ? int64_t(y.dims[y.rank - 1]) : 1);
  p.x_row = x.row_stride, p.y_row = y.row_stride;
  return launch(work, KernelId::quantized_map, blocks_for(p.count, 256, work.traits), p);
}

Status plan_quantize(const GpuWork& work) {
  const QuantizeAttributes& t = work.arguments->as<QuantizeAttributes>();
  const DType type = work.arguments->outputs[0].dtype;
  QuantizedMapParams p = {};
  p.map = QuantizedMap::kQuantize;
  p.scale = t.reciprocal ? 1.0f / t.scale : t.scale;
  p.reciprocal = t.reciprocal, p.away = t.rounding == QuantizeRounding::kAway;
  p.zero = t.zero_point;
  const bool wide = type == DType::kI16 || type == DType::kU16;
  const int32_t low = type == DType::kI8 ? -128 : type == DType::kI16 ? -32768 : 0;
  p.low = float(low - t.zero_point), p.high = float(low + (wide ? 65535 : 255) - t.zero_point);
  if (type == DType::kI32) p.low = -2147483520.0f, p.high = 2147483520.0f;
  return plan_map(work, p);
}

Status plan_dequantize(const GpuWork& work) {
  const DequantizeAttributes& t = work.arguments->as<DequantizeAttributes>();
  QuantizedMapParams p = {};
  p.map = QuantizedMap::kDequantize, p.scale = t.scale, p.zero = t.zero_point;
  return plan_map(work, p);
}

Status plan_lookup(const GpuWork& work) {
  QuantizedMapParams p = {};
  p.map = QuantizedMap::kLookup, p.table = work.arguments->inputs[1].data;
  return plan_map(work, p);
}

/// Elements between neighbours of y's dimension `d` in x, which broadcasts to y; 0: it repeats.
int64_t broadcast_stride(const TensorView& x, const TensorView& y, int d) {
  const int own = d - (y.rank - x.rank);
  if (own < 0 || x.dims[own] == 1) return 0;
  if (own == x.rank - 1) return 1;
  int64_t stride = x.row_stride;
  for (int i = own + 1; i + 1 < x.rank; i++) stride *= x.dims[i];
  return stride;
}

Status plan_binary(const GpuWork& work) {
  const TensorView &a = work.arguments->inputs[0], &b = work.arguments->inputs[1],
                   &y = work.arguments->outputs[0];
  QuantizedBinaryParams p = {};
  p.count = y.elements();
  if (p.count == 0) return {};
  p.a = a.data, p.b = b.data, p.y = y.data;
  p.rank = y.rank;
  for (int d = 0; d < y.rank; d++) {
    p.dims[d] = fast_divisor(y.dims[d]);
    p.a_strides[d] = broadcast_stride(a, y, d), p.b_strides[d] = broadcast_stride(b, y, d);
    p.y_strides[d] = broadcast_stride(y, y, d);
  }
  p.words = y.dtype == DType::kI16;
  p.t = work.arguments->as<QuantizedElementwiseAttributes>();
  return launch(work, KernelId::quantized_binary, blocks_for(p.count, 256, work.traits), p);
}

Status plan_pool(const GpuWork& work) {
  const TensorView &x = work.arguments->inputs[0], &y = work.arguments->outputs[0];
  QuantizedPoolParams p = {};
  p.count = y.elements();
  if (p.count == 0) return {};
  p.x = x.data, p.y = y.data;
  p.channels = fast_divisor(y.dims[3]), p.width = fast_divisor(y.dims[2]),
  p.height = fast_divisor(y.dims[1]);
  p.in_h = x.dims[1], p.in_w = x.dims[2];
  p.x_pixel = x.row_stride, p.y_pixel = y.row_stride;
  p.words = x.dtype == DType::kI16;
  p.t = work.arguments->as<QuantizedPool2dAttributes>();
  return launch(work, KernelId::quantized_pool2d, blocks_for(p.count, 128, work.traits), p);
}

Status plan_softmax(const GpuWork& work) {
  const QuantizedSoftmaxAttributes& t = work.arguments->as<QuantizedSoftmaxAttributes>();
  const TensorView &x = work.arguments->inputs[0], &table = work.arguments->inputs[1],
                   &y = work.arguments->outputs[0];
  if (x.elements() == 0) return {};
  QuantizedSoftmaxParams p = {};
  p.x = x.data, p.table = table.data, p.y = y.data;
  p.rows = x.rows(), p.n = x.row_length(), p.x_row = x.row_stride, p.y_row = y.row_stride;
  p.words = x.dtype == DType::kI16, p.most = int32_t(quantized::most_number(x.dtype));
  p.is_real = table.dtype == DType::kF32, p.y_words = y.dtype == DType::kI16;
  p.y_zero = t.y_zero, p.add_half = t.add_half, p.scale = t.scale;
  return launch(work, KernelId::quantized_softmax, blocks_for(p.rows * 32, 128, work.traits), p);
}

constexpr GpuKernelEntry kQuantizedMapTable[] = {
    {OpCode::kQuantize, "quantize", nullptr, nullptr, plan_quantize},
    {OpCode::kDequantize, "dequantize", nullptr, nullptr, plan_dequantize},
    {OpCode::kLookup, "lookup", nullptr, nullptr, plan_lookup},
    {OpCode::kQuantizedElementwise, "quantized_elementwise", nullptr, nullptr, plan_binary},
    {OpCode::kQuantizedPool2d, "quantized_pool2d", nullptr, nullptr, plan_pool},
    {OpCode::kQuantizedSoftmax, "quantized_softmax", nullptr, nullptr, plan_softmax}};

}  // namespace

const Span<const GpuKernelEntry> kQuantizedMapRows = Span<const GpuKernelEntry>(kQuantizedMapTable);

}  // namespace ingot::cuda
