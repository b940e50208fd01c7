// SPDX-License-Identifier: Apache-2.0
// runtime/format/format.h - opens a file: reads, validates, decodes, binds. All that the layers to
// the right call. Each step validates what stands behind it:
//
//   Source source;  source_from_path(path, &source, d);          // or memory, or a reader
//   uint64_t n;     measure_head(source, &n, d);                 // header and program; 0 when
//                                                                // they are used where they lie
//   FileView file;  read_head(source, {image, n}, &file, d);     // header, parts, program hash
//   uint64_t m;     measure_program(file, table, &m, d);         // structure
//   ProgramDef p;   open_program(file, table, {block, m}, &p, d);  // meaning, without bindings
//   uint64_t b =    binding_bytes(p);
//   BoundProgram    bind_program(p, {symbol values}, {memory, b}, &bound, d);
//                                                                // types, aliases, data flow
//
// Owns     nothing: memory is the caller's; `image` and `block` must outlive the ProgramDef,
//          `memory` the BoundProgram.
// Errors   kNotIngot kTruncated kHeaderInvalid kHashMismatch kUnsupportedVersion
//          kUnsupportedFeature kStructureInvalid kMeaningInvalid kUnsupportedOperator
//          kLimitExceeded kUnboundDimension kDimensionOutOfBounds kArenaTooSmall (memory handed in
//          is smaller than measured: need and have say so). ErrorDetail names field, index and file
//          offset.
// Threads  any number of models at once; no globals.
#pragma once
#include "runtime/format/file_layout.h"
#include "runtime/format/program.h"
#include "runtime/format/source.h"

namespace ingot {

/// The head of a file, validated. Pointers lead into the image, or into Source::memory.
struct FileView {
  FileHeader header = {};
  const uint8_t* head = nullptr;     // header.header_bytes bytes
  const uint8_t* program = nullptr;  // 16-byte aligned
  uint64_t program_bytes = 0;
  uint64_t program_offset = 0;  // in the file
  uint32_t program_part = 0;
  uint32_t first_weight_part = 0, weight_part_count = 0;
  // index into the part table; -1: absent
  int32_t metadata_part = -1, golden_part = -1, signature_part = -1, tunings_part = -1,
          text_part = -1;
};

/// Entry `index` of the part table. @pre index < header.part_count
PartEntry file_part(const FileView& file, uint32_t index);
/// Weight part `segment`. @pre segment < weight_part_count
inline PartEntry weight_part(const FileView& file, uint32_t segment) {
  return file_part(file, file.first_weight_part + segment);
}

Status measure_head(const Source& source, uint64_t* image_bytes, ErrorDetail* detail);
/// `image` is 16-byte aligned; it may be empty when measure_head() said 0.
Status read_head(const Source& source, Span<uint8_t> image, FileView* out, ErrorDetail* detail);

/// Compares the hash of one part, or of all of them and that the bytes between parts are zero.
/// Reads the source through a small buffer on the stack, or where it lies.
Status check_part_hash(const Source& source, const FileView& file, uint32_t part,
                       ErrorDetail* detail);
Status check_all_hashes(const Source& source, const FileView& file, ErrorDetail* detail);
/// Reads a part (metadata, golden, ...) of file_part().bytes and compares its hash.
Status read_part(const Source& source, const FileView& file, uint32_t part,
                 Span<uint8_t> destination, ErrorDetail* detail);

/// Bytes of the block that open_program() needs, after validating the structure of the program.
Status measure_program(const FileView& file, const KernelTable& table, uint64_t* block_bytes,
                       ErrorDetail* detail);
/// Decodes into `block` (16-byte aligned) and validates what does not depend on bindings. Structure
/// is validated again (the image may not have changed, but a caller may skip measuring). A program
/// without free symbols is not bound yet: bind_program() with no values.
Status open_program(const FileView& file, const KernelTable& table, Span<uint8_t> block,
                    ProgramDef* out, ErrorDetail* detail);

/// What fixing the symbolic dimensions decides. Arrays lie in the memory given to bind_program().
struct BoundProgram {
  const int64_t* dim_values = nullptr;  // by index into ProgramDef::dim_exprs
  // by value: storage from its first to one past its last byte
  const uint64_t* value_bytes = nullptr;
  // by value: bytes from the start of its root's storage; 0 for a root
  const uint64_t* root_offset = nullptr;
  // by instruction: resolved (no symbolic dimension left in Slice or Pad)
  const void* const* attributes = nullptr;
  // ValueDef::may_stay_bf16 are bf16: of a session on the CPU alone, which sets it
  bool has_bf16_weights = false;
};

/// Bytes that bind_program() needs, validation's own working memory (used during the call only)
/// included.
uint64_t binding_bytes(const ProgramDef& program);
/// `symbol_values` of the free symbols; a value below 0 means not bound: kUnboundDimension.
/// Data-dependent ones are at their bound. Validates every instruction against its contract,
/// aliases inside their roots, and that all is written before it is read.
Status bind_program(const ProgramDef& program, Span<const int64_t> symbol_values,
                    Span<uint8_t> memory, BoundProgram* out, ErrorDetail* detail);

/// Raises largest[i] to the bytes that value i takes under these symbol values, whether or not they
/// make a sound program. Where an extent cannot be (negative, overflow) the value is passed over.
/// `memory` as for bind_program(), overwritten.
void raise_value_bytes(const ProgramDef& program, Span<const int64_t> symbol_values,
                       Span<uint8_t> memory, uint64_t* largest);

/// Values of all expressions. `resolved` by data-dependent symbol: below 0, or null, takes the
/// bound. Without free_symbols those keep the values that they have.
Status evaluate_dims(const ProgramDef& program, Span<const int64_t> free_symbols,
                     const int64_t* resolved, int64_t* dim_values, ErrorDetail* detail);
/// Attributes of Slice or Pad with their Dims as numbers, into `slot`, which has room for either.
/// False where one cannot be: *wrong. @pre symbolic_slot >= 0
bool resolve_attributes(const InstructionDef& instruction, const BoundProgram& bound, void* slot,
                        int64_t* wrong);
/// Bytes from a value's first to one past its last; false where its extents cannot be.
bool value_storage(const ProgramDef& program, const BoundProgram& bound, int32_t value,
                   uint64_t* bytes);

/// Instructions that a run executes at most: of an If the longer branch, a Loop's body as often as
/// its bound allows. What 64 bits cannot hold, and a Loop that no bound limits, is 2^64 - 1.
uint64_t count_steps(const ProgramDef& program, const BoundProgram& bound);

inline int64_t dim_value(const BoundProgram& bound, Dim dim) {
  return dim >= 0 ? dim : bound.dim_values[-1 - dim];
}
/// The type of a value once bound; cheap. Value -1 gives an absent operand.
TensorType value_type(const ProgramDef& program, const BoundProgram& bound, int32_t value);

}  // namespace ingot
