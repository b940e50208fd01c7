// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/block_linear.cpp - weights in blocks and of experts, one by one in
// double. BlockQuantize is defined in f32, and computed so.
#include <cmath>
#include <cstring>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"
#include "kernels/cpu/oracle/weights.h"
#include "runtime/op/grouped_linear.h"

namespace ingot::cpu::oracle {
namespace {

using namespace block_weights;

double f16_at(const uint8_t* p) {
  uint16_t half;
  std::memcpy(&half, p, 2);
  return double(f16_to_f32(half));
}
template <class T>
T number_at(const uint8_t* p) {
  T number;
  std::memcpy(&number, p, sizeof number);
  return number;
}

/// Weight k of output o.
double weight_at(const TensorView& w, BlockType type, int64_t units, int64_t o, int64_t k) {
  const BlockFormat f = block_format(type);
  const uint8_t* const panel =
      w.as<const uint8_t>() + (o / kOutputs * units + k / f.unit) * kOutputs * f.bytes;
  const int lane = int(o % kOutputs), at = int(k % f.unit);
  if (f.is_float()) {
    const uint8_t* const own = panel + 2 * (at * kOutputs + lane);
    return type == BlockType::kF16 ? f16_at(own)
                                   : double(bits_float(uint32_t(number_at<uint16_t>(own)) << 16));
  }
  const int code = code_at(f, panel, lane, at);
  const double d = f.scales == BlockScales::kExponent ? std::ldexp(1.0, panel[lane] - 128)
                                                      : f16_at(panel + 2 * lane),
               m = f.has_min ? f16_at(panel + 64 + 2 * lane) : 0;
  if (!f.is_super()) return d * (code - f.zero) + m;
  const SubScale s = sub_scale_at(f, panel, lane, at / f.sub);
  return d * s.scale * (code - f.zero) - m * s.minimum;
}

/// Of row `row` of x, of k numbers, and output o.
double block_sum(const TensorView& x, const TensorView& w, BlockType type, int64_t row, int64_t o,
                 int64_t k) {
  const BlockFormat f = block_format(type);
  const uint8_t* const q = x.as<const uint8_t>() + row * x.row_stride;
  double sum = 0;
  for (int64_t i = 0; i < k; i++)
    sum += weight_at(w, type, k / f.unit, o, i) *
           (f.is_float() ? double(x.as<const float>()[row * x.row_stride + i])
                         : int8_t(q[i]) * double(number_at<float>(q + k + i / f.unit * 4)));
  return sum;
}

/// Of row `row` of GroupedLinear's x and output o of its weights.
double grouped_sum(const OpArguments& a, int64_t row, int64_t o) {
  const TensorView &x = a.inputs[0], &w = a.inputs[1];
  const int64_t k = grouped::row_weights(a);
  if (grouped::has_blocks(a))
    return block_sum(x, w, a.as<GroupedLinearAttributes>().type, row, o, k);
  double sum = 0;
  for (int64_t i = 0; i < k; i++)
    sum += double(x.as<const float>()[row * x.row_stride + i]) * weight(w, o, 0, i, 1, k);
  return sum;
}

}  // namespace

Status block_quantize(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const BlockFormat f = block_format(a.as<BlockQuantizeAttributes>().type);
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const int64_t k = x.row_length();
  for (int64_t row = 0; row < x.rows(); row++) {
    const float* const from = x.as<const float>() + row * x.row_stride;
    uint8_t* const q = y.as<uint8_t>() + row * y.row_stride;
    uint8_t *const scales = q + k, *const words = scales + 4 * (k / f.unit);
    for (int64_t unit = 0; unit < k; unit += f.unit) {
      float most = 0;
      bool finite = true;
      for (int64_t i = unit; i < unit + f.unit; i++) {
        finite = finite && std::isfinite(from[i]);
        most = std::fabs(from[i]) > most ? std::fabs(from[i]) : most;
      }
      const bool counts = finite && most >= std::ldexp(1.0f, -100);
      const float scale = !finite ? std::nanf("") : counts ? most / 127.0f : 0.0f;
      std::memcpy(scales + 4 * (unit / f.unit), &scale, 4);
      for (int64_t sub = unit; sub < unit + f.unit; sub += f.sub) {
        int32_t sum = 0;
        for (int64_t i = sub; i < sub + f.sub; i++) {
          const int n = counts ? int(std::nearbyint(from[i] * (127.0f / most))) : 0;
          q[i] = uint8_t(n), sum += n;
        }
        const int32_t start = -f.zero * sum;
        const float minimum = f.is_super() ? float(sum) : scale * float(sum);
        std::memcpy(words + 4 * (sub / f.sub),
                    f.has_min ? static_cast<const void*>(&minimum) : &start, 4);
      }
    }
  }
  return {};
}

Status block_linear(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const BlockType type = a.as<BlockLinearAttributes>().type;
  const BlockFormat f = block_format(type);
  const TensorView &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  const TensorView *const bias = a.optional(2), *const residual = a.optional(3);
  const int64_t k = w.dims[1] / f.bytes * f.unit;
  for (int64_t row = 0; row < y.rows(); row++) {
    for (int64_t o = 0; o < y.row_length(); o++) {
      double sum = block_sum(x, w, type, row, o, k);
      if (bias) sum += double(bias->as<const float>()[o]);
      if (residual) sum += double(residual->as<const float>()[row * residual->row_stride + o]);
      y.as<float>()[row * y.row_stride + o] = float(sum);
    }
  }
  return {};
}

Status grouped_linear(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &ends = a.inputs[2], &y = a.outputs[0];
  const int64_t experts = ends.dims[0];
  bool good = true;
  int64_t row = 0;
  for (int64_t e = 0; e < experts; e++) {
    const int64_t end = read_integer(ends, e);
    good = good && end >= row && end <= y.dims[0];
    if (end <= y.dims[0])
      for (; row < end; row++)
        for (int64_t o = 0; o < y.dims[1]; o++)
          y.as<float>()[row * y.row_stride + o] =
              float(grouped_sum(a, row, e * (a.inputs[1].dims[0] / experts) + o));
  }
  for (; row < y.dims[0]; row++)
    for (int64_t o = 0; o < y.dims[1]; o++) y.as<float>()[row * y.row_stride + o] = 0;
  return good ? Status() : Status(Code::kBadIndexValue);
}

Status block_gather(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const BlockType type = a.as<BlockGatherAttributes>().type;
  const BlockFormat f = block_format(type);
  const TensorView &w = a.inputs[0], &indices = a.inputs[1], &y = a.outputs[0];
  const int64_t units = w.dims[1] / f.bytes, outputs = w.dims[0];
  bool good = true;
  for (int64_t i = 0; i < indices.elements(); i++) {
    const int64_t at = read_integer(indices, i), o = at < 0 ? at + outputs : at;
    if (o < 0 || o >= outputs) {
      good = false;
      continue;
    }
    for (int64_t k = 0; k < y.row_length(); k++)
      y.as<float>()[i * y.row_stride + k] = float(weight_at(w, type, units, o, k));
  }
  return good ? Status() : Status(Code::kBadIndexValue);
}

}  // namespace ingot::cpu::oracle
