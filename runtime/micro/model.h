// SPDX-License-Identifier: Apache-2.0
// runtime/micro/model.h - a model that is run where it lies in flash: what is kept of it, its
// kernels, its values and instructions as they are read each time.
// Owns     nothing; the arena is the caller's.
// Threads  one at a time.
#pragma once
#include "ingot/micro.h"
#include "runtime/micro/attributes.h"
#include "runtime/micro/schema_fields.h"
#include "runtime/op/contract.h"

namespace ingot::micro {

/// A row of a firmware's table.
struct MicroKernel {
  KernelEntry entry;
  ReadAttributes read;
};
struct MicroModel;
struct MicroError;
/// Sets every state to its initial value.
using StartStates = bool (*)(const MicroModel& model, MicroError* error);
struct MicroKernelTable {
  const MicroKernel* rows;
  uint32_t count;
  // null, so that nothing of it is linked, where no model has state
  StartStates start_states = nullptr;
};

/// What went wrong; `what` is null where INGOT_FIRMWARE is defined.
struct MicroError {
  Code code = Code::kOk;
  int32_t index = -1;
  uint32_t need = 0, have = 0;
  const char* what = nullptr;
};
// Sentences are not linked into a firmware, whose errors are numbers.
#ifdef INGOT_FIRMWARE
#define INGOT_MICRO_TEXT(text) nullptr
#else
#define INGOT_MICRO_TEXT(text) text
#endif
/// Fills `error` and returns false, so that a check is one line.
bool refuse(MicroError* error, Code code, const char* what, int32_t index = -1, uint32_t need = 0,
            uint32_t have = 0);

/// Counts beyond these are refused: what is kept of a value or an instruction has 16 bits.
constexpr uint32_t kMaxValues = 4096, kMaxInstructions = 4096;
constexpr uint32_t kMaxAliases = 256;              // values from an alias to its root
constexpr uint32_t kMaxOperands = 10;              // of an instruction, outputs included
constexpr uint32_t kScratchBlock = 64;             // places of scratch are multiples of it
constexpr uint32_t kMaxBytes = uint32_t{1} << 30;  // of a value, the program, the arena
constexpr uint32_t kNoPlace = 0xffffffffu;

/// The opened model.
struct MicroModel {
  const uint8_t* image;
  const MicroKernelTable* kernels;
  uint8_t* arena;
  uint32_t program, program_bytes;      // of the program part, from the start of the image
  uint32_t weight_entry, weight_parts;  // first entry of the part table with weights
  uint32_t weight_alignment;
  FlatVector values, instructions, inputs, outputs, offsets;
  uint32_t arena_bytes;
};

/// A value as the file has it.
struct MicroValue {
  TensorType type;
  ValueKind kind;
  AliasKind alias;
  int32_t alias_of;
  uint32_t alias_offset;  // bytes
  uint32_t bytes;         // from its first to its last
  uint32_t constant_at;   // from the start of the image
};

/// One instruction with its operands. Data pointers are null unless place_operands() has set them.
struct MicroCall {
  OpCode op;
  const MicroKernel* kernel;  // first row of the operator
  int32_t values[kMaxOperands];
  TensorView views[kMaxOperands];
  OpArguments arguments;
  alignas(8) uint8_t attributes[kAttributeRoom];
};

inline FlatReader reader_of(const MicroModel& model) {
  return FlatReader(model.image + model.program, model.program_bytes);
}

class Watch;
/// The header, the part table and the hashes of both and of the program; with `check_weights` of
/// the weights too.
bool open_image(const uint8_t* image, uint64_t bytes, bool check_weights, MicroModel* out,
                Watch* watch, MicroError* error);
/// Value `index` and all that it says about itself.
bool read_value(const MicroModel& model, uint32_t index, MicroValue* out, MicroError* error);
/// Instruction `index` with types of its operands, held against nothing yet.
bool read_call(const MicroModel& model, uint32_t index, MicroCall* out, MicroError* error);
/// The value at the end of the chain of aliases, and how many bytes behind its start `index` lies.
/// kNoPlace where the chain has a cycle or more than kMaxAliases values.
uint32_t find_root(const MicroModel& model, uint32_t index, uint32_t* offset);
/// Where the plan has a root, from the start of the arena.
uint32_t planned_offset(const MicroModel& model, uint32_t root);
/// First row for these arguments; null when there is none.
const MicroKernel* find_row(const MicroKernelTable& table, OpCode op, const OpArguments* arguments);

/// Everything; `model.arena` and `arena_bytes` say what may be used, and arena_bytes is then what
/// is.
bool validate(MicroModel* model, Watch* watch, MicroError* error);
/// Where scratch of an instruction lies: a number of blocks each, at the end of the arena.
inline uint8_t* scratch_table(const MicroModel& model) {
  return model.arena + model.arena_bytes - 2 * model.instructions.count;
}

/// The function of tables for models with state. Each state is held against its initial value
/// before it is written, at a reset too. @pre validate() has seen `model`
bool start_states(const MicroModel& model, MicroError* error);

/// Address of a value, which lies in the flash or in the arena whatever the file says; null else.
uint8_t* address_of(const MicroModel& model, uint32_t index, const MicroValue& value);

}  // namespace ingot::micro
