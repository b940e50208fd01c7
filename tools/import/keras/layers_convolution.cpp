// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/layers_convolution.cpp - convolutions of one and two dimensions in all their
// forms.
#include <algorithm>

#include "tools/import/keras/layer_call.h"

namespace ingot::keras {
namespace {

struct Window {
  std::vector<int64_t> kernel, strides, dilations;
  std::string padding;
  bool last = true;
};

Window read_window(LayerCall& call, size_t spatial) {
  Window w;
  w.kernel = call.integers("kernel_size", spatial, 1);
  w.strides = call.integers("strides", spatial, 1);
  w.dilations = call.integers("dilation_rate", spatial, 1);
  w.padding = call.text("padding", "valid");
  w.last = call.channels_last();
  call.expect_rank(int64_t(spatial) + 2);
  for (size_t i = 0; i < spatial; i++)
    if (w.kernel[i] < 1 || w.strides[i] < 1 || w.dilations[i] < 1)
      call.corrupt("its window has an extent below 1");
  return w;
}

aten::Attributes attributes_of(LayerCall& call, const Window& w, int64_t group) {
  aten::Attributes out = {{attr::kernel_shape, w.kernel},
                          {attr::strides, w.strides},
                          {attr::dilations, w.dilations},
                          {attr::group, group}};
  if (w.padding == "same") {
    out[attr::auto_pad] = std::string("SAME_UPPER");
  } else if (w.padding == "valid") {
    out[attr::auto_pad] = std::string("VALID");
  } else if (w.padding == "causal" && w.kernel.size() == 1 && w.last) {
    out[attr::auto_pad] = std::string("NOTSET");
    out[attr::pads] = std::vector<int64_t>{(w.kernel[0] - 1) * w.dilations[0], 0};
  } else {
    call.refuse("padding", "'" + w.padding + "' is not known here");
  }
  return out;
}

/// [k..., in, multiplier] to [in * multiplier, 1, k...].
Weight depthwise_of(const Weight& weight) {
  const int64_t spatial = int64_t(weight.dims.size()) - 2;
  std::vector<int64_t> perm = {spatial, spatial + 1};
  for (int64_t d = 0; d < spatial; d++) perm.push_back(d);
  Weight out = layers::transposed(weight, perm);
  std::vector<int64_t> dims = {out.dims[0] * out.dims[1], 1};
  dims.insert(dims.end(), out.dims.begin() + 2, out.dims.end());
  out.dims = dims;
  return out;
}

std::vector<int64_t> joined(std::vector<int64_t> a, const std::vector<int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// `x` has the channels second.
void finish(LayerCall& call, ValueId x, bool last, const std::string& activation) {
  x = call.net.activation(x, activation, 1);
  call.give(call.from_channels_first(x, last));
}

int64_t channels_of(LayerCall& call, bool last) { return call.extent(last ? call.rank() - 1 : 1); }

template <size_t spatial>
void convolution(LayerCall& call) {
  const Window w = read_window(call, spatial);
  const int64_t filters = call.integer("filters", 0), groups = call.integer("groups", 1),
                channels = channels_of(call, w.last);
  const bool bias = call.truth("use_bias", true);
  const std::string activation = call.activation("activation");
  if (groups < 1 || channels % groups)
    call.corrupt("its " + std::to_string(channels) + " channels have " + std::to_string(groups) +
                 " groups");
  const std::vector<Weight> weights = call.weights(bias ? 2 : 1);
  call.expect_dims(weights[0], joined(w.kernel, {channels / groups, filters}), "kernel");
  std::vector<ValueId> inputs = {call.to_channels_first(call.input(), w.last),
                                 call.net.constant(turned_kernel(weights[0]))};
  if (bias) {
    call.expect_dims(weights[1], {filters}, "bias");
    inputs.push_back(call.net.constant(weights[1]));
  }
  finish(call, call.b.emit(op::Conv, inputs, attributes_of(call, w, groups)), w.last, activation);
}

template <size_t spatial>
void depthwise(LayerCall& call) {
  const Window w = read_window(call, spatial);
  const int64_t multiplier = call.integer("depth_multiplier", 1),
                channels = channels_of(call, w.last);
  const bool bias = call.truth("use_bias", true);
  const std::string activation = call.activation("activation");
  const std::vector<Weight> weights = call.weights(bias ? 2 : 1);
  call.expect_dims(weights[0], joined(w.kernel, {channels, multiplier}), "kernel");
  std::vector<ValueId> inputs = {call.to_channels_first(call.input(), w.last),
                                 call.net.constant(depthwise_of(weights[0]))};
  if (bias) inputs.push_back(call.net.constant(weights[1]));
  finish(call, call.b.emit(op::Conv, inputs, attributes_of(call, w, channels)), w.last, activation);
}

template <size_t spatial>
void separable(LayerCall& call) {
  const Window w = read_window(call, spatial);
  const int64_t filters = call.integer("filters", 0),
                multiplier = call.integer("depth_multiplier", 1),
                channels = channels_of(call, w.last);
  const bool bias = call.truth("use_bias", true);
  const std::string activation = call.activation("activation");
  if (call.integer("groups", 1) != 1) call.refuse("groups", "other than 1 is not built");
  const std::vector<Weight> weights = call.weights(bias ? 3 : 2);
  call.expect_dims(weights[0], joined(w.kernel, {channels, multiplier}), "depthwise kernel");
  call.expect_dims(weights[1],
                   joined(std::vector<int64_t>(spatial, 1), {channels * multiplier, filters}),
                   "pointwise kernel");
  const ValueId first = call.b.emit(
      op::Conv,
      {call.to_channels_first(call.input(), w.last), call.net.constant(depthwise_of(weights[0]))},
      attributes_of(call, w, channels));
  std::vector<ValueId> inputs = {first, call.net.constant(turned_kernel(weights[1]))};
  if (bias) inputs.push_back(call.net.constant(weights[2]));
  Window one{std::vector<int64_t>(spatial, 1), std::vector<int64_t>(spatial, 1),
             std::vector<int64_t>(spatial, 1), "valid", w.last};
  finish(call, call.b.emit(op::Conv, inputs, attributes_of(call, one, 1)), w.last, activation);
}

template <size_t spatial>
void transposed_convolution(LayerCall& call) {
  const Window w = read_window(call, spatial);
  const int64_t filters = call.integer("filters", 0), channels = channels_of(call, w.last);
  const bool bias = call.truth("use_bias", true);
  const std::string activation = call.activation("activation");
  if (call.integer("groups", 1) != 1) call.refuse("groups", "other than 1 is not built");
  const Json* given = call.field("output_padding");
  const std::vector<int64_t> extra = call.integers("output_padding", spatial, 0);
  const std::vector<Weight> weights = call.weights(bias ? 2 : 1);
  call.expect_dims(weights[0], joined(w.kernel, {filters, channels}), "kernel");
  std::vector<int64_t> pads(2 * spatial, 0), output_padding(spatial, 0);
  for (size_t i = 0; i < spatial; i++) {
    const int64_t window = (w.kernel[i] - 1) * w.dilations[i] + 1;
    // as many outputs as the convolution that it turns around has inputs
    if (w.padding == "same" && !given) {
      const int64_t total = std::max<int64_t>(window - w.strides[i], 0);
      pads[i] = total / 2;
      pads[i + spatial] = total - total / 2;
      output_padding[i] = std::max<int64_t>(w.strides[i] - window, 0);
    } else if (w.padding == "same") {
      pads[i] = pads[i + spatial] = w.kernel[i] / 2;
      output_padding[i] = extra[i];
    } else if (w.padding == "valid") {
      output_padding[i] = given ? extra[i] : std::max<int64_t>(w.strides[i] - window, 0);
    } else {
      call.refuse("padding", "'" + w.padding + "' is not known here");
    }
  }
  std::vector<ValueId> inputs = {call.to_channels_first(call.input(), w.last),
                                 call.net.constant(turned_kernel(weights[0]))};
  // kernel_of gives [in, out, k...], which is what a transposed convolution takes: its kernel is
  // [k..., out, in].
  if (bias) inputs.push_back(call.net.constant(weights[1]));
  finish(call,
         call.b.emit(op::ConvTranspose, inputs,
                     {{attr::kernel_shape, w.kernel},
                      {attr::strides, w.strides},
                      {attr::dilations, w.dilations},
                      {attr::group, int64_t(1)},
                      {attr::auto_pad, std::string("NOTSET")},
                      {attr::pads, pads},
                      {attr::output_padding, output_padding}}),
         w.last, activation);
}

}  // namespace

void add_convolutions(TranslateTable& table) {
  table["Conv1D"] = table["Convolution1D"] = convolution<1>;
  table["Conv2D"] = table["Convolution2D"] = convolution<2>;
  table["Conv3D"] = table["Convolution3D"] = convolution<3>;
  table["DepthwiseConv1D"] = depthwise<1>;
  table["DepthwiseConv2D"] = depthwise<2>;
  table["SeparableConv1D"] = separable<1>;
  table["SeparableConv2D"] = separable<2>;
  table["Conv1DTranspose"] = transposed_convolution<1>;
  table["Conv2DTranspose"] = transposed_convolution<2>;
  table["Conv3DTranspose"] = transposed_convolution<3>;
}

}  // namespace ingot::keras
