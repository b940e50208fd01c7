// SPDX-License-Identifier: Apache-2.0
// runtime/format/open.cpp - measure and open: the order in which the checks may rely on each other.
#include "runtime/base/checked_math.h"
#include "runtime/base/os/platform.h"
#include "runtime/format/validate.h"

namespace ingot {
namespace {

/// Working memory of the checks, behind the arrays in the same block.
struct OpenScratch {
  int32_t* chain;
  uint32_t* order;
  uint32_t* written_in;
  uint8_t* value_seen;
  uint8_t* state_seen;
  uint8_t* subprogram_seen;
  uint8_t* dim_dependence;
  uint8_t* value_resolving;
};

OpenScratch take_scratch(Block* block, const fb::Program& program) {
  const uint64_t values = vector_size(program.values());
  uint64_t names = vector_size(program.symbols());
  if (names < vector_size(program.inputs())) names = vector_size(program.inputs());
  if (names < vector_size(program.outputs())) names = vector_size(program.outputs());
  OpenScratch s;
  s.chain = block->take<int32_t>(values);
  s.order = block->take<uint32_t>(names);
  s.written_in = block->take<uint32_t>(values);
  s.value_seen = block->take<uint8_t>(values);
  s.state_seen = block->take<uint8_t>(values);
  s.subprogram_seen = block->take<uint8_t>(program.subprograms()->size());
  s.dim_dependence = block->take<uint8_t>(vector_size(program.dim_exprs()));
  s.value_resolving = block->take<uint8_t>(values);
  return s;
}

Status validate_plan_shape(const ProgramDef& p, ErrorDetail* d) {
  if (!is_power_of_two(p.alignment) || p.alignment < 16 || p.alignment > 4096)
    return fail(d, Code::kMeaningInvalid, "program.alignment", 64, p.alignment, p.program_offset);
  if (p.plan_offsets.data && p.plan_offsets.size != p.values.size)
    return fail(d, Code::kPlanInvalid, "plan.offsets: one for each value", p.values.size,
                p.plan_offsets.size, p.program_offset);
  return {};
}

}  // namespace

Status measure_program(const FileView& file, const KernelTable& table, uint64_t* block_bytes,
                       ErrorDetail* detail) {
  const fb::Program* program;
  ProgramCounts counts;
  INGOT_TRY(verify_structure(file, &program, detail));
  INGOT_TRY(count_program(file, *program, table, &counts, detail));
  Block block;
  take_arrays(&block, *program, counts);
  take_scratch(&block, *program);
  *block_bytes = block.used();
  return {};
}

Status open_program(const FileView& file, const KernelTable& table, Span<uint8_t> memory,
                    ProgramDef* out, ErrorDetail* detail) {
  *out = ProgramDef{};
  const fb::Program* program;
  ProgramCounts counts;
  ProgramDef p;
  if (reinterpret_cast<uintptr_t>(memory.data) % 16 != 0)
    return fail(detail, Code::kMisaligned, "block", 16,
                reinterpret_cast<uintptr_t>(memory.data) % 16);
  INGOT_TRY(verify_structure(file, &program, detail));
  INGOT_TRY(count_program(file, *program, table, &counts, detail));
  Block block(memory);
  const ProgramArrays a = take_arrays(&block, *program, counts);
  const OpenScratch s = take_scratch(&block, *program);
  if (!memory.data || !block.fits())
    return fail(detail, Code::kArenaTooSmall, "block", block.used(), memory.size);
  INGOT_TRY(decode_program(file, *program, table, counts, a, &p, detail));
  INGOT_TRY(validate_dims(p, detail));
  INGOT_TRY(validate_values(file, &p, a.values, s.chain, detail));
  INGOT_TRY(validate_ports(p, s.order, s.value_seen, detail));
  INGOT_TRY(validate_states(p, s.state_seen, detail));
  INGOT_TRY(validate_instructions(&p, a.instructions, detail));
  INGOT_TRY(lay_out_steps(&p, a.steps, s.subprogram_seen, detail));
  INGOT_TRY(validate_writers(p, s.written_in, detail));
  INGOT_TRY(validate_data_dependent(p, a.values, a.instructions, s.written_in, s.dim_dependence,
                                    s.value_resolving, detail));
  INGOT_TRY(validate_plan_shape(p, detail));
  find_shown_parts(p, a.values, s.value_seen, s.state_seen, s.chain);
  // placed anew, what is widened may end a block a value later
  p.widened_beside_bf16 = p.widened_bytes;
  const bool has_room = p.widened_bytes / kWidenedBlock < UINT32_MAX - p.values.size;
  if (os::kHasBf16Weights && table.takes_bf16_weights && p.widened_bytes && has_room)
    find_bf16_weights(a.values, &p);
  *out = p;
  return {};
}

}  // namespace ingot
