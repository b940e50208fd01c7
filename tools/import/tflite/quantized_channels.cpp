// SPDX-License-Identifier: Apache-2.0
#include "tools/import/tflite/quantized_channels.h"

#include <cmath>
#include <limits>

#include "runtime/op/requantize.h"
#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"

namespace ingot::tflite {
namespace {

/// Multipliers, and of fixed point shifts: operands 3 and 4.
void add_multipliers(Call& call, const QuantParams& x, const QuantParams& y, const Weights& w,
                     const Rounding& rounding, std::vector<ValueId>* operands) {
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<int32_t> multipliers, shifts;
  constexpr int kMaxWideShift = 14;
  for (int64_t o = 0; o < w.outputs; o++) {
    const float scale = w.scales[w.scales.size() > 1 ? size_t(o) : 0];
    floats.push_back(x.scale * scale / y.scale);
    if (!std::isfinite(floats.back()))
      call.corrupt("the scales of channel " + std::to_string(o) + " leave the range of float32");
    const double product =
        rounding.single_product ? double(x.scale * scale) : double(x.scale) * double(scale);
    doubles.push_back(product / double(y.scale));
    const FixedPoint by = fixed_point(doubles.back());
    // of 16 bits
    const int32_t reduced = by.multiplier < 0x7FFF0000 ? (by.multiplier + (1 << 15)) >> 16 : 0x7FFF;
    if (rounding.is_wide() && !rounding.is_double() && by.shift > kMaxWideShift)
      call.refuse("", "channel " + std::to_string(o) + " multiplies its sums by more than 2^" +
                          std::to_string(kMaxWideShift));
    multipliers.push_back(rounding.is_wide() ? reduced : by.multiplier);
    shifts.push_back(-by.shift);
  }
  const auto put = [&](DType dtype, const void* values) {
    operands->push_back(call.b.constant(graph::make_constant(dtype, {w.outputs}, values)));
  };
  if (!rounding.is_fixed()) return put(DType::kF32, floats.data());
  if (rounding.is_double()) return put(DType::kF64, doubles.data());
  put(DType::kI32, multipliers.data()), put(DType::kI32, shifts.data());
}

/// Of int16: the bias has that type, or the option says so, which depthwise convolutions lack.
bool has_bias_type(Call& call, size_t bias, fb::TensorType type) {
  constexpr const char* kOption = "quantized_bias_type";
  return (call.has(bias) && call.tensor(bias).type() == type) ||
         (call.offers(kOption) && call.integer(kOption) == int64_t(type));
}

/// XNNPACK has no int16.
Rounding rounding_of_int16(Call& call, size_t bias) {
  if (!has_bias_type(call, bias, fb::TensorType::int32)) return {"fixed_wide", false};
  return {call.as_micro() ? "fixed_away" : "fixed_up", false};
}
Rounding rounding_of_linear_int16(Call& call, bool many_scales) {
  constexpr size_t kBias = 2;
  if (!call.as_micro())
    return has_bias_type(call, kBias, fb::TensorType::int64) ? Rounding{"double_away", false}
                                                             : Rounding{"fixed_up", !many_scales};
  Rounding rounding = rounding_of_int16(call, kBias);
  rounding.single_product = !many_scales;
  return rounding;
}

}  // namespace

Rounding rounding_of_convolution(Call& call, const QuantParams& x, size_t bias) {
  if (x.is_int16) return rounding_of_int16(call, bias);
  if (call.as_xnnpack()) return {};
  return {call.as_micro() ? "fixed_away" : "fixed_up", !x.is_signed};
}
Rounding rounding_of_linear(Call& call, const QuantParams& x, bool many_scales) {
  if (x.is_int16) return rounding_of_linear_int16(call, many_scales);
  if (call.as_xnnpack()) return {};
  const char* const micro = x.is_signed ? "fixed_away" : "fixed_once";
  return {call.as_micro() ? micro : "fixed_up", !many_scales};
}

ValueId rounded_together(Call& call, int64_t together, int64_t outputs,
                         const std::function<ValueId(const char*)>& made) {
  const int64_t whole = together > 0 ? outputs / together * together : 0;
  if (whole == outputs) return made("fixed_up");
  const ValueId away = made("fixed_away");
  if (whole == 0 || away == kAbsent) return away;
  const ValueId up = made("fixed_up");
  return call.b.emit(op::Concat,
                     {call.b.slice(up, 3, graph::Dim(0), graph::Dim(whole)),
                      call.b.slice(away, 3, graph::Dim(whole), graph::Dim(outputs))},
                     {{attr::axis, int64_t(3)}});
}

bool read_weights_int8(Call& call, size_t input, int64_t channel_axis, Weights* out) {
  const fb::Tensor& t = call.tensor(input);
  const ModelFile& file = call.translator.file();
  const bool is_unsigned = t.type() == fb::TensorType::uint8 || t.type() == fb::TensorType::uint4;
  if (!file.bytes(t).is_there || !ModelFile::is_quantized(t) || t.type() == fb::TensorType::int16 ||
      t.type() == fb::TensorType::int32 || t.type() == fb::TensorType::int64 ||
      t.type() == fb::TensorType::int2)
    return false;
  const TensorQuantization q = file.quantization(t);
  if (q.scales.size() > 1 && q.axis != channel_axis) return false;
  for (const int64_t zero : q.zero_points)
    if (zero != q.zero_points[0]) return false;
  const int32_t offset = is_unsigned ? 128 : 0;
  const std::string name = ModelFile::name(t, size_t(call.tensor_index(input)));
  for (const int32_t n : read_integers(file, t, name)) out->values.push_back(int8_t(n - offset));
  out->scales = q.scales;
  out->zero = q.zero_points[0] - offset;
  call.mark_read(input);
  return true;
}

bool read_channels_int8(Call& call, size_t input, const QuantParams& x, const QuantParams& y,
                        const Weights& w, const Rounding& rounding,
                        std::vector<ValueId>* operands) {
  std::vector<int64_t> bias(size_t(w.outputs), 0);
  if (call.has(input)) {
    const fb::Tensor& t = call.tensor(input);
    const bool is_wide = rounding.is_wide() && t.type() == fb::TensorType::int64;
    if ((t.type() != fb::TensorType::int32 && !is_wide) ||
        !call.translator.file().bytes(t).is_there)
      return false;
    bias = graph::read_integers(read_constant(
        call.translator.file(), t, ModelFile::name(t, size_t(call.tensor_index(input)))));
    host::charge_memory(8 * bias.size());
    call.mark_read(input);
    if (int64_t(bias.size()) != w.outputs)
      call.corrupt("its bias has " + std::to_string(bias.size()) + " elements, expected " +
                   std::to_string(w.outputs));
  }
  add_channels_int8(call, std::move(bias), x, y, w, rounding, operands);
  return true;
}

void add_channels_int8(Call& call, std::vector<int64_t> bias, const QuantParams& x,
                       const QuantParams& y, const Weights& w, const Rounding& rounding,
                       std::vector<ValueId>* operands) {
  if (w.products > quantized::kMaxProducts)
    call.refuse("filter", "a sum of " + std::to_string(w.products) +
                              " products of bytes leaves 32 bits, at "
                              "most " +
                              std::to_string(quantized::kMaxProducts) + " are supported");
  host::charge_work(w.values.size() / 8);
  for (int64_t o = 0; o < w.outputs; o++) {
    int64_t sum = 0;
    for (int64_t k = 0; k < w.products; k++) sum += w.values[size_t(o * w.products + k)] - w.zero;
    int64_t whole;
    if (__builtin_sub_overflow(bias[size_t(o)], x.zero * sum, &whole))
      call.refuse("bias", "channel " + std::to_string(o) + " leaves 64 bits");
    if (x.is_int16 && rounding.is_narrow())
      whole = int32_t(uint32_t(uint64_t(whole)));  // as sums do
    if (!rounding.is_wide() && (whole < std::numeric_limits<int32_t>::min() ||
                                whole > std::numeric_limits<int32_t>::max()))
      call.refuse("bias", "channel " + std::to_string(o) + " with the zero point of the input is " +
                              std::to_string(whole) + ", which leaves 32 bits");
    bias[size_t(o)] = whole;
  }
  const std::vector<int32_t> narrow(bias.begin(), bias.end());
  operands->push_back(call.b.constant(
      rounding.is_wide() ? graph::make_constant(DType::kI64, {w.outputs}, bias.data())
                         : graph::make_constant(DType::kI32, {w.outputs}, narrow.data())));
  add_multipliers(call, x, y, w, rounding, operands);
}

void add_output_int8(const QuantParams& y, const Limits& limits, const Rounding& rounding,
                     aten::Attributes* attributes) {
  (*attributes)[attr::requant] = std::string(rounding.requant);
  (*attributes)[attr::y_zero] = int64_t(y.zero);
  (*attributes)[attr::low] = limits.low;
  (*attributes)[attr::high] = limits.high;
}

}  // namespace ingot::tflite
