// SPDX-License-Identifier: Apache-2.0
// runtime/format/failures.cpp - error details with index, name and place in the file.
#include "runtime/format/validate.h"

namespace ingot {

void name_detail(ErrorDetail* detail, const char* name) {
  if (!detail || !name) return;
  size_t i = 0;
  for (; i + 1 < sizeof detail->name && name[i]; i++) detail->name[i] = name[i];
  detail->name[i] = 0;
}

Status fail_entry(ErrorDetail* detail, Code code, const char* field, int32_t index, uint64_t need,
                  uint64_t have, uint64_t at) {
  const Status bad = fail(detail, code, field, need, have, at);
  if (detail) detail->operand = index;
  return bad;
}

Status fail_instruction(ErrorDetail* detail, Code code, const char* field, uint32_t instruction,
                        uint64_t need, uint64_t have, uint64_t at) {
  (void)fail(detail, code, field, need, have, at);
  if (detail) detail->instruction = instruction;
  return Status(code, instruction);
}

Status fail_value(ErrorDetail* detail, const ProgramDef& program, const char* field, int32_t value,
                  uint64_t need, uint64_t have) {
  const ValueDef& v = program.values[size_t(value)];
  const Status bad = fail_entry(detail, Code::kMeaningInvalid, field, value, need, have,
                                program.program_offset + v.table_offset);
  name_detail(detail, v.name);
  return bad;
}

Status fail_operand(ErrorDetail* detail, const ProgramDef& program, const char* field,
                    uint32_t instruction, int32_t value, uint64_t need, uint64_t have) {
  const Status bad =
      fail_instruction(detail, Code::kMeaningInvalid, field, instruction, need, have,
                       program.program_offset + program.instructions[instruction].table_offset);
  if (detail) detail->operand = value;
  if (value >= 0 && size_t(value) < program.values.size)
    name_detail(detail, program.values[size_t(value)].name);
  return bad;
}

}  // namespace ingot
