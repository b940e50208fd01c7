// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_quantized_product.cpp - convolutions and products of bytes.
#include <algorithm>

#include "runtime/op/requantize.h"
#include "tools/import/tflite/quantized_channels.h"
#include "tools/import/tflite/window.h"

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

/// What both kinds of convolution share. `weights` are [O, h, w, C / groups]. kAbsent: there is no
/// arithmetic for these.
ValueId convolved_int8(Call& call, const Weights& w, int64_t kh, int64_t kw, int64_t groups,
                       const Rounding& rounding) {
  const auto x = call.quantized(0), y = call.output_quantized(0);
  const auto range = range_of_activation(call.integer("fused_activation_function"));
  if (!x || !y || !range || x->is_int16 != y->is_int16) return kAbsent;
  const ValueId image = call.input(0);
  const Dims dims = call.b.dims(image);
  aten::Attributes attributes = window_attributes(
      call, dims, {kh, call.integer("stride_h"), call.integer("dilation_h_factor")},
      {kw, call.integer("stride_w"), call.integer("dilation_w_factor")});
  const int64_t each = w.products / (kh * kw);
  std::vector<ValueId> operands = {
      image, call.b.constant(
                 graph::make_constant(DType::kI8, {w.outputs, kh, kw, each}, w.values.data()))};
  if (!read_channels_int8(call, 2, *x, *y, w, rounding, &operands)) return kAbsent;
  attributes[attr::groups] = groups;
  attributes[attr::method] = std::string(groups == 1                        ? "direct"
                                         : each == 1 && groups == w.outputs ? "depthwise"
                                                                            : "grouped");
  attributes[attr::x_zero] = int64_t(x->zero);
  attributes[attr::w_zero] = w.zero;
  add_output_int8(*y, call.limits(*range, *y), rounding, &attributes);
  return call.b.emit(op::QuantizedConv2d, operands, std::move(attributes));
}
bool give_made(Call& call, ValueId y) {
  if (y != kAbsent) call.give(y);
  return y != kAbsent;
}

/// Four extents that are known, of a filter; that of the channels of the image.
bool read_filter_int8(Call& call, std::vector<int64_t>* filter, int64_t* channels) {
  call.expect_rank(0, 4);
  *filter = ModelFile::shape(call.tensor(1));
  const auto last = call.b.dims(call.input(0)).back().value();
  if (filter->size() != 4)
    call.corrupt("its filter has " + std::to_string(filter->size()) + " dimensions, expected 4");
  if (!last || *last < 1) return false;
  for (const int64_t d : *filter)
    if (d < 1) call.corrupt("its filter has an extent of " + std::to_string(d));
  *channels = *last;
  return true;
}

bool convolve_int8(Call& call) {
  std::vector<int64_t> filter;  // [O, h, w, I / groups]
  int64_t channels = 0;
  Weights w;
  if (!read_filter_int8(call, &filter, &channels) || !read_weights_int8(call, 1, 0, &w))
    return false;
  w.outputs = filter[0], w.products = filter[1] * filter[2] * filter[3];
  if (channels % filter[3] != 0 || filter[0] % (channels / filter[3]) != 0)
    call.corrupt("its input has " + std::to_string(channels) + " channels, its filter " +
                 std::to_string(filter[3]) + " to " + std::to_string(filter[0]));
  const auto x = call.quantized(0);
  if (!x) return false;
  Rounding rounding = rounding_of_convolution(call, *x, 2);
  // LiteRT has its reference kernel alone for groups.
  if (channels != filter[3] && rounding.is_narrow()) rounding.requant = "fixed_away";
  return give_made(call,
                   convolved_int8(call, w, filter[1], filter[2], channels / filter[3], rounding));
}

bool convolve_depthwise_int8(Call& call) {
  std::vector<int64_t> filter;  // [1, h, w, C * multiplier]
  int64_t channels = 0;
  Weights plain;
  if (!read_filter_int8(call, &filter, &channels) || !read_weights_int8(call, 1, 3, &plain))
    return false;
  if (filter[0] != 1 || filter[3] % channels != 0)
    call.corrupt("its filter of " + std::to_string(filter[3]) + " channels does not fit " +
                 std::to_string(channels));
  Weights w = plain;
  w.outputs = filter[3], w.products = filter[1] * filter[2];
  for (int64_t o = 0; o < w.outputs; o++)
    for (int64_t k = 0; k < w.products; k++)
      w.values[size_t(o * w.products + k)] = plain.values[size_t(k * w.outputs + o)];
  const auto x = call.quantized(0);
  if (!x) return false;
  Rounding rounding = rounding_of_convolution(call, *x, 2);
  const auto made = [&](const char* requant) {
    rounding.requant = requant;
    return convolved_int8(call, w, filter[1], filter[2], channels, rounding);
  };
  if (x->is_int16 && rounding.is_narrow()) rounding.requant = "fixed_away";
  return give_made(call, rounding.is_fixed() && !call.as_micro() && !x->is_int16
                             ? rounded_together(call, x->is_signed ? kTogether : 0, w.outputs, made)
                             : made(rounding.requant));
}

/// Whatever is in front of the last axis counts as rows.
bool fully_connected_int8(Call& call) {
  const auto x = call.quantized(0), y = call.output_quantized(0);
  const auto range = range_of_activation(call.integer("fused_activation_function"));
  Weights w;
  const std::vector<int64_t> filter = ModelFile::shape(call.tensor(1));  // [O, I]
  if (call.integer("weights_format") != 0 || !x || !y || !range || x->is_int16 != y->is_int16 ||
      filter.size() != 2 || filter[0] < 1 || filter[1] < 1)
    return false;
  ValueId rows = call.input(0);
  const Dims in = call.b.dims(rows);
  const bool keep = call.flag("keep_num_dims");
  if (in.empty()) call.corrupt("its input has no dimensions");
  if (keep ? in.back() != Dim(filter[1]) : in.size() != 2 || in[1] != Dim(filter[1])) {
    const Dim count = graph::product(in) / Dim(filter[1]);
    if (keep || count * Dim(filter[1]) != graph::product(in))
      call.corrupt("its input has shape " + graph::text(in) + ", its weights " +
                   graph::text(Dims{Dim(filter[0]), Dim(filter[1])}));
    rows = call.b.reshape(rows, Dims{count, Dim(filter[1])});
  }
  if (is_int16_type(call.tensor(1))) return connect_int16(call, rows, *range);
  if (!read_weights_int8(call, 1, 0, &w)) return false;
  w.outputs = filter[0], w.products = filter[1];
  std::vector<ValueId> operands = {rows, call.b.constant(graph::make_constant(
                                             DType::kI8, {filter[0], filter[1]}, w.values.data()))};
  const Rounding rounding = rounding_of_linear(call, *x, w.scales.size() > 1);
  if (!read_channels_int8(call, 2, *x, *y, w, rounding, &operands)) return false;
  aten::Attributes attributes = {{attr::w_zero, w.zero}};
  add_output_int8(*y, call.limits(*range, *y), rounding, &attributes);
  call.give(call.b.emit(op::QuantizedLinear, operands, std::move(attributes)));
  return true;
}

/// Rows times a constant matrix of int8, as a fully connected layer.
bool multiply_by_constant(Call& call, const QuantParams& x, const QuantParams& y,
                          const Rounding& rounding) {
  const std::vector<int64_t> dims = ModelFile::shape(call.tensor(1));
  if (dims.size() != 2 || dims[0] < 1 || dims[1] < 1 || call.flag("adj_x")) return false;
  const bool turned = call.flag("adj_y");  // [O, I]
  Weights plain;
  if (!read_weights_int8(call, 1, turned ? 0 : 1, &plain) || (x.is_int16 && plain.zero != 0))
    return false;
  Weights w = plain;
  w.outputs = dims[turned ? 0 : 1], w.products = dims[turned ? 1 : 0];
  for (int64_t o = 0; !turned && o < w.outputs; o++)
    for (int64_t k = 0; k < w.products; k++)
      w.values[size_t(o * w.products + k)] = plain.values[size_t(k * w.outputs + o)];
  const ValueId rows = call.input(0);
  if (call.b.rank(rows) < 1 || call.b.dims(rows).back() != Dim(w.products))
    call.corrupt("its input has shape " + graph::text(call.b.dims(rows)) + ", its matrix " +
                 graph::text(Dims(dims.begin(), dims.end())));
  std::vector<ValueId> operands = {
      rows,
      call.b.constant(graph::make_constant(DType::kI8, {w.outputs, w.products}, w.values.data()))};
  if (!read_channels_int8(call, 2, x, y, w, rounding, &operands)) return false;
  aten::Attributes attributes = {{attr::w_zero, w.zero}};
  add_output_int8(y, {0, y.most()}, rounding, &attributes);
  call.give(call.b.emit(op::QuantizedLinear, operands, std::move(attributes)));
  return true;
}

/// LiteRT has a kernel for a constant of int8 and leaves its output at zero; here it is what the
/// fully connected layers of TFLite Micro compute.
bool multiply_matrix_int16(Call& call) {
  const auto x = call.quantized(0), y = call.output_quantized(0);
  if (is_int16_type(call.tensor(1))) return multiply_int16(call);
  return x && y && x->is_int16 && y->is_int16 &&
         multiply_by_constant(call, *x, *y, {"fixed_wide", false});
}

/// XNNPACK takes a second matrix without a zero point; the others, and all in the other modes, have
/// one multiplier and are rounded twice.
bool multiply_matrix_int8(Call& call) {
  const auto x = call.quant_params(0), w = call.quant_params(1), y = call.output_quant_params(0);
  if (!x || !w || !y || !x->is_signed || !w->is_signed || !y->is_signed) return false;
  const bool xnnpack = call.as_xnnpack() && w->source_zero() == 0;
  const Rounding rounding{xnnpack ? "float_even" : "fixed_away", true};
  if (multiply_by_constant(call, *x, *y, rounding)) return true;
  aten::Builder& b = call.b;
  ValueId left = call.input(0), right = call.input(1);
  const size_t rank = size_t(std::max(b.rank(left), b.rank(right)));
  if (b.rank(left) < 2 || b.rank(right) < 2) call.corrupt("its inputs are no matrices");
  if (call.flag("adj_x")) {
    std::vector<int64_t> order;
    for (int64_t i = 0; i < b.rank(left); i++) order.push_back(i);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    left = b.transpose(left, order);
  }
  // one size of what is in front of the matrices
  const auto filled = [&](ValueId value) {
    Dims dims = b.dims(value);
    dims.insert(dims.begin(), rank - dims.size(), Dim(1));
    return dims;
  };
  Dims of_left = filled(left), of_right = filled(right);
  for (size_t i = 0; i + 2 < rank; i++) {
    const Dim one(1), common = of_left[i] == one ? of_right[i] : of_left[i];
    if ((of_left[i] != one && of_left[i] != common) ||
        (of_right[i] != one && of_right[i] != common))
      call.corrupt("its inputs have shapes " + graph::text(b.dims(left)) + " and " +
                   graph::text(b.dims(right)));
    of_left[i] = of_right[i] = common;
  }
  const bool turned = call.flag("adj_y");
  const Dim inner = of_right[rank - (turned ? 1 : 2)];
  if (of_left.back() != inner)
    call.corrupt("multiplies " + graph::text(of_left) + " by " + graph::text(of_right));
  if (!inner.value() || *inner.value() > quantized::kMaxProducts)
    call.refuse("", "sums " + inner.text() + " products of bytes, at most " +
                        std::to_string(quantized::kMaxProducts) + " that are known are supported");
  const auto of_size = [&](ValueId value, const Dims& dims) {
    return b.dims(value) == dims ? value : b.expand(b.reshape(value, filled(value)), dims);
  };
  aten::Attributes attributes = {{attr::trans_b, int64_t(turned)},
                                 {attr::a_zero, int64_t(x->zero)},
                                 {attr::b_zero, int64_t(w->zero)},
                                 {attr::scale, double(x->scale * w->scale / y->scale)}};
  if (!xnnpack) {
    const FixedPoint by = fixed_point(double(x->scale * w->scale) / double(y->scale));
    attributes[attr::scale] = 0.0;
    attributes[attr::multiplier] = int64_t(by.multiplier);
    attributes[attr::shift] = int64_t(-by.shift);
  }
  add_output_int8(*y, {}, rounding, &attributes);
  call.give(b.emit(op::QuantizedMatMul, {of_size(left, of_left), of_size(right, of_right)},
                   std::move(attributes)));
  return true;
}

void check_bytes(Call& call, const Taps& taps) {
  for (const int64_t n : {taps.kernel, taps.stride, taps.dilation})
    if (n < 1 || n > (int64_t{1} << 31))
      call.corrupt("its window, stride or dilation is " + std::to_string(n));
}

}  // namespace

aten::Attributes window_attributes(Call& call, const Dims& image, const Taps& height,
                                   const Taps& width) {
  check_bytes(call, height), check_bytes(call, width);
  const bool same = call.integer("padding") == 0;
  int64_t pads[2][2] = {};
  const Taps* const both[] = {&height, &width};
  for (size_t i = 0; same && i < 2; i++) {
    const Taps& t = *both[i];
    const auto in = image[i + 1].value();
    if (!in && t.stride == 1) {  // as many pixels as it had
      pads[i][0] = (t.kernel - 1) * t.dilation / 2;
      pads[i][1] = (t.kernel - 1) * t.dilation - pads[i][0];
      continue;
    }
    if (!in)
      call.refuse("padding",
                  "SAME with stride " + std::to_string(t.stride) +
                      " needs the extent of a symbolic dimension (" + image[i + 1].text() + ")",
                  "bind it with --dim or --input-shape");
    const int64_t count = (*in + t.stride - 1) / t.stride;
    const int64_t total =
        std::max<int64_t>((count - 1) * t.stride + (t.kernel - 1) * t.dilation + 1 - *in, 0);
    pads[i][0] = total / 2, pads[i][1] = total - total / 2;
  }
  return {{attr::kernel_h, height.kernel},     {attr::kernel_w, width.kernel},
          {attr::stride_h, height.stride},     {attr::stride_w, width.stride},
          {attr::dilation_h, height.dilation}, {attr::dilation_w, width.dilation},
          {attr::pad_top, pads[0][0]},         {attr::pad_bottom, pads[0][1]},
          {attr::pad_left, pads[1][0]},        {attr::pad_right, pads[1][1]}};
}

void add_int16_products(QuantizedTable& table) {
  add_quantized_products(table);
  table["BATCH_MATMUL"] = multiply_matrix_int16;
}
void add_quantized_products(QuantizedTable& table) {
  table["CONV_2D"] = convolve_int8;
  table["DEPTHWISE_CONV_2D"] = convolve_depthwise_int8;
  table["FULLY_CONNECTED"] = fully_connected_int8;
  table["BATCH_MATMUL"] = multiply_matrix_int8;
}

}  // namespace ingot::tflite
