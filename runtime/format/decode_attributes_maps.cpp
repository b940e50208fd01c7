// SPDX-License-Identifier: Apache-2.0
// runtime/format/decode_attributes_maps.cpp - elementwise chains.
#include <new>

#include "runtime/format/decode.h"
#include "runtime/op/elementwise.h"

namespace ingot {
namespace {

const char* decode(const fb::Elementwise& from, ElementwiseAttributes* to) {
  const uint32_t count = vector_size(from.steps());
  if (count > uint32_t(kMaxElementwiseSteps)) return "Elementwise.steps: at most 16";
  if (uint8_t(from.compute()) > uint8_t(ComputeType::kU64)) return "Elementwise.compute";
  to->step_count = count;
  to->compute = ComputeType(from.compute());
  for (uint32_t i = 0; i < count; i++) {
    const fb::ElementwiseStep* step = from.steps()->Get(i);
    to->steps[i] = {
        ElementwiseOp(step->op()), step->a(), step->b(), step->c(), step->alpha(), step->beta()};
  }
  return nullptr;
}

}  // namespace

INGOT_DECODER(Elementwise)

}  // namespace ingot
