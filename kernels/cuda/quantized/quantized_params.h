// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/quantized/quantized_params.h - operators of integers. Strides in elements.
#pragma once
#include "kernels/cuda/device/fast_divide.h"
#include "kernels/cuda/tensorcore/tensorcore_params.h"
#include "runtime/op/quantized_conv2d.h"
#include "runtime/op/quantized_elementwise.h"
#include "runtime/op/quantized_matmul.h"
#include "runtime/op/quantized_pool2d.h"
#include "runtime/op/quantized_softmax.h"

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

/// What becomes of the sums of a product.
struct QuantizedFinish {
  void* y;
  int64_t y_pixel;
  const int32_t* rows[quantized::kMaxChannelRows];  // by output channel; null: there is none
  const float* steps;                               // kToFloat: scale and zero point of x
  FastDivisor step_images;                          // images that share a step
  int32_t w_zero;
  uint32_t y_zero, low, high;
  int32_t is_whole;  // kToFloat: y is i32
  int32_t in_fours;  // y of u8 is written in words of four channels
  RequantMode requant;
};

/// A convolution, or a product as one of 1x1 over rows. One output a thread.
struct QuantizedProductParams {
  const void* x;
  const int8_t* w;
  int64_t count;
  FastDivisor outputs, width, height;  // of y
  FastDivisor group_outputs;
  int64_t in_h, in_w, depth;  // of x; channels of a group
  int64_t x_pixel;
  int64_t runs, length;  // of a weight: runs of bytes
  Packing packing;
  int32_t in_fours;  // x and w are read in words of four channels
  QuantizedConv2dAttributes t;
  QuantizedFinish finish;
};

/// One filter a channel, of bytes and channels in fours. Four channels of some pixels a thread.
constexpr int kDepthwisePixels = 4;
struct QuantizedDepthwiseParams {
  const uint8_t* x;
  const int8_t* w;
  int64_t count;
  FastDivisor quads, across, height;  // of channels; threads in a row of y; rows of y
  int64_t width;                      // of y
  int64_t in_h, in_w, x_pixel, tap_stride;
  uint32_t border;  // a word of what lies outside of an image; with steps each image's zero
  QuantizedConv2dAttributes t;
  QuantizedFinish finish;
};

/// A product on tensor cores, of bytes and panels16x4. The product's lengths count words of four
/// bytes; its y and what belongs to that are not used.
struct QuantizedTileParams : ProductParams {
  QuantizedFinish finish;
  FastDivisor plane;       // pixels of an image of y
  uint32_t border;         // a word of what lies outside of an image; with steps each image's zero
  int32_t counts_numbers;  // the sums of x alone are needed
  // Read byte by byte: runs of bytes in a weight, each rounded up to words; channels of x; whether
  // a run is a row of the window (else one tap), and whether x is read in words of four channels.
  int32_t runs, run_bytes, run_words;
  FastDivisor depth;
  int32_t by_row, in_words;
};

/// Rows of n numbers.
struct QuantizedSoftmaxParams {
  const void* x;
  const void* table;
  void* y;
  int64_t rows, n, x_row, y_row;
  int32_t words;    // x is of i16
  int32_t most;     // the largest number of x's type, as load_quantized() counts
  int32_t is_real;  // the table is f32
  int32_t y_words;  // y is of i16
  int32_t y_zero, add_half;
  float scale;
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
