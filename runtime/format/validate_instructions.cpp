// SPDX-License-Identifier: Apache-2.0
// runtime/format/validate_instructions.cpp - what an instruction may touch, whatever its types turn
// out to be.
#include "runtime/format/validate.h"
#include "runtime/op/attention_blocks.h"
#include "runtime/op/control.h"
#include "runtime/op/linear.h"
#include "runtime/op/pad.h"
#include "runtime/op/slice.h"

namespace ingot {
namespace {

bool has_input(const InstructionDef& i, int operand) {
  return i.input_count > operand && i.inputs[operand] >= 0;
}

Status validate_inputs(const ProgramDef& p, uint32_t index, ErrorDetail* d) {
  const InstructionDef& i = p.instructions[index];
  if (i.input_count < i.contract->min_inputs || i.input_count > i.contract->max_inputs)
    return fail_operand(d, p, "instructions[].inputs: number", index, -1, i.contract->min_inputs,
                        i.input_count);
  for (uint32_t k = 0; k < i.input_count; k++)
    if (i.inputs[k] < -1 || i.inputs[k] >= int64_t(p.values.size))
      return fail_operand(d, p, "instructions[].inputs", index, int32_t(k), p.values.size,
                          uint64_t(int64_t{i.inputs[k]}));
  return {};
}

Status validate_outputs(const ProgramDef& p, uint32_t index, ErrorDetail* d) {
  const InstructionDef& i = p.instructions[index];
  if (i.output_count < i.contract->min_outputs || i.output_count > i.contract->max_outputs)
    return fail_operand(d, p, "instructions[].outputs: number", index, -1, i.contract->min_outputs,
                        i.output_count);
  for (uint32_t k = 0; k < i.output_count; k++) {
    const int32_t o = i.outputs[k];
    if (o == -1) continue;
    if (o < -1 || o >= int64_t(p.values.size))
      return fail_operand(d, p, "instructions[].outputs", index, int32_t(k), p.values.size,
                          uint64_t(int64_t{o}));
    const ValueKind root = p.values[size_t(p.values[size_t(o)].root)].kind;
    if (root == ValueKind::kConstant || root == ValueKind::kInput)
      return fail_operand(d, p, "instructions[].outputs: constants and inputs are never written",
                          index, o, 0, uint64_t(root));
    const ValueDef& v = p.values[size_t(o)];
    if (v.alias != AliasKind::kInPlace) continue;
    // The instruction that overwrites must read what it overwrites; branches of an If do it for the
    // If.
    bool reads = i.op == OpCode::kIf;
    for (uint32_t n = 0; n < i.input_count; n++) reads = reads || i.inputs[n] == v.alias_of;
    if (!reads || (i.op != OpCode::kIf && (k != 0 || !i.contract->in_place)))
      return fail_operand(d, p, "values[].alias in_place: not allowed by this instruction", index,
                          o, 0, k);
  }
  return {};
}

/// What a Loop carries is written twice, so nothing else may lie in its storage but views to read
/// from.
Status validate_carried(const ProgramDef& p, uint32_t index, ErrorDetail* d) {
  const InstructionDef& i = p.instructions[index];
  for (uint32_t k = kFirstCarried; i.op == OpCode::kLoop && k < i.input_count; k++) {
    if (i.inputs[k] < 0) continue;
    const ValueDef& v = p.values[size_t(i.inputs[k])];
    if ((v.kind != ValueKind::kActivation && v.kind != ValueKind::kOutput) ||
        v.alias != AliasKind::kNone)
      return fail_operand(
          d, p, "Loop: a carried value is an activation or output with storage of its own", index,
          i.inputs[k], 0, uint64_t(v.kind));
  }
  return {};
}

/// Dims inside attributes exist; counts those that binding resolves.
Status validate_attribute_dims(ProgramDef* p, InstructionDef* i, uint32_t index, ErrorDetail* d) {
  const int64_t* dims = nullptr;
  uint32_t rank = 0;
  if (i->op == OpCode::kSlice) {
    const auto& slice = *static_cast<const SliceAttributes*>(i->attributes);
    dims = slice.starts, rank = slice.rank;
  } else if (i->op == OpCode::kPad) {
    const auto& pad = *static_cast<const PadAttributes*>(i->attributes);
    dims = pad.before, rank = pad.rank;
  } else if (i->op == OpCode::kLoop) {
    dims = &static_cast<const LoopAttributes*>(i->attributes)->most, rank = 1;
  }
  bool symbolic = false;
  for (uint32_t k = 0; k < rank; k++) {
    if (!known_dim(*p, dims[k]))
      return fail_operand(d, *p, "instructions[].attributes: no such expression", index, -1,
                          p->dim_exprs.size, uint64_t(-1 - dims[k]));
    symbolic = symbolic || dims[k] < 0;
  }
  if (symbolic) i->symbolic_slot = int32_t(p->symbolic_attribute_count++);
  return {};
}

/// The rule of what it uses and the file does not name as required; null where there is none.
const char* lacks_feature(const ProgramDef& p, const InstructionDef& i) {
  if (i.op == OpCode::kImageInput && !p.features.has(Feature::kImageInput))
    return "instructions[]: ImageInput without the feature \"picture\"";
  if (i.op == OpCode::kLinear && i.input_count > linear_weights::kScales &&
      !p.features.has(Feature::kQuantizedWeights))
    return "instructions[]: Linear with scales without the feature \"quantized_weights\"";
  if (i.op != OpCode::kAttention) return nullptr;
  const EmptyRows empty = static_cast<const AttentionAttributes*>(i.attributes)->empty_rows;
  if (empty != EmptyRows::kZero && !p.features.has(Feature::kEmptyRows))
    return "instructions[]: Attention.empty_rows without the feature \"empty_rows\"";
  if (has_input(i, attention::kKeyBatches) && !p.features.has(Feature::kKeyBatches))
    return "instructions[]: Attention.key_batches without the feature \"key_batches\"";
  if (has_input(i, attention::kSinks) && !p.features.has(Feature::kAttentionSinks))
    return "instructions[]: Attention.sinks without the feature \"attention_sinks\"";
  return nullptr;
}

}  // namespace

Status validate_instructions(ProgramDef* program, InstructionDef* instructions,
                             ErrorDetail* detail) {
  for (uint32_t index = 0; index < program->instructions.size; index++) {
    InstructionDef* i = &instructions[index];
    if (i->version == 0 || i->version > i->contract->version)
      return fail_instruction(detail, Code::kUnsupportedOperator, "instructions[].version", index,
                              i->contract->version, i->version,
                              program->program_offset + i->table_offset);
    if (const char* rule = lacks_feature(*program, *i))
      return fail_instruction(detail, Code::kMeaningInvalid, rule, index, 0, 0,
                              program->program_offset + i->table_offset);
    INGOT_TRY(validate_inputs(*program, index, detail));
    INGOT_TRY(validate_outputs(*program, index, detail));
    INGOT_TRY(validate_carried(*program, index, detail));
    INGOT_TRY(validate_attribute_dims(program, i, index, detail));
  }
  return {};
}

}  // namespace ingot
