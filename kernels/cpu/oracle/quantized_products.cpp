// kernels/cpu/oracle/quantized_products.cpp - products of bytes, one sum at a time, in 64 bits.
#include <cstring>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"
#include "kernels/cpu/oracle/rescale.h"
#include "runtime/op/quantized_conv2d.h"
#include "runtime/op/quantized_linear.h"

namespace ingot::cpu::oracle {
namespace {

double wrapped(int64_t x) { return double(int32_t(uint32_t(uint64_t(x)))); }

/// Biases, multipliers, shifts.
int32_t channel_number(const OpArguments& a, int64_t row, int64_t o) {
  return a.inputs[2].as<const int32_t>()[row * a.inputs[2].dims[1] + o];
}

/// A step of the output, before its zero point.
double step_of(RequantMode mode, double sum, const OpArguments& a, int64_t o) {
  const int32_t number = channel_number(a, 1, o);
  if (mode == RequantMode::kFloatEven) {
    float multiplier;
    std::memcpy(&multiplier, &number, sizeof multiplier);
    const double step = double(float(float(sum) * multiplier));
    // as limits do: what is no number is above them
    return step == step ? std::nearbyint(limited(step, -1e6, 1e6)) : 1e6;
  }
  return rescaled(mode, sum, number, channel_number(a, 2, o));
}

template <class A>
uint8_t output_of(const A& t, double sum, const OpArguments& a, int64_t o) {
  const double step = step_of(t.requant, sum, a, o) + t.y_zero;
  return uint8_t(limited(step, t.low, t.high));
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

}  // namespace

Status quantized_conv2d(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const QuantizedConv2dAttributes& t = a.as<QuantizedConv2dAttributes>();
  const TensorView &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  const int64_t groups = t.groups, outputs = w.dims[0], depth = w.dims[3], runs = w.dims[1],
                length = w.dims[2] * depth;
  for_each_index(y, [&](const int64_t* at) {
    const int64_t o = at[3], group = outputs ? o / (outputs / groups) : 0;
    int64_t sum = channel_number(a, 0, o);
    for (int64_t ky = 0; ky < t.kernel_h; ky++)
      for (int64_t kx = 0; kx < t.kernel_w; kx++)
        for (int64_t c = 0; c < depth; c++) {
          const int64_t in_y = at[1] * t.stride_h + ky * t.dilation_h - t.pad_top,
                        in_x = at[2] * t.stride_w + kx * t.dilation_w - t.pad_left;
          const bool inside = in_y >= 0 && in_y < x.dims[1] && in_x >= 0 && in_x < x.dims[2];
          const int64_t from[4] = {at[0], in_y, in_x, group * depth + c};
          const int64_t k = (ky * t.kernel_w + kx) * depth + c;
          const int64_t byte = inside ? read_integer(x, offset_of(x, from)) : t.x_zero;
          sum += byte * (weight(w, o, k / length, k % length, runs, length) - t.w_zero);
        }
    y.as<uint8_t>()[offset_of(y, at)] = output_of(t, wrapped(sum), a, o);
  });
  return {};
}

Status quantized_linear(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const QuantizedLinearAttributes& t = a.as<QuantizedLinearAttributes>();
  const TensorView &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  const int64_t k = w.dims[1];
  for_each_index(y, [&](const int64_t* at) {
    const int64_t o = at[y.rank - 1];
    int64_t sum = channel_number(a, 0, o), from[kMaxRank];
    for (int i = 0; i < x.rank; i++) from[i] = at[i];
    for (int64_t c = 0; c < k; c++) {
      from[x.rank - 1] = c;
      sum += read_integer(x, offset_of(x, from)) * (weight(w, o, 0, c, 1, k) - t.w_zero);
    }
    y.as<uint8_t>()[offset_of(y, at)] = output_of(t, wrapped(sum), a, o);
  });
  return {};
}

}  // namespace ingot::cpu::oracle
