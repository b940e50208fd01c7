// SPDX-License-Identifier: Apache-2.0
// runtime/format/decode_attributes_products.cpp - convolutions, products, pooling, recurrent
// networks.
#include <new>

#include "runtime/format/decode.h"
#include "runtime/op/conv2d.h"
#include "runtime/op/conv_transpose2d.h"
#include "runtime/op/linear.h"
#include "runtime/op/pool2d.h"
#include "runtime/op/quantized_chain.h"
#include "runtime/op/recurrent.h"

namespace ingot {
namespace {

/// Window fields, which four operators share.
template <class Table, class Struct>
void decode_window(const Table& from, Struct* to) {
  to->kernel_h = from.kernel_h(), to->kernel_w = from.kernel_w();
  to->stride_h = from.stride_h(), to->stride_w = from.stride_w();
  to->dilation_h = from.dilation_h(), to->dilation_w = from.dilation_w();
  to->pad_top = from.pad_top(), to->pad_left = from.pad_left();
  to->pad_bottom = from.pad_bottom(), to->pad_right = from.pad_right();
}

const char* decode(const fb::Conv2d& from, Conv2dAttributes* to) {
  decode_window(from, to);
  to->groups = from.groups();
  if (uint8_t(from.method()) > uint8_t(ConvMethod::kGrouped)) return "Conv2d.method";
  if (uint8_t(from.input_layout()) > uint8_t(ChannelLayout::kNchw)) return "Conv2d.input_layout";
  to->method = ConvMethod(from.method());
  to->input_layout = ChannelLayout(from.input_layout());
  to->residual_first = from.residual_first();
  return decode_activation(from.activation(), &to->activation);
}

const char* decode(const fb::ConvTranspose2d& from, ConvTranspose2dAttributes* to) {
  decode_window(from, to);
  to->groups = from.groups();
  return decode_activation(from.activation(), &to->activation);
}

const char* decode(const fb::Chain& from, ChainAttributes* to) {
  const uint32_t count = vector_size(from.stages());
  if (count == 0 || count > uint32_t(kMaxChainStages)) return "Chain.stages: 1 to 8";
  to->stage_count = count;
  to->band_rows = from.band_rows();
  for (uint32_t i = 0; i < count; i++)
    if (const char* rule = decode(*from.stages()->Get(i), &to->stages[i])) return rule;
  return nullptr;
}

const char* decode(const fb::QuantizedChain& from, QuantizedChainAttributes* to) {
  const uint32_t count = vector_size(from.stages());
  if (count == 0 || count > uint32_t(kMaxQuantizedStages)) return "QuantizedChain.stages: 1 to 3";
  to->stage_count = count;
  to->band_rows = from.band_rows();
  for (uint32_t i = 0; i < count; i++)
    if (const char* rule = decode_quantized_stage(*from.stages()->Get(i), &to->stages[i]))
      return rule;
  return nullptr;
}

const char* decode(const fb::Linear& from, LinearAttributes* to) {
  to->residual_first = from.residual_first();
  to->block = from.block();
  return decode_activation(from.activation(), &to->activation);
}

const char* decode(const fb::Pool2d& from, Pool2dAttributes* to) {
  decode_window(from, to);
  if (uint8_t(from.kind()) > uint8_t(PoolKind::kLp)) return "Pool2d.kind";
  to->kind = PoolKind(from.kind());
  to->p = from.p();
  return nullptr;
}

const char* decode(const fb::Recurrent& from, RecurrentAttributes* to) {
  if (uint8_t(from.kind()) > uint8_t(RecurrentKind::kRnn)) return "Recurrent.kind";
  if (uint8_t(from.direction()) > uint8_t(Direction::kBidirectional)) return "Recurrent.direction";
  to->kind = RecurrentKind(from.kind());
  to->direction = Direction(from.direction());
  to->hidden = from.hidden();
  to->clip = from.clip();
  to->linear_before_reset = from.linear_before_reset();
  to->batch_first = from.batch_first();
  to->activation_count = vector_size(from.activations());
  if (to->activation_count > 6) return "Recurrent.activations: at most 6";
  for (uint32_t i = 0; i < to->activation_count; i++)
    if (const char* rule = decode_activation(from.activations()->Get(i), &to->activations[i]))
      return rule;
  return nullptr;
}

}  // namespace

void allow_half_products(ReducedPrecision precision, const fb::Instruction& from,
                         void* attributes) {
  if (const fb::Conv2d* conv = from.attributes_as_Conv2d(); conv && !conv->exact())
    static_cast<Conv2dAttributes*>(attributes)->reduced_precision = precision;
  if (const fb::Linear* linear = from.attributes_as_Linear(); linear && !linear->exact())
    static_cast<LinearAttributes*>(attributes)->reduced_precision = precision;
  const fb::Chain* const chain = from.attributes_as_Chain();
  for (uint32_t i = 0; chain && i < static_cast<ChainAttributes*>(attributes)->stage_count; i++)
    if (!chain->stages()->Get(i)->exact())
      static_cast<ChainAttributes*>(attributes)->stages[i].reduced_precision = precision;
}

INGOT_DECODER(Conv2d)
INGOT_DECODER(ConvTranspose2d)
INGOT_DECODER(Chain)
INGOT_DECODER(QuantizedChain)
INGOT_DECODER(Linear)
INGOT_DECODER(Pool2d)
INGOT_DECODER(Recurrent)

}  // namespace ingot
