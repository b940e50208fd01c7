// SPDX-License-Identifier: Apache-2.0
// runtime/format/decode_attributes_movement.cpp - what moves elements without computing them, and
// control flow.
#include <new>

#include "runtime/format/decode.h"
#include "runtime/op/control.h"
#include "runtime/op/gather.h"
#include "runtime/op/image_input.h"
#include "runtime/op/pad.h"
#include "runtime/op/resize.h"
#include "runtime/op/slice.h"
#include "runtime/op/transpose.h"

namespace ingot {
namespace {

const char* decode(const fb::Transpose& from, TransposeAttributes* to) {
  to->rank = vector_size(from.perm());
  if (to->rank > uint32_t(kMaxRank)) return "Transpose.perm: rank";
  for (uint32_t i = 0; i < to->rank; i++) to->perm[i] = from.perm()->Get(i);
  return nullptr;
}

const char* decode(const fb::Slice& from, SliceAttributes* to) {
  to->rank = vector_size(from.starts());
  if (to->rank > uint32_t(kMaxRank)) return "Slice.starts: rank";
  if (vector_size(from.steps()) != to->rank) return "Slice.steps: one for each start";
  for (uint32_t i = 0; i < to->rank; i++) {
    to->starts[i] = from.starts()->Get(i);
    to->steps[i] = from.steps()->Get(i);
  }
  return nullptr;
}

const char* decode(const fb::Pad& from, PadAttributes* to) {
  to->rank = vector_size(from.before());
  if (to->rank > uint32_t(kMaxRank)) return "Pad.before: rank";
  if (uint8_t(from.mode()) > uint8_t(PadMode::kWrap)) return "Pad.mode";
  to->mode = PadMode(from.mode());
  to->value = from.value();
  for (uint32_t i = 0; i < to->rank; i++) to->before[i] = from.before()->Get(i);
  return nullptr;
}

const char* decode(const fb::Resize& from, ResizeAttributes* to) {
  if (uint8_t(from.mode()) > uint8_t(ResizeMode::kCubic)) return "Resize.mode";
  if (uint8_t(from.coordinate()) > uint8_t(kLastCoordinateMode)) return "Resize.coordinate";
  if (uint8_t(from.nearest()) > uint8_t(NearestMode::kCeil)) return "Resize.nearest";
  to->rank = vector_size(from.scales());
  if (to->rank > uint32_t(kMaxRank)) return "Resize.scales: rank";
  to->mode = ResizeMode(from.mode());
  to->coordinate = CoordinateMode(from.coordinate());
  to->nearest = NearestMode(from.nearest());
  to->cubic_a = from.cubic_a();
  to->exclude_outside = from.exclude_outside();
  for (uint32_t i = 0; i < to->rank; i++) to->scales[i] = from.scales()->Get(i);
  return nullptr;
}

ImageArea decode(const fb::ImageArea& from) {
  return {from.left(), from.top(), from.width(), from.height()};
}

const char* decode(const fb::ImageInput& from, ImageInputAttributes* to) {
  if (uint8_t(from.format()) >= kPixelFormatCount) return "ImageInput.format";
  if (uint8_t(from.interpolation()) > uint8_t(PixelInterpolation::kArea))
    return "ImageInput.interpolation";
  if (uint8_t(from.matrix()) > uint8_t(ColorMatrix::kBt709)) return "ImageInput.matrix";
  if (uint8_t(from.siting()) > uint8_t(ChromaSiting::kCenter)) return "ImageInput.siting";
  if (uint8_t(from.layout()) > 1) return "ImageInput.layout";
  to->channels = vector_size(from.pad());
  if (to->channels > 3) return "ImageInput.pad: at most 3";
  if (vector_size(from.scale()) != to->channels || vector_size(from.bias()) != to->channels)
    return "ImageInput.scale and bias: one for each entry of pad";
  to->format = PixelFormat(from.format());
  to->interpolation = PixelInterpolation(from.interpolation());
  to->matrix = ColorMatrix(from.matrix());
  to->siting = ChromaSiting(from.siting());
  to->full_range = from.full_range();
  to->bgr = from.bgr();
  to->planar = from.layout() == fb::ChannelLayout::nchw;
  to->width = from.width(), to->height = from.height();
  to->source = decode(*from.source());
  to->target = decode(*from.target());
  for (uint32_t i = 0; i < to->channels; i++) {
    to->pad[i] = from.pad()->Get(i);
    to->scale[i] = from.scale()->Get(i);
    to->bias[i] = from.bias()->Get(i);
  }
  return nullptr;
}

const char* decode_reduction(uint8_t reduction, ScatterReduction* to) {
  if (reduction > uint8_t(ScatterReduction::kMin)) return "Scatter.reduction";
  *to = ScatterReduction(reduction);
  return nullptr;
}

const char* decode(const fb::If& from, IfAttributes* to) {
  to->then_subprogram = from.then_subprogram();
  to->else_subprogram = from.else_subprogram();
  return nullptr;
}

const char* decode(const fb::Loop& from, LoopAttributes* to) {
  to->body = from.body();
  to->most = from.most();
  return nullptr;
}

const char* decode(const fb::ScatterNd& from, ScatterNdAttributes* to) {
  return decode_reduction(from.reduction(), &to->reduction);
}

const char* decode(const fb::ScatterElements& from, ScatterElementsAttributes* to) {
  to->axis = from.axis();
  return decode_reduction(from.reduction(), &to->reduction);
}

}  // namespace

INGOT_DECODER(Transpose)
INGOT_DECODER(Slice)
INGOT_DECODER(Pad)
INGOT_DECODER(Resize)
INGOT_DECODER(ImageInput)
INGOT_DECODER(If)
INGOT_DECODER(Loop)
INGOT_DECODER(ScatterNd)
INGOT_DECODER(ScatterElements)

}  // namespace ingot
