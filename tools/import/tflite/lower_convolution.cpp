// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_convolution.cpp - convolutions: weights are turned into the order of
// the graph, where they are constants while converting.
#include <algorithm>
#include <cstring>

#include "tools/import/tflite/hybrid.h"

namespace ingot::tflite {
namespace {

using Integers = std::vector<int64_t>;

struct Window {
  Integers strides, dilations;
  bool same = false;
};

Window read_window(Call& call, bool dilated = true) {
  Window w;
  w.strides = {call.integer("stride_h"), call.integer("stride_w")};
  w.dilations = {1, 1};
  if (dilated) w.dilations = {call.integer("dilation_h_factor"), call.integer("dilation_w_factor")};
  w.same = call.integer("padding") == 0;
  return w;
}

Window read_window_3d(Call& call) {
  Window w;
  w.strides = {call.integer("stride_d"), call.integer("stride_h"), call.integer("stride_w")};
  w.dilations = {call.integer("dilation_d_factor"), call.integer("dilation_h_factor"),
                 call.integer("dilation_w_factor")};
  w.same = call.integer("padding") == 0;
  return w;
}

Integers static_dims(Call& call, size_t input, const char* what) {
  Integers out;
  for (const graph::Dim& d : call.b.dims(call.input(input))) {
    if (!d.is_static())
      call.refuse(what, "has the symbolic dimension " + d.text(),
                  "bind it with --dim or --input-shape");
    out.push_back(*d.value());
  }
  return out;
}

aten::Attributes attributes_of(const Window& w, const Integers& kernel, int64_t group) {
  return {{attr::kernel_shape, kernel},
          {attr::strides, w.strides},
          {attr::dilations, w.dilations},
          {attr::group, group},
          {attr::auto_pad, std::string(w.same ? "SAME_UPPER" : "VALID")}};
}

int64_t channels(Call& call, size_t input) {
  const graph::Dims dims = call.b.dims(call.input(input));
  if (dims.empty() || !dims.back().is_static())
    call.refuse("input", "has a symbolic number of channels",
                "bind it with --dim or --input-shape");
  return *dims.back().value();
}

/// [C, H, W] is an image without a batch to some converters.
ValueId image(Call& call, size_t input, int64_t rank) {
  call.expect_rank(input, rank);
  return call.channels_second(call.input(input));
}

void convolve(Call& call) {
  if (call.reads_floats() && convolve_hybrid(call)) return;
  const Window w = read_window(call);
  call.expect_rank(1, 4);
  const Integers weight = static_dims(call, 1, "filter");  // [O, h, w, I / group]
  const int64_t in = channels(call, 0);
  if (weight[3] < 1 || in % weight[3] != 0)
    call.corrupt("its input has " + std::to_string(in) + " channels, its filter " +
                 std::to_string(weight[3]));
  std::vector<ValueId> inputs = {image(call, 0, 4), call.b.transpose(call.input(1), {0, 3, 1, 2})};
  if (call.has(2)) inputs.push_back(call.input(2));
  const ValueId x =
      call.b.emit(op::Conv, inputs, attributes_of(w, {weight[1], weight[2]}, in / weight[3]));
  call.give(call.channels_last(call.activated(x)));
}

void convolve_depthwise(Call& call) {
  if (call.reads_floats() && convolve_depthwise_hybrid(call)) return;
  const Window w = read_window(call);
  call.expect_rank(1, 4);
  const Integers weight = static_dims(call, 1, "filter");  // [1, h, w, C * multiplier]
  const int64_t in = channels(call, 0);
  if (weight[0] != 1 || in < 1 || weight[3] % in != 0)
    call.corrupt("its filter of " + std::to_string(weight[3]) + " channels does not fit " +
                 std::to_string(in));
  std::vector<ValueId> inputs = {image(call, 0, 4), call.b.transpose(call.input(1), {3, 0, 1, 2})};
  if (call.has(2)) inputs.push_back(call.input(2));
  const ValueId x = call.b.emit(op::Conv, inputs, attributes_of(w, {weight[1], weight[2]}, in));
  call.give(call.channels_last(call.activated(x)));
}

void convolve_3d(Call& call) {
  const Window w = read_window_3d(call);
  call.expect_rank(1, 5);
  const Integers weight = static_dims(call, 1, "filter");  // [d, h, w, I / group, O]
  const int64_t in = channels(call, 0);
  if (weight[3] < 1 || in % weight[3] != 0)
    call.corrupt("its input has " + std::to_string(in) + " channels, its filter " +
                 std::to_string(weight[3]));
  std::vector<ValueId> inputs = {image(call, 0, 5),
                                 call.b.transpose(call.input(1), {4, 3, 0, 1, 2})};
  if (call.has(2)) inputs.push_back(call.input(2));
  const ValueId x = call.b.emit(
      op::Conv, inputs, attributes_of(w, {weight[0], weight[1], weight[2]}, in / weight[3]));
  call.give(call.channels_last(call.activated(x)));
}

/// The output says its own extents; the pads are those of the convolution that it turns around.
ValueId transposed(Call& call, ValueId x, ValueId weight, size_t bias, const Window& w,
                   const Integers& kernel, const graph::Dims& wanted) {
  const size_t spatial = kernel.size();
  const graph::Dims in = call.b.dims(x);
  Integers pads(2 * spatial, 0), more(spatial, 0);
  if (wanted.size() != spatial + 2)
    call.corrupt("its output shape has " + std::to_string(wanted.size()) + " extents, expected " +
                 std::to_string(spatial + 2));
  for (size_t i = 0; i < spatial; i++) {
    const auto from = in[i + 2].value(), to = wanted[i + 1].value();
    if (!from || !to)
      call.refuse("output_shape", "has a symbolic extent", "bind it with --dim or --input-shape");
    if (w.strides[i] < 1 || *to < 1 || *to > (int64_t{1} << 31) || *from > (int64_t{1} << 31) ||
        kernel[i] > (int64_t{1} << 31) || w.strides[i] > (int64_t{1} << 31))
      call.corrupt("its extents are out of range");
    const int64_t window = (kernel[i] - 1) * w.dilations[i] + 1;
    const int64_t steps =
        w.same ? (*to + w.strides[i] - 1) / w.strides[i] : (*to - window) / w.strides[i] + 1;
    const int64_t total = std::max<int64_t>((steps - 1) * w.strides[i] + window - *to, 0);
    pads[i] = w.same ? total / 2 : 0;
    const int64_t rest = (*from - 1) * w.strides[i] + window - pads[i] - *to;
    pads[i + spatial] = std::max<int64_t>(rest, 0);
    more[i] = std::max<int64_t>(-rest, 0);
  }
  std::vector<ValueId> inputs = {x, weight};
  if (call.has(bias)) inputs.push_back(call.input(bias));
  return call.b.emit(op::ConvTranspose, inputs,
                     {{attr::kernel_shape, kernel},
                      {attr::strides, w.strides},
                      {attr::dilations, w.dilations},
                      {attr::group, int64_t(1)},
                      {attr::auto_pad, std::string("NOTSET")},
                      {attr::pads, pads},
                      {attr::output_padding, more}});
}

void convolve_transposed(Call& call) {
  const Window w = read_window(call, false);
  const graph::Dims wanted = call.known_dims(0, "output_shape");
  call.expect_rank(1, 4);
  const Integers weight = static_dims(call, 1, "filter");  // [O, h, w, I]
  const ValueId x =
      transposed(call, image(call, 2, 4), call.b.transpose(call.input(1), {3, 0, 1, 2}), 3, w,
                 {weight[1], weight[2]}, wanted);
  call.give(call.channels_last(call.activated(x)));
}

/// Of MediaPipe: the options are a C struct of whole numbers, padding (1 same, 2 valid) and both
/// strides at first. The output is as large as the input spreads it, less k - (in - 1) % stride - 1
/// where the padding is same.
void convolve_transposed_with_bias(Call& call) {
  const auto* bytes = call.op.custom_options();
  int32_t options[3] = {};  // padding, stride_w, stride_h
  if (!bytes || bytes->size() < sizeof options)
    call.corrupt("its options have " + std::to_string(bytes ? bytes->size() : 0) +
                 " bytes, expected " + std::to_string(sizeof options) + " or more");
  std::memcpy(options, bytes->data(), sizeof options);
  if (options[0] != 1 && options[0] != 2)
    call.corrupt("its padding is " + std::to_string(options[0]) + ", expected 1 or 2");
  call.expect_rank(1, 4);
  const Integers weight = static_dims(call, 1, "filter");  // [O, h, w, I]
  const ValueId x = image(call, 0, 4);
  const graph::Dims in = call.b.dims(x);
  Window w;
  w.same = false;
  w.strides = {options[2], options[1]}, w.dilations = {1, 1};
  Integers pads(4, 0);
  for (size_t i = 0; i < 2; i++) {
    const auto from = in[i + 2].value();
    constexpr int64_t kMax = int64_t{1} << 24;
    if (!from)
      call.refuse("", "its image has a symbolic extent", "bind it with --dim or --input-shape");
    if (*from < 1 || w.strides[i] < 1 || weight[i + 1] < 1 || *from > kMax || w.strides[i] > kMax ||
        weight[i + 1] > kMax)
      call.corrupt("its extents are out of range");
    const int64_t total =
        options[0] == 1 ? std::max<int64_t>(0, weight[i + 1] - (*from - 1) % w.strides[i] - 1) : 0;
    pads[i] = total / 2, pads[i + 2] = total - total / 2;
  }
  const std::vector<ValueId> inputs = {x, call.b.transpose(call.input(1), {3, 0, 1, 2}),
                                       call.input(2)};
  call.give(call.channels_last(call.b.emit(op::ConvTranspose, inputs,
                                           {{attr::kernel_shape, Integers{weight[1], weight[2]}},
                                            {attr::strides, w.strides},
                                            {attr::dilations, w.dilations},
                                            {attr::group, int64_t(1)},
                                            {attr::auto_pad, std::string("NOTSET")},
                                            {attr::pads, pads},
                                            {attr::output_padding, Integers{0, 0}}})));
}

void convolve_3d_transposed(Call& call) {
  const Window w = read_window_3d(call);
  const graph::Dims wanted = call.known_dims(0, "output_shape");
  call.expect_rank(1, 5);
  const Integers weight = static_dims(call, 1, "filter");  // [d, h, w, O, I]
  const ValueId x =
      transposed(call, image(call, 2, 5), call.b.transpose(call.input(1), {4, 3, 0, 1, 2}), 3, w,
                 {weight[0], weight[1], weight[2]}, wanted);
  call.give(call.channels_last(call.activated(x)));
}

}  // namespace

void add_convolution(TranslateTable& table) {
  table["CONV_2D"] = {2, 3, convolve};
  table["DEPTHWISE_CONV_2D"] = {2, 3, convolve_depthwise};
  table["CONV_3D"] = {2, 3, convolve_3d};
  table["TRANSPOSE_CONV"] = {3, 4, convolve_transposed};
  table["Convolution2DTransposeBias"] = {3, 3, convolve_transposed_with_bias};
  table["CONV_3D_TRANSPOSE"] = {3, 4, convolve_3d_transposed};
}

}  // namespace ingot::tflite
