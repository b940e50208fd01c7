// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/quantized_products.cpp - products of bytes and of 16-bit numbers, one sum at a
// time, in 64 bits.
#include <cstdlib>
#include <cstring>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"
#include "kernels/cpu/oracle/rescale.h"
#include "runtime/op/quantized_chain.h"
#include "runtime/op/quantized_linear.h"
#include "runtime/op/quantized_matmul.h"

namespace ingot::cpu::oracle {
namespace {

double wrapped(int64_t x) { return double(int32_t(uint32_t(uint64_t(x)))); }

/// Biases, multipliers, shifts.
int32_t channel_number(const OpArguments& a, int64_t row, int64_t o) {
  return a.inputs[2].as<const int32_t>()[row * a.inputs[2].dims[1] + o];
}

float channel_float(const OpArguments& a, int64_t row, int64_t o) {
  const int32_t number = channel_number(a, row, o);
  float x;
  std::memcpy(&x, &number, sizeof x);
  return x;
}

/// fixed_wide: a quotient of whole numbers, rounded down.
double wide_step(int64_t sum, int64_t multiplier, int given) {
  const int bits = 15 + (given < -14 ? -14 : given > 47 ? 47 : given);
  const int64_t unit = int64_t{1} << bits,
                n = int64_t(uint64_t(sum) * uint64_t(multiplier) + uint64_t(unit / 2));
  return wrapped(n % unit < 0 ? n / unit - 1 : n / unit);
}

/// double_away; rows 1 and 2 have the lower and the upper half of the multiplier's bits.
double double_step(int64_t sum, int32_t low, int32_t high) {
  const uint64_t bits = uint64_t(uint32_t(high)) << 32 | uint32_t(low);
  double multiplier;
  std::memcpy(&multiplier, &bits, sizeof multiplier);
  const double step = double(sum) * multiplier;
  return step == step ? limited_i32(std::round(step)) : 2147483647.0;
}

/// A step of the output, before its zero point.
double step_of(RequantMode mode, int64_t exact, const OpArguments& a, int64_t o) {
  if (is_wide(mode)) {
    const int32_t number = channel_number(a, 1, o), next = channel_number(a, 2, o);
    return mode == RequantMode::kFixedWide ? wide_step(exact, number, next)
                                           : double_step(exact, number, next);
  }
  const double sum = wrapped(exact);
  if (mode == RequantMode::kFloatEven) {
    const double step = double(float(float(sum) * channel_float(a, 1, o)));
    // as limits do: what is no number is above them
    return step == step ? std::nearbyint(limited(step, -1e6, 1e6)) : 1e6;
  }
  return rescaled(mode, sum, channel_number(a, 1, o), channel_number(a, 2, o));
}

/// What a row, or an image, of x is quantized with.
struct QuantParams {
  float scale = 1;
  int64_t zero = 0;
};
QuantParams quant_params_of(const OpArguments& a, int64_t row, int64_t rows) {
  const TensorView* const steps = a.optional(3);
  if (!steps) return {};
  const int64_t group = row / (rows / steps->dims[0]);
  const float zero = steps->as<const float>()[2 * group + 1];
  return {steps->as<const float>()[2 * group],
          zero == zero ? int64_t(limited(double(zero), 0, 255)) : 0};
}

/// Of a weight of output o.
int64_t weight_zero(const OpArguments& a, RequantMode mode, int64_t otherwise, int64_t o) {
  if (mode != RequantMode::kToFloat) return otherwise;
  return a.inputs[2].dims[0] < 4 ? 0 : int64_t(limited(double(channel_number(a, 3, o)), -255, 255));
}

/// The bias of output o; of sums of 64 bits as many. 0 of to_float, which adds it behind.
int64_t bias_of(RequantMode mode, const OpArguments& a, int64_t o) {
  if (mode == RequantMode::kToFloat) return 0;
  const int64_t low = channel_number(a, 0, o);
  if (!is_wide(mode)) return low;
  return int64_t(uint64_t(channel_number(a, 3, o)) << 32 | uint64_t(uint32_t(low)));
}

/// `sum` of x * (w - zero of w), at the element `at` of y.
template <class A>
void put_output(const A& t, int64_t sum, const OpArguments& a, int64_t o, const QuantParams& steps,
                const int64_t* at) {
  const TensorView& y = a.outputs[0];
  const int64_t to = offset_of(y, at);
  if (t.requant != RequantMode::kToFloat) {
    const double step = step_of(t.requant, sum, a, o) + t.y_zero;
    write_integer(y, to, int64_t(limited(step, t.low, t.high)) - quantized::number_offset(y.dtype));
    return;
  }
  const double whole = wrapped(sum - steps.zero * channel_number(a, 0, o));
  if (y.dtype == DType::kI32)
    y.as<int32_t>()[to] = int32_t(whole);
  else
    y.as<float>()[to] =
        float(double(float(double(float(whole)) *
                           double(float(double(steps.scale) * double(channel_float(a, 1, o)))))) +
              double(channel_float(a, 2, o)));
}

/// Byte i of run r of output o; of `runs` runs of `length` bytes.
int64_t weight(const TensorView& w, int64_t o, int64_t r, int64_t i, int64_t runs, int64_t length) {
  int64_t at = (o * runs + r) * length + i;
  if (w.packing == Packing::kPanels16x4)
    at = (((o / kPanel * runs + r) * ((length + 3) / 4) + i / 4) * kPanel + o % kPanel) * 4 + i % 4;
  if (w.packing == Packing::kDepthwise16)
    at = (r * length + i) * ((w.dims[0] + kPanel - 1) / kPanel * kPanel) + o;
  return w.as<const int8_t>()[at];
}

/// A copy of x, where y overwrites it: a window reads what the one before wrote. The oracle never
/// runs in a device.
class SeparateImage {
 public:
  SeparateImage(const TensorView& x, const TensorView& y) : view_(x) {
    if (x.data != y.data || x.elements() == 0) return;
    const size_t bytes = size_t(x.rows() * x.row_stride * dtype_bytes(x.dtype));
    copy_ = std::malloc(bytes);
    if (copy_) std::memcpy(copy_, x.data, bytes);
    view_.data = copy_;
  }
  SeparateImage(const SeparateImage&) = delete;
  SeparateImage& operator=(const SeparateImage&) = delete;
  ~SeparateImage() { std::free(copy_); }
  const TensorView& view() const { return view_; }

 private:
  TensorView view_;
  void* copy_ = nullptr;
};

}  // namespace

Status quantized_conv2d(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const QuantizedConv2dAttributes& t = a.as<QuantizedConv2dAttributes>();
  const TensorView &w = a.inputs[1], &y = a.outputs[0];
  const SeparateImage image(a.inputs[0], y);
  const TensorView& x = image.view();
  if (!x.data && x.elements() != 0) return Code::kOutOfMemory;
  const int64_t groups = t.groups, outputs = w.dims[0], depth = w.dims[3], runs = w.dims[1],
                length = w.dims[2] * depth;
  const bool to_float = t.requant == RequantMode::kToFloat;
  for_each_index(y, [&](const int64_t* at) {
    const int64_t o = at[3], group = outputs ? o / (outputs / groups) : 0;
    const QuantParams steps = quant_params_of(a, at[0], x.dims[0]);
    const int64_t outside = to_float ? steps.zero : t.x_zero,
                  w_zero = weight_zero(a, t.requant, t.w_zero, o);
    uint64_t sum = uint64_t(bias_of(t.requant, a, o));
    for (int64_t ky = 0; ky < t.kernel_h; ky++)
      for (int64_t kx = 0; kx < t.kernel_w; kx++)
        for (int64_t c = 0; c < depth; c++) {
          const int64_t in_y = at[1] * t.stride_h + ky * t.dilation_h - t.pad_top,
                        in_x = at[2] * t.stride_w + kx * t.dilation_w - t.pad_left;
          const bool inside = in_y >= 0 && in_y < x.dims[1] && in_x >= 0 && in_x < x.dims[2];
          const int64_t from[4] = {at[0], in_y, in_x, group * depth + c};
          const int64_t k = (ky * t.kernel_w + kx) * depth + c;
          const int64_t number =
              inside ? read_integer(x, offset_of(x, from)) + quantized::number_offset(x.dtype)
                     : outside;
          sum += uint64_t(number * (weight(w, o, k / length, k % length, runs, length) - w_zero));
        }
    put_output(t, int64_t(sum), a, o, steps, at);
  });
  return {};
}

/// Stage by stage, whole images between them. The oracle never runs in a device.
Status quantized_chain(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  quantized::ChainStages stages;
  quantized::chain_stages(a, &stages);
  void* between[kMaxQuantizedStages] = {};
  Status status;
  for (int i = 0; i < stages.count && status.ok(); i++) {
    quantized::ChainStage& s = stages.stage[i];
    if (i) s.inputs[0].data = between[i - 1];
    if (i + 1 < stages.count) {
      between[i] = std::calloc(size_t(s.outputs[0].elements()) + 1, 1);
      s.outputs[0].data = between[i];
    }
    status = i + 1 < stages.count && !between[i] ? Status(Code::kOutOfMemory)
                                                 : quantized_conv2d(s.arguments(), team);
  }
  for (void* image : between) std::free(image);
  return status;
}

Status quantized_linear(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const QuantizedLinearAttributes& t = a.as<QuantizedLinearAttributes>();
  const TensorView &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  const int64_t k = w.dims[1];
  for_each_index(y, [&](const int64_t* at) {
    const int64_t o = at[y.rank - 1];
    uint64_t sum = uint64_t(bias_of(t.requant, a, o));
    int64_t from[kMaxRank], row = 0;
    const int64_t w_zero = weight_zero(a, t.requant, t.w_zero, o);
    for (int i = 0; i < x.rank; i++) from[i] = at[i];
    for (int i = 0; i + 1 < x.rank; i++) row = row * x.dims[i] + at[i];
    for (int64_t c = 0; c < k; c++) {
      from[x.rank - 1] = c;
      const int64_t number =
          read_integer(x, offset_of(x, from)) + quantized::number_offset(x.dtype);
      sum += uint64_t(number * (weight(w, o, 0, c, 1, k) - w_zero));
    }
    put_output(t, int64_t(sum), a, o, quant_params_of(a, row, x.rows()), at);
  });
  return {};
}

Status quantized_mat_mul(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const QuantizedMatMulAttributes& t = a.as<QuantizedMatMulAttributes>();
  const TensorView &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  const int last = y.rank - 1;
  for_each_index(y, [&](const int64_t* at) {
    int64_t from[kMaxRank], by[kMaxRank], sum = 0;
    for (int i = 0; i < y.rank; i++) from[i] = by[i] = at[i];
    for (int64_t k = 0; k < x.dims[last]; k++) {
      from[last] = k;
      by[last - 1] = t.trans_b ? at[last] : k, by[last] = t.trans_b ? k : at[last];
      sum += (read_integer(x, offset_of(x, from)) - t.a_zero) *
             (read_integer(w, offset_of(w, by)) - t.b_zero);
    }
    const double scaled = double(float(float(wrapped(sum)) * t.scale)),
                 step = t.requant == RequantMode::kFloatEven
                            ? std::nearbyint(limited(scaled, -1e6, 1e6))
                            : rescaled(t.requant, wrapped(sum), t.multiplier, t.shift);
    y.as<uint8_t>()[offset_of(y, at)] = uint8_t(limited(step + t.y_zero, t.low, t.high));
  });
  return {};
}

}  // namespace ingot::cpu::oracle
