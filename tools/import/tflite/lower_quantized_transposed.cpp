// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_quantized_transposed.cpp - transposed convolutions of bytes and of
// int16, in whole numbers.
#include <algorithm>

#include "tools/import/tflite/quantized_channels.h"

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

// Transposed convolutions are convolutions with the filter turned around, over the image with
// zero points between its pixels.

/// Along one direction.
struct Spread {
  int64_t from = 0, to = 0, kernel = 1, stride = 1;
  int64_t before = 0, after = 0;  // of the convolution; what is negative is cut off behind
};
bool find_pads(Call& call, bool same, Spread* s) {
  for (const int64_t n : {s->from, s->to, s->kernel, s->stride})
    if (n < 1 || n > (int64_t{1} << 24)) call.corrupt("its extents are out of range");
  const int64_t steps =
      same ? (s->to + s->stride - 1) / s->stride : (s->to - s->kernel) / s->stride + 1;
  const int64_t total = std::max<int64_t>((steps - 1) * s->stride + s->kernel - s->to, 0);
  const int64_t pad = same ? total / 2 : 0;
  s->before = s->kernel - 1 - pad;
  // behind each pixel, the last one too, lie stride - 1 zero points
  s->after = s->to - s->from * s->stride + pad;
  return s->before >= 0 && s->from * s->stride + s->after > 0;
}

ValueId spread_out(Call& call, ValueId image, const QuantParams& x, const Spread& h,
                   const Spread& w) {
  aten::Builder& b = call.b;
  const Dims dims = b.dims(image);
  const ValueId apart = b.reshape(image, {dims[0], dims[1], Dim(1), dims[2], Dim(1), dims[3]});
  const ValueId filled =
      b.emit(op::Pad,
             {apart, b.integers({0, 0, 0, 0, 0, 0, 0, 0, h.stride - 1, 0, w.stride - 1, 0}),
              x.is_int16 ? b.scalar(DType::kI16, 0) : b.scalar(DType::kU8, double(x.zero))},
             {{attr::mode, std::string("constant")}});
  ValueId wide =
      b.reshape(filled, {dims[0], Dim(h.from * h.stride), Dim(w.from * w.stride), dims[3]});
  if (h.after < 0) wide = b.slice(wide, 1, Dim(0), Dim(h.from * h.stride + h.after));
  if (w.after < 0) wide = b.slice(wide, 2, Dim(0), Dim(w.from * w.stride + w.after));
  return wide;
}

bool convolve_transposed_int8(Call& call) {
  call.expect_rank(2, 4);
  const auto x = call.quantized(2), y = call.output_quantized(0);
  const auto range = range_of_activation(call.integer("fused_activation_function"));
  const std::vector<int64_t> filter = ModelFile::shape(call.tensor(1));  // [O, h, w, I]
  const Dims in = call.b.dims(call.input(2));
  const std::vector<int64_t> wanted = call.known_integers(0, "output_shape");
  if (filter.size() != 4 || wanted.size() != 4)
    call.corrupt("its filter has " + std::to_string(filter.size()) +
                 " dimensions, its output shape " + std::to_string(wanted.size()) +
                 " extents, expected 4");
  if (!in[1].value() || !in[2].value() || !x || !y || !range || in[3] != Dim(filter[3]) ||
      x->is_int16 != y->is_int16)
    return false;
  Spread h{*in[1].value(), wanted[1], filter[1], call.integer("stride_h")},
      w{*in[2].value(), wanted[2], filter[2], call.integer("stride_w")};
  const bool same = call.integer("padding") == 0;
  Weights weights;
  if (!find_pads(call, same, &h) || !find_pads(call, same, &w) ||
      !read_weights_int8(call, 1, 0, &weights))
    return false;
  weights.outputs = filter[0], weights.products = filter[1] * filter[2] * filter[3];
  for (int64_t o = 0; o < filter[0]; o++) {  // turned around
    int8_t* const at = weights.values.data() + o * weights.products;
    for (int64_t i = 0, taps = filter[1] * filter[2]; i < taps / 2; i++)
      std::swap_ranges(at + i * filter[3], at + (i + 1) * filter[3],
                       at + (taps - 1 - i) * filter[3]);
  }
  const ValueId image = spread_out(call, call.input(2), *x, h, w);
  const ValueId filters =
      call.b.constant(graph::make_constant(DType::kI8, filter, weights.values.data()));
  Rounding rounding = rounding_of_convolution(call, *x, 3);
  // Micro does not read the option.
  if (x->is_int16 && call.as_micro() && !call.has(3)) rounding.requant = "fixed_wide";
  bool read = true;
  const auto made = [&](const char* requant) {
    rounding.requant = requant;
    std::vector<ValueId> operands = {image, filters};
    read = read && read_channels_int8(call, 3, *x, *y, weights, rounding, &operands);
    if (!read) return kAbsent;
    aten::Attributes attributes = {
        {attr::kernel_h, filter[1]},      {attr::kernel_w, filter[2]},
        {attr::pad_top, h.before},        {attr::pad_bottom, std::max<int64_t>(h.after, 0)},
        {attr::pad_left, w.before},       {attr::pad_right, std::max<int64_t>(w.after, 0)},
        {attr::x_zero, int64_t(x->zero)}, {attr::w_zero, weights.zero}};
    add_output_int8(*y, call.limits(*range, *y), rounding, &attributes);
    return call.b.emit(op::QuantizedConv2d, operands, attributes);
  };
  const ValueId out = rounding.is_narrow() && !call.as_micro() && (x->is_signed || x->is_int16)
                          ? rounded_together(call, kTogether, filter[0], made)
                          : made(rounding.requant);
  if (out != kAbsent) call.give(out);
  return out != kAbsent;
}

}  // namespace

void add_quantized_transposed(QuantizedTable& table) {
  table["TRANSPOSE_CONV"] = convolve_transposed_int8;
}

}  // namespace ingot::tflite
