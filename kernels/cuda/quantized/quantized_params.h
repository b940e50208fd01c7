// kernels/cuda/quantized/quantized_params.h - operators of integers. Strides in elements.
#pragma once
#include "kernels/cuda/device/fast_divide.h"
#include "runtime/op/quantized_conv2d.h"
#include "runtime/op/quantized_elementwise.h"
#include "runtime/op/quantized_matmul.h"
#include "runtime/op/quantized_pool2d.h"

namespace ingot::cuda {

enum class QuantizedMap : int32_t { kQuantize = 0, kDequantize = 1, kLookup = 2 };
/// Quantize, Dequantize, Lookup: element by element of rows.
struct QuantizedMapParams {
  const void* x;
  void* y;
  const void* table;  // kLookup
  int64_t count;
  FastDivisor columns;
  int64_t x_row, y_row;
  QuantizedMap map;
  DType x_type, y_type;
  float scale, low, high;  // low and high are less the zero point
  int32_t zero;
  int32_t away, reciprocal;  // ties; `scale` is 1 / scale
};

/// Of two tensors that broadcast; strides of 0 repeat.
struct QuantizedBinaryParams {
  const void *a, *b;
  void* y;
  int64_t count;
  int64_t rank;
  FastDivisor dims[kMaxRank];
  int64_t a_strides[kMaxRank], b_strides[kMaxRank], y_strides[kMaxRank];
  int64_t words;  // 1: i16
  QuantizedElementwiseAttributes t;
};

struct QuantizedPoolParams {
  const void* x;
  void* y;
  int64_t count;
  FastDivisor channels, width, height;  // of y
  int64_t in_h, in_w;
  int64_t x_pixel, y_pixel;
  int64_t words;  // 1: i16
  QuantizedPool2dAttributes t;
};

/// A convolution, or a product as one of 1x1 over rows. One output a thread.
struct QuantizedProductParams {
  const void* x;
  const int8_t* w;
  void* y;
  const int32_t* rows[quantized::kMaxChannelRows];  // by output channel; null: there is none
  const float* steps;                               // kToFloat: scale and zero point of x
  int64_t count;
  FastDivisor outputs, width, height;      // of y
  FastDivisor group_outputs, step_images;  // outputs of a group; images that share a step
  int64_t in_h, in_w, depth;               // of x; channels of a group
  int64_t x_pixel, y_pixel;
  int64_t runs, length;  // of a weight: runs of bytes
  int64_t is_whole;      // kToFloat: y is i32
  Packing packing;
  int32_t in_fours;  // x and w are read in words of four channels
  QuantizedConv2dAttributes t;
};

/// a [batch, m, k] by b [batch, k, n], of trans_b [batch, n, k].
struct QuantizedMatMulParams {
  const uint8_t *a, *b;
  uint8_t* y;
  int64_t count;
  FastDivisor n, m;
  int64_t k;
  int64_t a_row, b_row, y_row;
  QuantizedMatMulAttributes t;
};

}  // namespace ingot::cuda
