// SPDX-License-Identifier: Apache-2.0
// runtime/op/custom.h - Custom: an operator of the application's. The file names it and has its
// attributes; what it checks, asks for and computes is handed in when the file is opened
// (<ingot/custom.h>), through a CustomRules that runtime/api has.
//
// Operands are dense; inputs may be absent; no output overwrites an input. Its shapes follow from
// the types of its inputs and its attributes alone.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

/// One of: text; integers [count]; numbers [count].
struct CustomAttribute {
  const char* name = "";
  const char* text = nullptr;
  const int64_t* integers = nullptr;
  const double* numbers = nullptr;
  uint32_t count = 0;
};

/// How Ingot speaks to operators that it does not know. `implementation` is what find() gave.
struct CustomRules {
  /// Null, or why the list cannot be used (a static sentence).
  const char* (*why_not)(const CustomOperators& operators);
  /// Null where nobody handed in such an operator.
  const void* (*find)(const CustomOperators& operators, const char* domain, const char* name);
  bool (*check)(const void* implementation, const OpArguments&, Violation*);
  ScratchNeed (*scratch)(const void* implementation, const OpArguments&, int threads);
  Status (*run)(const void* implementation, const OpArguments&, const Team&);
};

struct CustomAttributes {
  const char* domain = "";
  const char* name = "";
  const CustomAttribute* list = nullptr;  // [count]
  uint32_t count = 0;
  const CustomRules* rules = nullptr;  // null: nobody handed it in
  const void* implementation = nullptr;
};

/// What a program needs that reads files with Custom, and no other: kCustomContract has it, so that
/// a kernel table without the operator links none of it.
struct CustomSupport {
  /// The room for its list of attributes, in eights of bytes.
  uint64_t (*words)(const fb::Instruction& instruction);
  /// Fills a list of that room, which *room then moves behind. Null, or the rule that is broken.
  const char* (*decode)(const fb::Instruction& instruction, uint64_t** room, CustomAttributes* to);
  bool (*find)(const KernelTable& table, CustomAttributes* attributes);  // find_custom()
  /// "domain::name", cut where there is no more room, into an error's name.
  void (*name)(const CustomAttributes& attributes, ErrorDetail* detail);
  const CustomRules& handed_in;  // of ingot_open_options.operators
};

constexpr int kMaxCustomInputs = 32, kMaxCustomOutputs = 16;
extern const OpContract kCustomContract;
// runtime/format/decode_custom.cpp and runtime/api/custom_operators.cpp have their parts of it
uint64_t custom_words(const fb::Instruction& instruction);
const char* decode_custom_lists(const fb::Instruction& instruction, uint64_t** room,
                                CustomAttributes* to);
extern const CustomRules kHandedInOperators;

/// The row of a kernel table. @pre the contract agrees.
Status run_custom(const OpArguments& arguments, const Team& team);

/// Finds the operator among those of the table and of what it falls back to; false where there is
/// none.
bool find_custom(const KernelTable& table, CustomAttributes* attributes);

}  // namespace ingot
