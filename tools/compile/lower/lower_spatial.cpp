// SPDX-License-Identifier: Apache-2.0
// tools/compile/lower/lower_spatial.cpp - attributes of the operators on images.
#include "ingot_schema/ingot_generated.h"
#include "tools/compile/lower/lower_attributes.h"
#include "tools/graph/window.h"

namespace ingot::convert {
namespace {

/// The window that convolutions and pools have in common.
template <class A>
void read_window(const graph::Node& node, A* a) {
  const auto [h, w] = graph::window_of(node);
  a->kernel_h = to_unsigned(node, attr::kernel_shape, h.kernel),
  a->kernel_w = to_unsigned(node, attr::kernel_shape, w.kernel);
  a->stride_h = to_unsigned(node, attr::strides, h.stride),
  a->stride_w = to_unsigned(node, attr::strides, w.stride);
  a->dilation_h = to_unsigned(node, attr::dilations, h.dilation),
  a->dilation_w = to_unsigned(node, attr::dilations, w.dilation);
  a->pad_top = to_unsigned(node, attr::pads, h.begin),
  a->pad_left = to_unsigned(node, attr::pads, w.begin);
  a->pad_bottom = to_unsigned(node, attr::pads, h.end),
  a->pad_right = to_unsigned(node, attr::pads, w.end);
}

Conv2dAttributes conv2d(const graph::Node& node) {
  Conv2dAttributes a;
  read_window(node, &a);
  a.groups = unsigned_value(node, attr::group, 1);
  a.method = ConvMethod(enum_value(node, attr::method, fb::EnumNamesConvMethod(), 0));
  a.input_layout =
      ChannelLayout(enum_value(node, attr::input_layout, fb::EnumNamesChannelLayout(), 0));
  a.activation = activation_of(node);
  a.residual_first = node.integer(attr::residual_first, 0) != 0;
  return a;
}

ConvTranspose2dAttributes conv_transpose2d(const graph::Node& node) {
  ConvTranspose2dAttributes a;
  read_window(node, &a);
  a.groups = unsigned_value(node, attr::group, 1);
  a.activation = activation_of(node);
  return a;
}

Pool2dAttributes pool2d(const graph::Node& node) {
  Pool2dAttributes a;
  read_window(node, &a);
  a.kind = PoolKind(enum_value(node, attr::kind, fb::EnumNamesPoolKind(), 0));
  a.p = unsigned_value(node, attr::p, 2);
  return a;
}

ResizeAttributes resize(const graph::Node& node, size_t rank) {
  ResizeAttributes a;
  a.mode = ResizeMode(enum_value(node, attr::mode, fb::EnumNamesResizeMode(), 0));
  a.coordinate =
      CoordinateMode(enum_value(node, attr::coordinate, fb::EnumNamesCoordinateMode(), 0));
  a.nearest = NearestMode(enum_value(node, attr::nearest, fb::EnumNamesNearestMode(), 0));
  a.cubic_a = float(node.number(attr::cubic_a, -0.75));
  a.exclude_outside = node.integer(attr::exclude_outside, 0) != 0;
  a.rank = uint32_t(rank);
  const auto found = node.attributes.find(attr::scales);
  if (found == node.attributes.end()) return a;
  const auto* scales = std::get_if<std::vector<double>>(&found->second);
  if (!scales || scales->size() != rank || rank > size_t(kMaxRank))
    refuse_attribute(node, attr::scales, "has not one number a dimension");
  const bool inverse = multiplies_by_scale(a.coordinate);
  for (size_t i = 0; i < rank; i++) {
    const double scale = (*scales)[i];
    a.scales[i] = float(inverse && scale != 0 ? 1 / scale : scale);
  }
  return a;
}

ImageArea area(const graph::Node& node, graph::AttributeName key) {
  const std::vector<int64_t> n = node.integers(key);
  if (n.size() != 4) refuse_attribute(node, key, "is not left, top, width and height");
  return {uint32_t(n[0]), uint32_t(n[1]), uint32_t(n[2]), uint32_t(n[3])};
}

ImageInputAttributes image_input(const graph::Node& node) {
  ImageInputAttributes a;
  a.format = PixelFormat(enum_value(node, attr::format, fb::EnumNamesPixelFormat(), 0));
  a.interpolation = PixelInterpolation(
      enum_value(node, attr::interpolation, fb::EnumNamesPixelInterpolation(), 0));
  a.matrix = ColorMatrix(enum_value(node, attr::matrix, fb::EnumNamesColorMatrix(), 0));
  a.siting = ChromaSiting(enum_value(node, attr::siting, fb::EnumNamesChromaSiting(), 0));
  a.full_range = node.integer(attr::full_range, 0) != 0;
  a.bgr = node.integer(attr::bgr, 0) != 0;
  a.planar = enum_value(node, attr::layout, fb::EnumNamesChannelLayout(), 0) != 0;
  a.width = unsigned_value(node, attr::width, 0), a.height = unsigned_value(node, attr::height, 0);
  a.source = area(node, attr::source), a.target = area(node, attr::target);
  const std::vector<double> pad = node.numbers(attr::pad), scale = node.numbers(attr::scale),
                            bias = node.numbers(attr::bias);
  if (pad.size() > 3 || scale.size() != pad.size() || bias.size() != pad.size())
    refuse_attribute(node, attr::pad, "has not one number a channel, as scale and bias");
  a.channels = uint32_t(pad.size());
  for (size_t c = 0; c < pad.size(); c++)
    a.pad[c] = float(pad[c]), a.scale[c] = float(scale[c]), a.bias[c] = float(bias[c]);
  return a;
}

}  // namespace

Attributes spatial_attributes(OpCode op, const graph::Node& node, size_t rank, Dims* /*extents*/) {
  switch (op) {
    case OpCode::kConv2d: return conv2d(node);
    case OpCode::kConvTranspose2d: return conv_transpose2d(node);
    case OpCode::kPool2d: return pool2d(node);
    case OpCode::kImageInput: return image_input(node);
    default: return resize(node, rank);
  }
}

}  // namespace ingot::convert
