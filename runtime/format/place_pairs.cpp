// runtime/format/place_pairs.cpp - see prove.h. Devices that hold pairs hold every constant by itself: a weight part has both kinds.
#include "runtime/base/checked_math.h"
#include "runtime/format/prove.h"
#include "runtime/op/weight_pairs.h"

namespace ingot {

Status place_pairs(ProgramDef* program, ValueDef* values, ErrorDetail* detail) {
  const size_t count = program->values.size;
  for (size_t i = 0; i < count; i++)
    values[i].pairs = values[i].kind == ValueKind::kConstant && !values[i].inline_data &&
                      values[i].dtype == DType::kF32 && values[i].packing == Packing::kPanels16 &&
                      pairs_bytes(values[i].dims, values[i].rank) != 0;
  for (const StateDef& state : program->states)
    if (state.init >= 0) values[state.init].pairs = false;
  for (const InstructionDef& instruction : program->instructions)
    for (uint32_t k = 0; k < instruction.input_count; k++) {
      const int32_t v = instruction.inputs[k], bias = instruction.input_count > 2 ? instruction.inputs[2] : -1;
      if (v < 0 || !values[v].pairs) continue;
      values[v].pairs = k == 1 && takes_pairs(instruction.op, instruction.attributes, values[v].packing,
                                              bias < 0 ? Packing::kVector16 : values[bias].packing);
    }
  bool any = false;
  for (size_t i = 0; i < count; i++) any = any || values[i].pairs;
  uint64_t end = 0;
  for (size_t i = 0; any && i < count; i++) {
    ValueDef& v = values[i];
    if (v.kind != ValueKind::kConstant || v.inline_data) continue;
    uint64_t at;
    const uint64_t bytes = v.pairs ? pairs_bytes(v.dims, v.rank) : v.constant_bytes;
    if (!checked_align(end, kWidenedBlock, &at) || at / kWidenedBlock > UINT32_MAX || !checked_add(at, bytes, &end))
      return fail_value(detail, *program, "values[]: bytes of all constants, each by itself", int32_t(i),
                        kWidenedBlock * UINT32_MAX, end);
    v.pairs_block = uint32_t(at / kWidenedBlock);
  }
  program->pairs_bytes = end;
  return {};
}

}  // namespace ingot
