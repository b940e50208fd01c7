// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_int16.cpp - operators on numbers of int16: functions are tables of all
// 65,536 of them, computed while converting as the runtime computes them; products, sums and pools
// are those of bytes, and what moves is as of floats. XNNPACK has no int16: LiteRT's own kernels.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/import/tflite/fixed_point.h"
#include "tools/import/tflite/wide_integers.h"

namespace ingot::tflite {
namespace {

struct Int16Ends {
  QuantParams x, y;
};
std::optional<Int16Ends> int16_ends_of(Call& call) {
  const auto x = call.quantized(0), y = call.output_quantized(0);
  if (!x || !y || !x->is_int16 || !y->is_int16) return std::nullopt;
  return Int16Ends{*x, *y};
}
bool give_table(Call& call, const Int16Table& table) {
  const ValueId numbers =
      call.b.constant(graph::make_constant(DType::kI16, {int64_t(table.size())}, table.data()));
  call.give(call.b.emit(op::Lookup, {call.input(0), numbers}));
  return true;
}

/// The exponent of a power of 2; none of another number.
std::optional<int> power_of_two(float scale) {
  const double power = std::log2(double(scale));
  const double whole = std::round(power);
  return std::fabs(power - whole) < 1e-3 ? std::optional<int>(int(whole)) : std::nullopt;
}

/// How the numbers of logistic and tanh come to 1 / (3 * 4096): a multiplier and a shift, or a
/// shift alone where the scale is 2^-12 or, of tanh, 2^-11.
struct SigmoidInput {
  int32_t multiplier = 0;
  int shift = 0;
};
SigmoidInput sigmoid_input(float scale, int most_shift) {
  SigmoidInput in;
  if (const auto power = power_of_two(scale)) {
    in.shift = 12 + *power;
    if (in.shift >= 0 && in.shift <= most_shift) return in;
  }
  double multiplier = double(scale) * 4096 * 3;
  for (in.shift = 0; multiplier <= 32767 / 2.0 && in.shift <= 30; in.shift++) multiplier *= 2;
  in.multiplier = int32_t(std::min(multiplier, 2147483647.0));
  return in;
}
bool gives_fractions(const Int16Ends& ends) { return power_of_two(ends.y.scale) == -15; }

bool logistic_int16(Call& call) {
  const auto ends = int16_ends_of(call);
  if (!ends || !gives_fractions(*ends)) return false;
  const SigmoidInput in = sigmoid_input(ends->x.scale, 0);
  const bool by_lines = call.as_micro() || in.multiplier != 0;
  return give_table(call, int16_table_of([&](int32_t x) -> int64_t {
                      return by_lines ? interpolated_logistic(x, in.multiplier, in.shift)
                                      : fixed_logistic16(x);
                    }));
}
bool tanh_int16(Call& call) {
  const auto ends = int16_ends_of(call);
  if (!ends || !gives_fractions(*ends)) return false;
  const SigmoidInput in = sigmoid_input(ends->x.scale, 1);
  const bool by_lines = call.as_micro() || in.multiplier != 0;
  return give_table(call, int16_table_of([&](int32_t x) -> int64_t {
                      return by_lines ? interpolated_tanh(x, in.multiplier, in.shift)
                                      : fixed_tanh16(x, 3 + in.shift);
                    }));
}

/// To another scale in fixed point; a number that is negative by another multiplier.
bool rescaled_int16(Call& call, double positive, double negative, int64_t low, int64_t high) {
  const FixedPoint up = fixed_point(positive), down = fixed_point(negative);
  return give_table(call, int16_table_of([&](int32_t x) {
                      return std::clamp<int64_t>(multiplied(x, x >= 0 ? up : down), low, high);
                    }));
}
/// The ratio of both scales; TFLite Micro divides in f64.
double ratio_of(const Call& call, const Int16Ends& ends) {
  return call.as_micro() ? double(ends.x.scale) / double(ends.y.scale)
                         : double(ends.x.scale / ends.y.scale);
}
bool leaky_relu_int16(Call& call) {
  const auto ends = int16_ends_of(call);
  if (!ends) return false;
  const float alpha = float(call.number("alpha"));
  const double below = call.as_micro() ? double(ends->x.scale) * alpha / double(ends->y.scale)
                                       : double(ends->x.scale * alpha / ends->y.scale);
  return rescaled_int16(call, ratio_of(call, *ends), below, INT16_MIN, INT16_MAX);
}
template <int low, int high>  // high 0: none
bool rectified_int16(Call& call) {
  const auto ends = int16_ends_of(call);
  if (!ends) return false;
  const RealRange range{float(low), high ? float(high) : std::numeric_limits<float>::infinity()};
  if (high && call.as_micro()) {  // limits the numbers of its input, whatever the other scale
    const Limits limits = limits_of_kernels(range, ends->x);
    return give_table(call, int16_table_of([&](int32_t x) {
                        return std::clamp<int64_t>(x, limits.low - 32768, limits.high - 32768);
                      }));
  }
  const Limits limits = limits_of_kernels(range, ends->y);
  const double ratio = ratio_of(call, *ends);
  return rescaled_int16(call, ratio, ratio, limits.low - 32768, limits.high - 32768);
}
bool absolute_int16(Call& call) {
  const auto ends = int16_ends_of(call);
  if (!ends) return false;
  const bool same = ends->x.scale == ends->y.scale;
  const FixedPoint by = fixed_point(ratio_of(call, *ends));
  return give_table(call, int16_table_of([&](int32_t x) -> int64_t {
                      return same ? std::abs(x) : multiplied(std::abs(x), by);
                    }));
}

/// A function of 16-bit numbers by 512 lines, as TFLite makes them: each starts where the function
/// is, less half of how far its middle would be off.
template <class Real>
std::vector<int16_t> lines_of(Real in_scale, int32_t in_zero, Real out_scale,
                              const std::function<Real(Real)>& of) {
  constexpr int kLines = 512;
  const Real least = in_scale * Real(INT16_MIN - in_zero),
             most = in_scale * Real(INT16_MAX - in_zero), step = (most - least) / kLines,
             half = step / 2,
             unit = Real(65536) / (out_scale * Real(INT16_MAX) - out_scale * Real(INT16_MIN));
  const auto limited = [](Real n) {  // scales beyond what f32 has make no number of it
    return std::isnan(n) ? int16_t(0)
                         : int16_t(std::min(std::max(n, Real(INT16_MIN)), Real(INT16_MAX)));
  };
  std::vector<int16_t> lines;
  for (int i = 0; i < kLines; i++) {
    const Real here = of(least + Real(i) * step), middle = of(least + Real(i) * step + half),
               next = of(least + Real(i + 1) * step);
    const Real start = std::round(here * unit);
    const Real off =
        std::round((next * unit + std::round(here * unit)) / 2) - std::round(middle * unit);
    lines.push_back(limited(start - std::round(off / 2)));
  }
  lines.push_back(limited(std::round(of(most) * unit)));
  return lines;
}
int64_t on_lines(const std::vector<int16_t>& lines, int32_t x) {
  const size_t at = size_t(256 + (x >> 7));
  const int32_t slope = lines[at + 1] - lines[at];
  return int16_t(lines[at] + ((slope * (x & 127) + 64) >> 7));
}

/// Micro computes the lines in f32.
template <class Real>
std::vector<int16_t> softmax_table(double scale, double beta) {
  constexpr Real kRange = 65535;
  const std::vector<int16_t> exponentials = lines_of<Real>(
      Real(10) / kRange, INT16_MAX, Real(2) / kRange, [](Real x) { return std::exp(x); });
  const std::vector<int16_t> reciprocals =
      lines_of<Real>(Real(1) / kRange, INT16_MIN, Real(2) / kRange,
                     [](Real x) { return Real(1) / (Real(1) + x); });
  const FixedPoint by = fixed_point(scale * beta / (10.0 / 65535.0));
  std::vector<int16_t> table;
  for (int32_t d = -65535; d <= 0; d++) {
    const int64_t at = int64_t(multiplied(d, by)) + 32767;
    table.push_back(
        int16_t(on_lines(exponentials, int32_t(std::clamp<int64_t>(at, INT16_MIN, INT16_MAX)))));
  }
  table.insert(table.end(), reciprocals.begin(), reciprocals.end());
  return table;
}
bool softmax_int16(Call& call) {
  const auto ends = int16_ends_of(call);
  const double beta = call.number("beta");
  if (!ends || call.rank(0) < 1) return false;
  const double scale = double(ends->x.scale);
  if (!std::isfinite(scale * beta) || beta < 0) call.corrupt("its beta is out of range");
  const std::vector<int16_t> table =
      call.as_micro() ? softmax_table<float>(scale, beta) : softmax_table<double>(scale, beta);
  const ValueId numbers =
      call.b.constant(graph::make_constant(DType::kI16, {int64_t(table.size())}, table.data()));
  call.give(call.b.emit(op::QuantizedSoftmax, {call.input(0), numbers},
                        {{attr::y_zero, int64_t(0)}, {attr::to, int64_t(DType::kI16)}}));
  return true;
}

bool give_lines(Call& call, const Int16Ends& ends, const std::function<float(float)>& function) {
  const float least = -32768 * ends.y.scale;
  const std::vector<int16_t> lines = lines_of<float>(ends.x.scale, 0, ends.y.scale, [&](float x) {
    const float y = function(x);
    return std::isfinite(y) ? y : y > 0 ? 32767 * ends.y.scale : least;
  });
  return give_table(call, int16_table_of([&](int32_t x) { return on_lines(lines, x); }));
}
template <float (*function)(float)>
bool lines_int16(Call& call) {
  const auto ends = int16_ends_of(call);
  return ends && give_lines(call, *ends, function);
}
float exponential_of_int16(float x) { return std::exp(x); }
/// Not a number of what is negative: the smallest of int16.
float logarithm_of_int16(float x) { return std::log(x); }
/// LiteRT ends a run on what is negative; here it is the largest number, as of zero.
float inverse_root_of_int16(float x) { return 1 / std::sqrt(std::max(x, 0.0f)); }

bool inverse_root_int16(Call& call) {
  const auto ends = int16_ends_of(call);
  if (!ends || !call.as_micro()) return ends && give_lines(call, *ends, inverse_root_of_int16);
  constexpr int kMore = 20;  // bits of the root
  const FixedPoint by =
      fixed_point(1.0 / (std::sqrt(double(ends->x.scale)) * double(ends->y.scale)));
  return give_table(call, int16_table_of([&](int32_t x) -> int64_t {
                      if (x <= 0) return INT16_MAX;
                      const FixedPoint root = fixed_inverse_root(x);
                      const int32_t fine = multiplied(1, {root.multiplier, root.shift + kMore});
                      return multiplied(fine, {by.multiplier, by.shift - kMore});
                    }));
}

bool gelu_int16(Call& call) {
  const auto ends = int16_ends_of(call);
  const bool approximate = call.flag("approximate");
  return ends && give_lines(call, *ends, approximate ? approximate_gelu : exact_gelu);
}

/// Cut off, not rounded. LiteRT ends a run on what is below zero; here it is zero.
bool root_int16(Call& call) {
  const auto ends = int16_ends_of(call);
  if (!ends) return false;
  return give_table(call, int16_table_of([&](int32_t x) {
                      const float root = std::sqrt(float(std::max(x, 0)) * ends->x.scale);
                      return int64_t(std::min(root / ends->y.scale, 1e6f));
                    }));
}

bool quantize_int16(Call& call) {
  if (const auto ends = int16_ends_of(call)) {
    const double ratio = double(ends->x.scale) / double(ends->y.scale);
    return rescaled_int16(call, ratio, ratio, INT16_MIN, INT16_MAX);
  }
  const auto y = call.output_quantized(0);
  if (ModelFile::is_quantized(call.tensor(0))) return requantize_wide(call);
  if (!y || !y->is_int16) return false;
  call.give(call.b.emit(op::Quantize, {call.b.cast(call.input(0), DType::kF32)},
                        {{attr::scale, double(y->scale)},
                         {attr::zero_point, int64_t(0)},
                         {attr::rounding, std::string(call.as_micro() ? "away" : "even")},
                         {attr::reciprocal, int64_t(!call.as_micro())},
                         {attr::to, int64_t(DType::kI16)}}));
  return true;
}
bool dequantize_int16(Call& call) {
  const auto x = call.quantized(0);
  if (!x || !x->is_int16) return false;
  call.give(call.b.emit(op::Dequantize, {call.input(0)},
                        {{attr::scale, double(x->scale)}, {attr::zero_point, int64_t(0)}}));
  return true;
}

bool moved_int16(Call& call) {
  call.row.translation.translate(call);
  return true;
}
}  // namespace

void add_int16(QuantizedTable& table) {
  add_int16_products(table);
  add_quantized_transposed(table);
  add_quantized_binary(table);
  add_quantized_reduce(table);
  add_recurrent_int16(table);
  add_int16_binary(table);
  table["RESIZE_BILINEAR"] = resize_bilinear_int16;
  table["LOGISTIC"] = logistic_int16;
  table["TANH"] = tanh_int16;
  table["LEAKY_RELU"] = leaky_relu_int16;
  table["RELU"] = rectified_int16<0, 0>;
  table["RELU6"] = rectified_int16<0, 6>;
  table["RELU_N1_TO_1"] = rectified_int16<-1, 1>;
  table["ABS"] = absolute_int16;
  table["EXP"] = lines_int16<exponential_of_int16>;
  table["LOG"] = lines_int16<logarithm_of_int16>;
  table["RSQRT"] = inverse_root_int16;
  table["GELU"] = gelu_int16;
  table["SQRT"] = root_int16;
  table["SOFTMAX"] = softmax_int16;
  table["QUANTIZE"] = quantize_int16;
  table["DEQUANTIZE"] = dequantize_int16;
  for (const auto* names : {&moves_of_any_scale(), &moves_of_one_scale()})
    for (const std::string& name : *names) table[name] = moved_int16;
  table["CAST"] = table["CONCATENATION"] = moved_int16;
}

}  // namespace ingot::tflite
