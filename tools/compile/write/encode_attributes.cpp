// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/write/encode_attributes.h"

#include "tools/graph/graph.h"

namespace ingot::convert {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
using Table = flatbuffers::Offset<void>;

fb::ActivationSpec activation(const ActivationSpec& a) {
  return {fb::Activation(uint8_t(a.kind)), a.alpha, a.beta};
}
template <class T>
Table table(flatbuffers::Offset<T> offset) {
  return offset.Union();
}

flatbuffers::Offset<fb::Conv2d> conv2d(Builder& b, const Conv2dAttributes& a) {
  const fb::ActivationSpec act = activation(a.activation);
  return fb::CreateConv2d(b, a.kernel_h, a.kernel_w, a.stride_h, a.stride_w, a.dilation_h,
                          a.dilation_w, a.pad_top, a.pad_left, a.pad_bottom, a.pad_right, a.groups,
                          fb::ConvMethod(uint8_t(a.method)),
                          fb::ChannelLayout(uint8_t(a.input_layout)), &act, a.residual_first,
                          a.reduced_precision == ReducedPrecision::kExact);
}

Table encode(Builder&, const std::monostate&) {
  graph::fail_internal("an instruction without an operator cannot be written");
}
#define FIELD(name) , a.name
#define CHOICE(op, name, Enum) , fb::Enum(uint8_t(a.name))
#define INGOT_ATTRIBUTES(op, fields)                                        \
  flatbuffers::Offset<fb::op> create(Builder& b, const op##Attributes& a) { \
    (void)a;                                                                \
    return fb::Create##op(b fields);                                        \
  }                                                                         \
  Table encode(Builder& b, const op##Attributes& a) { return table(create(b, a)); }
#include "runtime/op/attributes.def"
Table encode(Builder& b, const Conv2dAttributes& a) { return table(conv2d(b, a)); }
Table encode(Builder& b, const ConvTranspose2dAttributes& a) {
  const fb::ActivationSpec act = activation(a.activation);
  return table(fb::CreateConvTranspose2d(b, a.kernel_h, a.kernel_w, a.stride_h, a.stride_w,
                                         a.dilation_h, a.dilation_w, a.pad_top, a.pad_left,
                                         a.pad_bottom, a.pad_right, a.groups, &act));
}
Table encode(Builder& b, const ChainAttributes& a) {
  std::vector<flatbuffers::Offset<fb::Conv2d>> stages;
  for (uint32_t i = 0; i < a.stage_count && i < uint32_t(kMaxChainStages); i++)
    stages.push_back(conv2d(b, a.stages[i]));
  return table(fb::CreateChain(b, b.CreateVector(stages), a.band_rows));
}
Table encode(Builder& b, const QuantizedChainAttributes& a) {
  std::vector<flatbuffers::Offset<fb::QuantizedConv2d>> stages;
  for (uint32_t i = 0; i < a.stage_count && i < uint32_t(kMaxQuantizedStages); i++)
    stages.push_back(create(b, a.stages[i]));
  return table(fb::CreateQuantizedChain(b, b.CreateVector(stages), a.band_rows));
}
Table encode(Builder& b, const LinearAttributes& a) {
  const fb::ActivationSpec act = activation(a.activation);
  return table(fb::CreateLinear(b, &act, a.residual_first, a.block,
                                a.reduced_precision == ReducedPrecision::kExact));
}
Table encode(Builder& b, const Pool2dAttributes& a) {
  return table(fb::CreatePool2d(b, fb::PoolKind(uint8_t(a.kind)), a.kernel_h, a.kernel_w,
                                a.stride_h, a.stride_w, a.dilation_h, a.dilation_w, a.pad_top,
                                a.pad_left, a.pad_bottom, a.pad_right, a.p));
}
Table encode(Builder& b, const ElementwiseAttributes& a) {
  std::vector<fb::ElementwiseStep> steps;
  for (uint32_t i = 0; i < a.step_count && i < uint32_t(kMaxElementwiseSteps); i++) {
    const ElementwiseStep& s = a.steps[i];
    steps.emplace_back(fb::ElementwiseOp(uint8_t(s.op)), s.a, s.b, s.c, s.alpha, s.beta);
  }
  return table(fb::CreateElementwise(b, b.CreateVectorOfStructs(steps),
                                     fb::ComputeType(uint8_t(a.compute))));
}
Table encode(Builder& b, const RecurrentAttributes& a) {
  std::vector<fb::ActivationSpec> activations;
  for (uint32_t i = 0; i < a.activation_count && i < 6; i++)
    activations.push_back(activation(a.activations[i]));
  return table(fb::CreateRecurrent(
      b, fb::RecurrentKind(uint8_t(a.kind)), fb::Direction(uint8_t(a.direction)), a.hidden, a.clip,
      a.linear_before_reset, b.CreateVectorOfStructs(activations), a.batch_first));
}
Table encode(Builder& b, const TransposeAttributes& a) {
  return table(fb::CreateTranspose(b, b.CreateVector(a.perm, a.rank)));
}
Table encode(Builder& b, const SliceAttributes& a) {
  const auto starts = b.CreateVector(a.starts, a.rank);
  return table(fb::CreateSlice(b, starts, b.CreateVector(a.steps, a.rank)));
}
Table encode(Builder& b, const PadAttributes& a) {
  return table(
      fb::CreatePad(b, fb::PadMode(uint8_t(a.mode)), b.CreateVector(a.before, a.rank), a.value));
}
Table encode(Builder& b, const ResizeAttributes& a) {
  return table(fb::CreateResize(b, fb::ResizeMode(uint8_t(a.mode)),
                                fb::CoordinateMode(uint8_t(a.coordinate)),
                                fb::NearestMode(uint8_t(a.nearest)), a.cubic_a, a.exclude_outside,
                                b.CreateVector(a.scales, a.rank)));
}
Table encode(Builder& b, const ImageInputAttributes& a) {
  const auto area = [](const ImageArea& from) {
    return fb::ImageArea(from.left, from.top, from.width, from.height);
  };
  const fb::ImageArea source = area(a.source), target = area(a.target);
  const auto pad = b.CreateVector(a.pad, a.channels), scale = b.CreateVector(a.scale, a.channels),
             bias = b.CreateVector(a.bias, a.channels);
  return table(fb::CreateImageInput(
      b, fb::PixelFormat(uint8_t(a.format)), a.width, a.height, &source, &target,
      fb::PixelInterpolation(uint8_t(a.interpolation)), fb::ColorMatrix(uint8_t(a.matrix)),
      a.full_range, fb::ChromaSiting(uint8_t(a.siting)), a.bgr,
      a.planar ? fb::ChannelLayout::nchw : fb::ChannelLayout::nhwc, pad, scale, bias));
}
Table encode(Builder& b, const LoopAttributes& a) {
  return table(fb::CreateLoop(b, a.body, a.most));
}
Table encode(Builder& b, const CustomAttributes& a) {
  std::vector<flatbuffers::Offset<fb::CustomAttribute>> list;
  for (uint32_t i = 0; i < a.count; i++) {
    const CustomAttribute& from = a.list[i];
    const auto name = b.CreateString(from.name);
    const auto text = from.text ? b.CreateString(from.text) : 0;
    const auto integers = from.integers ? b.CreateVector(from.integers, from.count) : 0;
    const auto numbers = from.numbers ? b.CreateVector(from.numbers, from.count) : 0;
    list.push_back(fb::CreateCustomAttribute(b, name, text, integers, numbers));
  }
  const auto domain = b.CreateString(a.domain), name = b.CreateString(a.name);
  return table(fb::CreateCustom(b, domain, name, b.CreateVector(list)));
}
Table encode(Builder& b, const IfAttributes& a) {
  return table(fb::CreateIf(b, a.then_subprogram, a.else_subprogram));
}
Table encode(Builder& b, const ScatterNdAttributes& a) {
  return table(fb::CreateScatterNd(b, uint8_t(a.reduction)));
}
Table encode(Builder& b, const ScatterElementsAttributes& a) {
  return table(fb::CreateScatterElements(b, a.axis, uint8_t(a.reduction)));
}

}  // namespace

flatbuffers::Offset<void> encode_attributes(flatbuffers::FlatBufferBuilder& builder,
                                            const Attributes& attributes) {
  return std::visit([&](const auto& a) { return encode(builder, a); }, attributes);
}

}  // namespace ingot::convert
