// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/quantization.h - bytes that stand for numbers: what a tensor says of itself,
// and the numbers in which LiteRT computes with it. By default LiteRT runs XNNPACK, and its own
// kernels where XNNPACK takes an operator for floats alone; each function says whose it is.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tools/import/tflite/model_file.h"

namespace ingot::tflite {

/// Of a tensor of int8 or uint8: real = scale * (byte - zero). In the graph a byte is unsigned:
/// what is signed in the file has 128 added, and so has its zero. Of int16 the graph has the number
/// of the file; 32768 is added to the zero, as operators have it (runtime/op/requantize.h).
struct QuantParams {
  float scale = 1;
  int32_t zero = 0;
  bool is_signed = false;
  bool is_int16 = false;
  int32_t offset() const { return is_int16 ? 32768 : is_signed ? 128 : 0; }
  int32_t most() const { return is_int16 ? 65535 : 255; }
  int32_t source_zero() const { return zero - offset(); }
  friend bool operator==(const QuantParams& a, const QuantParams& b) {
    return a.scale == b.scale && a.zero == b.zero && a.is_signed == b.is_signed &&
           a.is_int16 == b.is_int16;
  }
};
/// None of another type, and of scales of channels.
std::optional<QuantParams> quant_params_of(const ModelFile& file, const fb::Tensor& tensor);
/// The same of int16 with one scale and no zero point.
std::optional<QuantParams> int16_quant_params_of(const ModelFile& file, const fb::Tensor& tensor);
bool is_int16_type(const fb::Tensor& tensor);  // int16 with a scale
/// int8 or uint8 with a scale.
bool is_int8_type(const fb::Tensor& tensor);
bool is_int4_type(const fb::Tensor& tensor);  // int4, uint4

/// Elements of a quantized constant as they are in the file; int4 and uint4 widened.
/// @throws graph::ConversionError(kCorrupt) where its bytes do not fit its shape.
std::vector<int32_t> read_integers(const ModelFile& file, const fb::Tensor& tensor,
                                   const std::string& name);
/// A constant of bytes with one scale, as u8 (QuantParams).
graph::Constant read_bytes(const ModelFile& file, const fb::Tensor& tensor,
                           const std::string& name);
/// The numbers they stand for: scale * (element - zero).
std::vector<float> read_dequantized(const ModelFile& file, const fb::Tensor& tensor,
                                    const std::string& name);
/// Elements of which each block along the last dimension has a scale and a zero point of its own.
struct BlockIntegers {
  std::vector<int32_t> integers;
  std::vector<double> scales, zeros;  // of each block
  int64_t block = 0;
};
/// What they are are tensors of `graph`. @throws graph::ConversionError(kCorrupt) where they do not
/// fit.
BlockIntegers read_block_integers(const ModelFile& file, const fb::SubGraph& graph,
                                  const fb::Tensor& tensor, const std::string& name);
/// The numbers they stand for.
std::vector<float> read_blocks(const ModelFile& file, const fb::SubGraph& graph,
                               const fb::Tensor& tensor, const std::string& name);

/// Numbers of an operator between which a fused function limits a result.
struct Limits {
  int64_t low = 0, high = 255;
};
/// What a fused activation leaves, as numbers; none for one that is no limit.
struct RealRange {
  float low, high;
};
std::optional<RealRange> range_of_activation(int64_t function);
Limits limits_of_xnnpack(const RealRange& range, const QuantParams& y);
Limits limits_of_kernels(const RealRange& range, const QuantParams& y);

/// A multiplier of 31 bits and a shift that goes left, as TFLite's kernels have it.
struct FixedPoint {
  int32_t multiplier = 0;
  int shift = 0;
};
FixedPoint fixed_point(double real);
/// x * multiplier * 2^shift, rounded twice; the second time ties go away from zero, or up.
int32_t multiplied(int32_t x, const FixedPoint& by, bool ties_up = false);
/// The nearest x / 2^bits, ties away from zero.
int32_t divided(int32_t x, int bits);

/// y as a number of the graph for every number of x, of int16.
using Int16Table = std::vector<int16_t>;
Int16Table int16_table_of(const std::function<int64_t(int32_t)>& of);

/// y as a byte of the graph for every byte of x; `of` takes and gives what the file means, and what
/// it gives is limited to what y holds.
using Table = std::array<uint8_t, 256>;
Table table_of(const QuantParams& x, const QuantParams& y,
               const std::function<int32_t(int32_t)>& of);
/// By a function of real numbers, as XNNPACK and as TFLite's kernels make their tables.
Table table_of_xnnpack(const QuantParams& x, const QuantParams& y,
                       const std::function<float(float)>& of);
Table table_of_kernels(const QuantParams& x, const QuantParams& y,
                       const std::function<float(float)>& of);
/// GELU as LiteRT's kernels compute it in f32; the other by tanh.
float exact_gelu(float x);
float approximate_gelu(float x);
/// To another scale and zero point: XNNPACK's where it takes them, else LiteRT's own kernels'.
Table table_of_rescaling(const QuantParams& x, const QuantParams& y, bool xnnpack);

}  // namespace ingot::tflite
