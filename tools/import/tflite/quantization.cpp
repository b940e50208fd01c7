// SPDX-License-Identifier: Apache-2.0
#include "tools/import/tflite/quantization.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"

namespace ingot::tflite {
namespace {

/// Two elements a byte, the first in the low half.
std::vector<int32_t> read_int4(const ModelFile& file, const fb::Tensor& t,
                               const std::string& name) {
  uint64_t count = 1;
  for (const int64_t d : ModelFile::shape(t))
    if (d < 0 || __builtin_mul_overflow(count, uint64_t(d), &count))
      file.corrupt("tensor '" + name + "': its size overflows");
  const ModelFile::Bytes bytes = file.bytes(t);
  if (t.sparsity() || bytes.size != count / 2 + count % 2)
    file.corrupt("tensor '" + name + "' has " + std::to_string(bytes.size) +
                 " bytes, its shape says " + std::to_string(count / 2 + count % 2));
  host::charge_work(count);
  host::charge_memory(4 * count);
  const bool is_signed = t.type() == fb::TensorType::int4;
  std::vector<int32_t> out;
  out.reserve(size_t(count));
  for (uint64_t i = 0; i < count; i++) {
    const int32_t half = bytes.data[i / 2] >> (i % 2 ? 4 : 0) & 15;
    out.push_back(is_signed && half > 7 ? half - 16 : half);
  }
  return out;
}

}  // namespace

bool is_int4_type(const fb::Tensor& t) {
  return t.type() == fb::TensorType::int4 || t.type() == fb::TensorType::uint4;
}
bool is_int8_type(const fb::Tensor& t) {
  return ModelFile::is_quantized(t) &&
         (t.type() == fb::TensorType::int8 || t.type() == fb::TensorType::uint8);
}

std::optional<QuantParams> quant_params_of(const ModelFile& file, const fb::Tensor& t) {
  if (!is_int8_type(t)) return std::nullopt;
  const TensorQuantization q = file.quantization(t);
  if (q.is_blockwise || q.scales.size() != 1) return std::nullopt;
  const bool is_signed = t.type() == fb::TensorType::int8;
  return QuantParams{q.scales[0], int32_t(q.zero_points[0]) + (is_signed ? 128 : 0), is_signed};
}

bool is_int16_type(const fb::Tensor& t) {
  return ModelFile::is_quantized(t) && t.type() == fb::TensorType::int16;
}
std::optional<QuantParams> int16_quant_params_of(const ModelFile& file, const fb::Tensor& t) {
  if (!is_int16_type(t)) return std::nullopt;
  const TensorQuantization q = file.quantization(t);
  if (q.is_blockwise || q.scales.size() != 1 || q.zero_points[0] != 0) return std::nullopt;
  return QuantParams{q.scales[0], 32768, true, true};
}

std::vector<int32_t> read_integers(const ModelFile& file, const fb::Tensor& t,
                                   const std::string& name) {
  if (is_int4_type(t)) return read_int4(file, t, name);
  std::vector<int32_t> out;
  for (const int64_t n : graph::read_integers(read_constant(file, t, name)))
    out.push_back(int32_t(std::clamp<int64_t>(n, INT32_MIN, INT32_MAX)));
  host::charge_memory(4 * out.size());
  return out;
}

graph::Constant read_bytes(const ModelFile& file, const fb::Tensor& t, const std::string& name) {
  graph::Constant constant = read_constant(file, t, name);
  if (t.type() != fb::TensorType::int8) return constant;
  host::charge_memory(uint64_t(constant.elements()));
  std::vector<uint8_t> bytes;
  if (constant.bytes) bytes = *constant.bytes;
  for (uint8_t& each : bytes) each ^= 0x80;
  return graph::make_constant(DType::kU8, constant.dims, bytes.data());
}

std::vector<float> read_dequantized(const ModelFile& file, const fb::Tensor& t,
                                    const std::string& name) {
  const TensorQuantization q = file.quantization(t);
  const std::vector<int32_t> integers = read_integers(file, t, name);
  const std::vector<int64_t> dims = ModelFile::shape(t);
  uint64_t inner = 1;
  for (size_t d = size_t(q.axis) + 1; d < dims.size(); d++) inner *= uint64_t(dims[d]);
  const size_t channels = q.scales.size();
  std::vector<float> out;
  out.reserve(integers.size());
  host::charge_memory(4 * integers.size());
  for (size_t i = 0; i < integers.size(); i++) {
    const size_t c = channels > 1 ? i / std::max<size_t>(size_t(inner), 1) % channels : 0;
    out.push_back(q.scales[c] * float(int64_t(integers[i]) - q.zero_points[c]));
  }
  return out;
}

BlockIntegers read_block_integers(const ModelFile& file, const fb::SubGraph& graph,
                                  const fb::Tensor& t, const std::string& name) {
  const fb::BlockwiseQuantization* q = t.quantization()->details_as_BlockwiseQuantization();
  const std::vector<int64_t> dims = ModelFile::shape(t);
  const std::string where = "tensor '" + name + "'";
  if (!q) file.corrupt(where + " is quantized by blocks, which it does not describe");
  const int64_t block = q->block_size(), last = dims.empty() ? 0 : dims.back();
  std::vector<int32_t> integers = read_integers(file, t, name);
  if (block < 1 || last < 1 || last % block != 0)
    file.corrupt(where + " has blocks of " + std::to_string(block) + " in rows of " +
                 std::to_string(last));
  const auto numbers = [&](int64_t index, const char* what) {
    const std::string of = std::string(what) + " of " + where;
    const std::vector<double> all =
        graph::read_numbers(read_constant(file, file.tensor(graph, index), of));
    if (all.size() * uint64_t(block) != integers.size())
      file.corrupt(of + " are " + std::to_string(all.size()) + ", expected " +
                   std::to_string(integers.size() / uint64_t(block)));
    return all;
  };
  // 0, the first tensor, is what stands there where there are none
  const bool has_zeros =
      q->zero_points() > 0 ||
      (q->zero_points() == 0 && file.bytes(file.tensor(graph, 0)).is_there && q->scales() != 0);
  BlockIntegers out;
  out.scales = numbers(q->scales(), "the scales");
  out.zeros = has_zeros ? numbers(q->zero_points(), "the zero points")
                        : std::vector<double>(out.scales.size(), 0);
  out.block = block, out.integers = std::move(integers);
  return out;
}

std::vector<float> read_blocks(const ModelFile& file, const fb::SubGraph& graph,
                               const fb::Tensor& t, const std::string& name) {
  const BlockIntegers blocks = read_block_integers(file, graph, t, name);
  host::charge_memory(4 * blocks.integers.size());
  std::vector<float> out;
  out.reserve(blocks.integers.size());
  for (size_t i = 0; i < blocks.integers.size(); i++) {
    const size_t of = i / size_t(blocks.block);
    out.push_back(float(blocks.scales[of]) * float(double(blocks.integers[i]) - blocks.zeros[of]));
  }
  return out;
}

std::optional<RealRange> range_of_activation(int64_t function) {
  constexpr float kNone = std::numeric_limits<float>::infinity();
  switch (function) {
    case 0: return RealRange{-kNone, kNone};
    case 1: return RealRange{0, kNone};
    case 2: return RealRange{-1, 1};
    case 3: return RealRange{0, 6};
    default: return std::nullopt;
  }
}

Limits limits_of_xnnpack(const RealRange& range, const QuantParams& y) {
  const auto step = [&](float real) {
    const float least = y.is_signed ? -128.0f : 0, most = y.is_signed ? 127.0f : 255;
    const float steps = real / y.scale + float(y.source_zero());
    return int64_t(std::nearbyint(std::min(std::max(steps, least), most))) + y.offset();
  };
  return {step(range.low), step(range.high)};
}
Limits limits_of_kernels(const RealRange& range, const QuantParams& y) {
  const auto step = [&](float real) {
    const double steps = double(std::round(real / y.scale)) + y.zero;
    return int64_t(std::clamp(steps, 0.0, double(y.most())));
  };
  return {step(range.low), step(range.high)};
}

FixedPoint fixed_point(double real) {
  if (real == 0 || std::isnan(real)) return {};
  if (std::isinf(real)) return {INT32_MAX, 30};
  int shift = 0;
  int64_t bits = int64_t(std::round(std::frexp(real, &shift) * double(int64_t{1} << 31)));
  if (bits == int64_t{1} << 31) bits /= 2, shift++;
  if (shift < -31) return {};
  if (shift > 30) return {INT32_MAX, 30};
  return {int32_t(bits), shift};
}
int32_t divided(int32_t x, int bits) {
  if (bits <= 0) return x;
  if (bits > 32) return 0;
  const int64_t half = int64_t{1} << (bits - 1), n = x;
  return int32_t(n < 0 ? -((-n + half) >> bits) : (n + half) >> bits);
}
int32_t multiplied(int32_t x, const FixedPoint& by, bool ties_up) {
  const int64_t left = int64_t(x) * (int64_t{1} << std::max(by.shift, 0));
  const int64_t wide = int64_t(int32_t(uint32_t(uint64_t(left)))) * by.multiplier;
  // the quotient goes toward zero, so half is added on the side of the product
  const int64_t half = wide < 0 ? 1 - (int64_t{1} << 30) : int64_t{1} << 30;
  const int32_t high = int32_t((wide + half) / (int64_t{1} << 31));
  const int right = std::max(-by.shift, 0);
  if (!ties_up || right == 0) return divided(high, right);
  return int32_t((int64_t(high) + (int64_t{1} << (right - 1))) >> right);
}

Table table_of(const QuantParams& x, const QuantParams& y,
               const std::function<int32_t(int32_t)>& of) {
  Table table{};
  for (int32_t i = 0; i < 256; i++)
    table[size_t(i)] =
        uint8_t(std::clamp<int64_t>(int64_t(of(i - x.offset())) + y.offset(), 0, 255));
  return table;
}
Int16Table int16_table_of(const std::function<int64_t(int32_t)>& of) {
  host::charge_memory(2u << 16);
  Int16Table table;
  for (int32_t x = INT16_MIN; x <= INT16_MAX; x++)
    table.push_back(int16_t(std::clamp<int64_t>(of(x), INT16_MIN, INT16_MAX)));
  return table;
}
namespace {

/// NaN is `nothing`; what leaves the range of whole numbers is at its end.
int32_t whole(float x, int32_t nothing) {
  if (std::isnan(x)) return nothing;
  return int32_t(std::clamp(x, -1e6f, 1e6f));
}

}  // namespace

Table table_of_xnnpack(const QuantParams& x, const QuantParams& y,
                       const std::function<float(float)>& of) {
  const float inverse = 1.0f / y.scale;
  return table_of(x, y, [&](int32_t step) {
    const float real = (float(step) - float(x.source_zero())) * x.scale;
    return whole(std::nearbyint(of(real) * inverse + float(y.source_zero())), 0);
  });
}
Table table_of_kernels(const QuantParams& x, const QuantParams& y,
                       const std::function<float(float)>& of) {
  const float inverse = 1 / y.scale;
  return table_of(x, y, [&](int32_t step) {
    const float real = x.scale * float(step - x.source_zero());
    return whole(std::round(of(real) * inverse) + float(y.source_zero()), 0);
  });
}

Table table_of_rescaling(const QuantParams& x, const QuantParams& y, bool xnnpack) {
  const float ratio = x.scale / y.scale;
  // XNNPACK's, of one type and of ratios that 16 bits hold; else TFLite's own.
  if (xnnpack && x.is_signed == y.is_signed && ratio >= 1.0f / 256 && ratio <= 128) {
    const int32_t multiplier = int32_t(std::nearbyint(256.0f * ratio));
    return table_of(x, y, [&](int32_t step) {
      return (y.source_zero() * 256 + (step - x.source_zero()) * multiplier + 128) >> 8;
    });
  }
  // That takes 16 elements at a time with ties up; it rounds what is left over another way.
  const FixedPoint by = fixed_point(double(x.scale) / double(y.scale));
  return table_of(x, y, [&](int32_t step) {
    return multiplied(step - x.source_zero(), by, true) + y.source_zero();
  });
}

}  // namespace ingot::tflite
