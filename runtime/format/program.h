// SPDX-License-Identifier: Apache-2.0
// runtime/format/program.h - a decoded program as plain structs. Nothing to the right of this layer
// sees FlatBuffers.
// Owns     nothing: every pointer leads into the block that decode_program() was given, or into the
//          program's own bytes.
// Threads  immutable once decoded.
#pragma once
#include "runtime/base/span.h"
#include "runtime/format/features.h"
#include "runtime/op/contract.h"

namespace ingot {

/// A dimension as stored: n >= 0 is itself, n < 0 the result of dim_exprs[-1 - n].
using Dim = int64_t;

enum class DimOp : uint8_t {
  kSymbol = 0,
  kAdd = 1,
  kSub = 2,
  kMul = 3,
  kFloorDiv = 4,
  kCeilDiv = 5,
  kMin = 6,
  kMax = 7
};
struct DimExpr {
  DimOp op;
  Dim a, b;
};
struct SymbolDef {
  const char* name;
  int64_t low;
  int64_t high;         // 0: unbounded
  int32_t resolved_by;  // value whose number it is once that is written; -1: bound from outside
  Dim bound;            // data-dependent: what it is until then, and at most
};

enum class ValueKind : uint8_t {
  kActivation = 0,
  kConstant = 1,
  kInput = 2,
  kOutput = 3,
  kState = 4
};
enum class AliasKind : uint8_t { kNone = 0, kView = 1, kInPlace = 2 };

struct ValueDef {
  const char* name;  // "" when it has none
  DType dtype;
  Packing packing;
  ValueKind kind;
  AliasKind alias;
  uint8_t rank;
  bool is_data_dependent;  // its extents depend on a data-dependent symbol
  // in_place: it overwrites a part of a whole that is read afterwards, with the new part
  bool shows_in_whole;
  // constants: kF16 or kBF16 where the file has that and the kernels see f32; else kInvalid
  DType stored;
  // stored: kernels of the CPU see bf16, where BoundProgram::has_bf16_weights
  bool may_stay_bf16;
  int32_t alias_of;
  int32_t root;      // the value whose storage this one lives in; itself when alias is kNone
  Dim alias_offset;  // elements
  Dim dims[kMaxRank];
  Dim row_stride;    // 0: dense
  uint32_t segment;  // constants: weight part
  // stored: where it lies among what is widened, in blocks of kWidenedBlock bytes
  uint32_t widened_block;
  uint64_t segment_offset;  // bytes
  // constants: as the kernels see them; half of that, where stored, validated to lie inside the
  // part
  uint64_t constant_bytes;
  const void* inline_data;  // or null
  uint32_t table_offset;    // of its table, bytes into the program part, for errors
};

constexpr uint64_t kWidenedBlock = 64;
inline bool is_widened(const ValueDef& value) { return value.stored != DType::kInvalid; }
/// Bytes of a constant in the file.
inline uint64_t stored_bytes(const ValueDef& value) {
  return is_widened(value) ? value.constant_bytes / 2 : value.constant_bytes;
}

struct InstructionDef {
  OpCode op;
  uint8_t version;
  const OpContract* contract;
  const void* attributes;  // plain struct of the family
  const int32_t* inputs;   // -1: absent
  const int32_t* outputs;
  uint16_t input_count, output_count;
  // of its table, bytes into the program part; ProgramDef::program_offset makes it one of the file
  uint32_t table_offset;
  const uint32_t* sources;
  uint32_t source_count;
  // Slice and Pad with Dims that are expressions: which of symbolic_attribute_count; else -1
  int32_t symbolic_slot;
  bool resolves;  // one of its outputs is the number of a data-dependent symbol
  // the type of an operand, or an attribute, depends on a data-dependent symbol
  bool is_data_dependent;
  // that of an input, or an attribute: a symbol that it does not resolve itself
  bool reads_data_dependent;
  // Loop: data-dependent symbols below their bounds may give it more iterations
  bool may_exceed_bound;
};

struct SubprogramDef {
  const char* name;
  uint32_t first_instruction, instruction_count;  // into ProgramDef::instructions
};
struct PortDef {
  const char* name;
  const char* layout;
  int32_t value;
};
struct StateDef {
  const char* name;
  int32_t value, init, input, output;
  const char* output_name;  // of the source's output that it replaced, or ""
};

/// One step of the run order: the main program with every branch and body laid out in place.
/// Lifetimes count in these steps.
///   kRun     instruction `index`
///   kIf      reads the condition of instruction `index`; goes on at the next step when true, at
///            step `target` when false
///   kJump    goes on at step `target` (the end of a then-branch)
///   kRefuse  ends the run: the If `index` has no such branch
///   kLoop    begins loop `index`: goes on at the next step, or at step `target` when there is no
///            iteration
///   kRepeat  ends an iteration of loop `index`: goes back to step `target`, the one behind its
///            kLoop, or on
/// Only kRepeat goes back, and a loop counts its iterations against a bound, so a run ends.
enum class StepKind : uint8_t { kRun = 0, kIf = 1, kJump = 2, kRefuse = 3, kLoop = 4, kRepeat = 5 };
struct StepDef {
  StepKind kind;
  uint8_t loop;  // kLoop, kRepeat: how many loops it lies in
  uint32_t index;
  uint32_t target;
};

struct ProgramDef {
  Span<const SymbolDef> symbols;  // the free ones first
  size_t free_symbols = 0;        // that are bound from outside
  Span<const DimExpr> dim_exprs;
  Span<const ValueDef> values;
  Span<const InstructionDef> instructions;
  Span<const SubprogramDef> subprograms;
  Span<const StepDef> steps;
  Span<const PortDef> inputs;
  Span<const PortDef> outputs;
  Span<const StateDef> states;
  Span<const uint64_t> plan_offsets;  // by value, empty when the file carries no plan
  uint64_t plan_bytes = 0;
  uint64_t plan_lower_bound = 0;
  uint32_t alignment = 64;  // of values in the activation region
  uint32_t symbolic_attribute_count = 0;
  uint8_t precision = 0;  // of products: GpuPrecision
  FeatureSet features;    // that the file requires
  // of the constants that are stored smaller than the kernels want them, each at a block
  uint64_t widened_bytes = 0;
  uint64_t widened_beside_bf16 = 0;        // of those that may not stay bf16, which lie first
  uint32_t max_operands = 0;               // inputs and outputs of the instruction that has most
  const uint8_t* program_bytes = nullptr;  // where the FlatBuffer lies in memory
  uint64_t program_offset = 0;             // and in the file
};

constexpr uint64_t kNoOffset = ~uint64_t{0};
constexpr uint32_t kMaxSubprogramDepth = 16;  // Ifs and Loops inside each other

}  // namespace ingot
