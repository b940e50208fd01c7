// SPDX-License-Identifier: Apache-2.0
// runtime/format/validate.h - inside runtime/format: what must hold between the parts of a decoded
// program. All linear or n log n in the program's size; each failure names rule, index and table.
#pragma once
#include "runtime/format/decode.h"

namespace ingot {

constexpr int64_t kMaxExtent = INT32_MAX;  // of one dimension: what an Extent holds
// of a symbol, of numbers that extents are computed from, of attributes in elements
constexpr int64_t kMaxNumber = int64_t{1} << 40;
// of one tensor, empty dimensions counted as one
constexpr int64_t kMaxElements = int64_t{1} << 48;

// Failures. `index` is the value, port, part or expression concerned; `at` the offset in the file.
Status fail_entry(ErrorDetail* detail, Code code, const char* field, int32_t index, uint64_t need,
                  uint64_t have, uint64_t at);
Status fail_instruction(ErrorDetail* detail, Code code, const char* field, uint32_t instruction,
                        uint64_t need, uint64_t have, uint64_t at);
Status fail_value(ErrorDetail* detail, const ProgramDef& program, const char* field, int32_t value,
                  uint64_t need, uint64_t have);
/// An instruction and one of its values; value -1: none.
Status fail_operand(ErrorDetail* detail, const ProgramDef& program, const char* field,
                    uint32_t instruction, int32_t value, uint64_t need, uint64_t have);
void name_detail(ErrorDetail* detail, const char* name);

/// Symbols and dimension expressions: names, bounds, references backwards only.
Status validate_dims(const ProgramDef& program, ErrorDetail* detail);
/// True when the dimension is a number or refers to an expression that exists.
inline bool known_dim(const ProgramDef& program, Dim dim) {
  return dim >= 0 || uint64_t(-1 - dim) < program.dim_exprs.size;
}
/// Value by value: dims, constants and their bytes, aliases without cycles; sets ValueDef::root and
/// constant_bytes. `scratch` has one entry a value.
Status validate_values(const FileView& file, ProgramDef* program, ValueDef* values,
                       int32_t* scratch, ErrorDetail* detail);
/// Finds ValueDef::may_stay_bf16, and places anew what is widened. @pre all else is validated
void find_bf16_weights(ValueDef* values, ProgramDef* program);
/// Ports and states against values; names unique. `order` has room for the longest list of ports or
/// symbols, `seen` is zero and has one entry a value.
Status validate_ports(const ProgramDef& program, uint32_t* order, uint8_t* seen,
                      ErrorDetail* detail);
Status validate_states(const ProgramDef& program, uint8_t* seen, ErrorDetail* detail);
/// Operands in range and of a kind that may stand there; operator versions; who may be written, and
/// in place of what.
Status validate_instructions(ProgramDef* program, InstructionDef* instructions,
                             ErrorDetail* detail);
/// Lays branches out behind their conditions; the calls form a tree below subprogram 0. `seen` has
/// one entry a subprogram.
Status lay_out_steps(ProgramDef* program, StepDef* steps, uint8_t* seen, ErrorDetail* detail);
/// One writer a value on every path, both branches of an If writing its outputs. `written_in` is
/// zero and has one entry a value.
Status validate_writers(const ProgramDef& program, uint32_t* written_in, ErrorDetail* detail);

/// Data-dependent symbols: an i64 scalar that is written, and nothing whose place their numbers
/// could move; what an operator finds has the extent that it finds. Sets InstructionDef::resolves
/// and is_data_dependent, ValueDef::is_data_dependent. `dims` has one entry an expression,
/// `resolving` is zero and has one a value.
Status validate_data_dependent(const ProgramDef& program, ValueDef* values,
                               InstructionDef* instructions, const uint32_t* written_in,
                               uint8_t* dims, uint8_t* resolving, ErrorDetail* detail);

/// Sets ValueDef::shows_in_whole. `is_written`, `is_part` and `last_read` have one entry a value.
void find_shown_parts(const ProgramDef& program, ValueDef* values, uint8_t* is_written,
                      uint8_t* is_part, int32_t* last_read);

/// After binding: reads only of what was written, overlaps only where a contract allows. `block`
/// gives working memory.
void count_dataflow(const ProgramDef& program, Block* block);
Status validate_dataflow(const ProgramDef& program, const BoundProgram& bound, Block* block,
                         ErrorDetail* detail);

/// Type from numbers alone, limits checked; row_stride 0 becomes the row length.
bool make_type(const ValueDef& value, const int64_t* dims, int64_t row_stride, TensorType* out);

}  // namespace ingot
