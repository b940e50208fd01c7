// SPDX-License-Identifier: Apache-2.0
// runtime/format/bf16_weights.cpp - constants that the file has in bf16 and kernels may read so,
// because nothing but products of bf16 reads them.
#include "runtime/base/checked_math.h"
#include "runtime/format/validate.h"
#include "runtime/op/half_products.h"

namespace ingot {
namespace {

bool is_candidate(const ValueDef& v) {
  return v.kind == ValueKind::kConstant && v.stored == DType::kBF16 &&
         v.packing == Packing::kPanels16;
}

/// @pre validate_values() placed them all: sums do not overflow
void place_widened(const Span<const ValueDef>& all, bool stays, ValueDef* values, uint64_t* end) {
  for (size_t i = 0; i < all.size; i++) {
    ValueDef& v = values[i];
    if (!is_widened(v) || v.may_stay_bf16 != stays) continue;
    uint64_t at = 0;
    (void)checked_align(*end, kWidenedBlock, &at);
    v.widened_block = uint32_t(at / kWidenedBlock);
    *end = at + v.constant_bytes;
  }
}

}  // namespace

void find_bf16_weights(ValueDef* values, ProgramDef* program) {
  for (size_t i = 0; i < program->values.size; i++)
    values[i].may_stay_bf16 = is_candidate(values[i]);
  const auto drop = [&](int32_t v) {
    if (v >= 0) values[v].may_stay_bf16 = false;
  };
  for (const StateDef& state : program->states) drop(state.init);
  for (const PortDef& port : program->outputs) drop(port.value);
  for (const InstructionDef& instruction : program->instructions)
    for (uint32_t k = 0; k < instruction.input_count; k++) {
      const int32_t v = instruction.inputs[k];
      if (v >= 0 && values[v].may_stay_bf16 &&
          !half_products::reads_bf16(instruction.op, instruction.attributes, k, values[v].dims))
        drop(v);
    }
  program->widened_bytes = 0;
  place_widened(program->values, false, values, &program->widened_bytes);
  program->widened_beside_bf16 = program->widened_bytes;
  place_widened(program->values, true, values, &program->widened_bytes);
}

}  // namespace ingot
