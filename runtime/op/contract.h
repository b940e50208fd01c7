// SPDX-License-Identifier: Apache-2.0
// runtime/op/contract.h - what every operator promises: which operands, which shapes, what may be
// overwritten, how much scratch. One table entry an operator, shared by verifier, converter,
// planner and firmware. Knows neither FlatBuffers nor kernels.
#pragma once
#include "runtime/base/span.h"
#include "runtime/base/status.h"
#include "runtime/op/opcode.h"
#include "runtime/op/tensor.h"

namespace ingot {

/// The argument block of one instruction. For contracts the operands' data may be null; types are
/// always set. An absent optional operand has dtype kInvalid. `attributes` points at the plain
/// struct of the operator's family, see <stem>.h.
struct OpArguments {
  const void* attributes = nullptr;
  const TensorView* inputs = nullptr;
  const TensorView* outputs = nullptr;
  uint16_t input_count = 0;
  uint16_t output_count = 0;
  template <class A>
  const A& as() const {
    return *static_cast<const A*>(attributes);
  }
  /// Operand i, or null when it is absent.
  const TensorView* optional(int i) const {
    return i < input_count && inputs[i].present() ? &inputs[i] : nullptr;
  }
};

/// Why a contract refused: a static sentence and two numbers. operand >= 0: an input; < 0: output
/// -1 - operand; kAttribute: neither.
struct Violation {
  static constexpr int kAttribute = 1000;
  const char* rule = "";
  int operand = kAttribute;
  int64_t expected = 0;
  int64_t found = 0;
};

struct ScratchNeed {
  uint64_t per_thread_bytes = 0;  // each thread gets its own, 64-byte aligned
  uint64_t shared_bytes = 0;      // one for the team, 64-byte aligned
};

constexpr int kMaxThreads = 64;

struct CustomRules;
struct CustomSupport;

/// Operand sets as bit masks: bit i is input i (or output i where outputs are meant).
struct OpContract {
  OpCode op;
  uint8_t version;                  // highest understood
  uint16_t min_inputs, max_inputs;  // absent optional operands count
  uint16_t min_outputs, max_outputs;
  /// Validates attributes and operand types sound, output shapes included; overflow-safe, reads no
  /// tensor data.
  bool (*check)(const OpArguments&, Violation*);
  /// Inputs that output 0 may overwrite (each element is read before or when it is written). Called
  /// after check. May be null: none.
  uint32_t (*in_place)(const OpArguments&);
  /// Bytes of scratch that suffice for every team of 1 .. `threads` members (a session's team may
  /// shrink between steps). Depends on types and attributes only, never on the instruction set. May
  /// be null: none.
  ScratchNeed (*scratch)(const OpArguments&, int threads);
  uint32_t strided_inputs;  // inputs whose row_stride may exceed the row length
  uint32_t strided_outputs;
  /// For a session that may be rebound: at least what scratch() says for these extents and for all
  /// smaller ones, where a smaller extent can take more (blocks that fill a cache level). May be
  /// null: scratch() itself never grows so.
  ScratchNeed (*scratch_bound)(const OpArguments&, int threads) = nullptr;
  /// in_place() depends on extents, that of the first dimension aside: a converter asks it only
  /// where they are numbers.
  bool in_place_by_extents = false;
  const CustomSupport* custom = nullptr;  // Custom alone; custom.h
};

/// A kernel's view of the threads that run it together. Every member calls the kernel with its own
/// id.
struct Team {
  int id = 0;
  int size = 1;
  // joins all members; a kernel calls it the same number of times on each
  void (*barrier)(void*) = nullptr;
  void* barrier_argument = nullptr;
  void* scratch = nullptr;  // own, at least ScratchNeed::per_thread_bytes
  void* shared = nullptr;   // of the team, at least ScratchNeed::shared_bytes
  void join() const {
    if (size > 1) barrier(barrier_argument);
  }
};

/// Computes the outputs of one instruction. No allocation, no lock, no system call, no exception.
/// The result does not depend on team.size. Returns kBadIndexValue where an index tensor was
/// outside its range, else ok.
using Kernel = Status (*)(const OpArguments&, const Team&);

namespace fb {
struct Instruction;
}
/// Fills the operator's struct of attributes at `to` from a file whose FlatBuffer is sound. Returns
/// null, or the rule that the attributes break (a static string).
using AttributeDecoder = const char* (*)(const fb::Instruction& instruction, void* to);

/// One row of a kernel table. A row is tried when op matches and supports(arguments) holds (null:
/// always).
struct KernelEntry {
  OpCode op;
  const char* name;  // "conv2d_direct_f32"; static
  const OpContract* contract;
  bool (*supports)(const OpArguments&);  // types and attributes only
  Kernel run;
  AttributeDecoder decode = nullptr;  // null: its files are not read through this table
};

/// Operators of the application's that a model was opened with; see custom.h.
struct CustomOperators {
  const CustomRules* rules = nullptr;  // null: none
  const void* list = nullptr;          // as the rules know it
  size_t count = 0;
};

/// What the application hands in. Constant data; rows are tried in order, then those of `fallback`.
struct KernelTable {
  const char* isa;  // "scalar", "avx2", "avx512vnni"
  const KernelEntry* entries;
  uint32_t entry_count;
  const KernelTable* fallback;
  // products of bytes that a core sums in a nanosecond at best, roughly; of f32 a quarter. 0: not
  // known
  uint32_t products_per_ns = 0;
  CustomOperators custom = {};
  // products that bf16 programs round read weights of bf16 as they lie
  bool takes_bf16_weights = false;
};

/// First row that supports the arguments; null when there is none.
const KernelEntry* find_kernel(const KernelTable& table, OpCode op, const OpArguments& arguments);
/// A row of an operator in this table or its fallbacks, for its contract and decoder; null when
/// none carries it.
const KernelEntry* find_row(const KernelTable& table, OpCode op);
inline const OpContract* find_contract(const KernelTable& table, OpCode op) {
  const KernelEntry* const row = find_row(table, op);
  return row ? row->contract : nullptr;
}

}  // namespace ingot
