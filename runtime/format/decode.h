// SPDX-License-Identifier: Apache-2.0
// runtime/format/decode.h - inside runtime/format: structure, counts, and the walk from FlatBuffer
// to plain structs.
#pragma once
#include "runtime/format/block.h"
#include "runtime/format/format.h"
#include "runtime/format/schema_access.h"
#include "runtime/op/activation.h"
#include "runtime/op/decoders.h"
#include "runtime/op/quantized_conv2d.h"

namespace ingot {

constexpr uint32_t kMaxInstructionOperands = 8192;
constexpr uint32_t kMaxNameBytes = 1024;  // of symbols and ports

/// Validates the FlatBuffer sound: offsets, vectors, strings, tables, in time linear in its bytes.
Status verify_structure(const FileView& file, const fb::Program** out, ErrorDetail* detail);

/// Offset in the file of a table, vector or string of the program.
inline uint64_t file_offset_of(const FileView& file, const void* part) {
  return file.program_offset + uint64_t(static_cast<const uint8_t*>(part) - file.program);
}

/// What the block has to hold.
struct ProgramCounts {
  uint64_t instructions = 0, extra_steps = 0, attribute_bytes = 0, operands = 0;
  uint64_t custom_words = 0;  // of lists of attributes, in eights of bytes
};
Status count_program(const FileView& file, const fb::Program& program, const KernelTable& table,
                     ProgramCounts* out, ErrorDetail* detail);

/// Arrays of a decoded program while they are being filled.
struct ProgramArrays {
  SymbolDef* symbols;
  DimExpr* dim_exprs;
  ValueDef* values;
  InstructionDef* instructions;
  SubprogramDef* subprograms;
  StepDef* steps;
  PortDef *inputs, *outputs;
  StateDef* states;
  uint64_t* plan_offsets;
  int32_t* operands;
  uint8_t* attributes;
  uint64_t* custom;
};
/// Takes every array from the block, in one order, whether it counts or not.
ProgramArrays take_arrays(Block* block, const fb::Program& program, const ProgramCounts& counts);

/// Fills `arrays` and `out`; after it no FlatBuffer is looked at again, except through names and
/// inline data.
Status decode_program(const FileView& file, const fb::Program& program, const KernelTable& table,
                      const ProgramCounts& counts, const ProgramArrays& arrays, ProgramDef* out,
                      ErrorDetail* detail);

/// Bytes of the plain struct of an operator's attributes, a multiple of 8; 0 for an unknown
/// operator.
uint32_t attribute_bytes(OpCode op);
/// decode_Name() of runtime/op/decoders.h, from a decode() of its FlatBuffer table.
#define INGOT_DECODER(name)                                                          \
  const char* decode_##name(const fb::Instruction& instruction, void* to) {          \
    return decode(*instruction.attributes_as_##name(), new (to) name##Attributes()); \
  }
/// Of convolutions and products that are not exact: what kernels of a CPU may round operands to.
void allow_half_products(ReducedPrecision precision, const fb::Instruction& from, void* attributes);
/// Of one stage of a chain of bytes.
const char* decode_quantized_stage(const fb::QuantizedConv2d& from, QuantizedConv2dAttributes* to);
const char* decode_activation(const fb::ActivationSpec* from, ActivationSpec* to);

}  // namespace ingot
