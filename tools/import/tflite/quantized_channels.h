// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/quantized_channels.h - weights of bytes, and the numbers of output channels
// that products of bytes have. Multipliers of XNNPACK are (input * weight) / output in f32, in this
// order; those of TFLite's kernels are computed in f64 and split into 31 bits and a shift.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tools/import/tflite/call.h"

namespace ingot::tflite {

/// How sums become bytes (runtime/op/requantize.h).
struct Rounding {
  const char* requant = "float_even";
  bool single_product = false;  // of fixed point: input * weight is f32
  bool is_fixed() const { return std::string(requant) != "float_even"; }
  bool is_double() const { return std::string(requant) == "double_away"; }
  bool is_wide() const { return std::string(requant) == "fixed_wide" || is_double(); }
  bool is_narrow() const { return is_fixed() && !is_wide(); }
};
/// TFLite's kernels of uint8 have one multiplier, of a product in f32; those of int8 one of each
/// channel. Sums of int16 have 64 bits, or 32 where input `bias` or the option says int32.
Rounding rounding_of_convolution(Call& call, const QuantParams& x, size_t bias);
/// TFLite Micro rounds twice; it has no uint8, which LiteRT's reference kernel rounds once. Sums of
/// int16 are f64 in LiteRT where the bias or the option says int64, else 32 bits as those of int8;
/// in Micro as those of convolutions. Input 2 is the bias.
Rounding rounding_of_linear(Call& call, const QuantParams& x, bool many_scales);
/// Some of LiteRT's own kernels take so many channels together with ties up; those that are left
/// over, and all where it is 0, with ties away from zero. Of what `made` gives [N, H, W, outputs].
ValueId rounded_together(Call& call, int64_t together, int64_t outputs,
                         const std::function<ValueId(const char* requant)>& made);
/// Of convolutions of int8.
constexpr int64_t kTogether = 8;

/// Constant weights as the operators want them.
struct Weights {
  std::vector<int8_t> values;  // [outputs][products]
  std::vector<float> scales;   // one, or one of each output
  int64_t zero = 0;            // of `values`
  int64_t outputs = 0, products = 0;
};
/// Elements in the order of the file; of uint8 less 128. False for what is quantized another way.
bool read_weights_int8(Call& call, size_t input, int64_t channel_axis, Weights* out);

/// Bias and multipliers, of fixed point shifts: operands 2 and on. The zero point of x goes into
/// the bias, which is `input` of the call where it has one.
bool read_channels_int8(Call& call, size_t input, const QuantParams& x, const QuantParams& y,
                        const Weights& w, const Rounding& rounding, std::vector<ValueId>* operands);
/// The same with these biases, one of each output.
void add_channels_int8(Call& call, std::vector<int64_t> bias, const QuantParams& x,
                       const QuantParams& y, const Weights& w, const Rounding& rounding,
                       std::vector<ValueId>* operands);
void add_output_int8(const QuantParams& y, const Limits& limits, const Rounding& rounding,
                     aten::Attributes* attributes);

}  // namespace ingot::tflite
