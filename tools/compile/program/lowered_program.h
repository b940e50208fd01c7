// SPDX-License-Identifier: Apache-2.0
// tools/compile/program/lowered_program.h - a program while it is converted: the instructions of
// the file with symbolic dims and host containers. Every stage (lowering, chains, views, order,
// in-place, plan) rewrites a LoweredProgram; emit.cpp turns it into a FileSpec.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/compile/write/program_builder.h"
#include "tools/graph/graph.h"

namespace ingot::convert {

using graph::Dims;
using SymbolicDim = graph::Dim;
using Bindings = std::map<std::string, int64_t>;  // symbol -> extent

struct LoweredValue {
  std::string name;
  DType dtype = DType::kInvalid;
  Packing packing = Packing::kDense;
  ValueKind kind = ValueKind::kActivation;
  Dims dims;
  AliasKind alias = AliasKind::kNone;
  int32_t alias_of = -1;
  SymbolicDim alias_offset;  // elements from the start of alias_of
  SymbolicDim row_stride;    // 0: dense
  ConstantBytes bytes;       // of constants
  // whose elements these are, where conversion did not make the value
  graph::ValueId graph_value = graph::kAbsent;
  // the subprogram of the Loop that carries it: written before that and again in its body
  int32_t carried_in = -1;
  // Of what is carried: the body, and what is written before it, what an iteration begins with and
  // what it ends with.
  int32_t body = -1;
  graph::ValueId first_value = graph::kAbsent, body_value = graph::kAbsent,
                 next_value = graph::kAbsent;
  bool carried() const { return carried_in >= 0; }
};

struct LoweredInstruction {
  Attributes attributes;
  // Slice: starts; Pad: before; Loop: most. Copied into the attributes when evaluated
  Dims extents;
  std::vector<int32_t> inputs;    // -1: absent
  std::vector<int32_t> outputs;   // -1: absent
  std::vector<uint32_t> sources;  // indices into Model::source_nodes
  std::string node;               // of the graph, for messages
  std::string note;               // why this method, why a copy; for `ingot why`
  OpCode op() const { return OpCode(attributes.index()); }
};

/// The subprograms of an If (then, else; what is missing left out) or of a Loop, in run order.
std::vector<uint32_t> callees_of(const LoweredInstruction& instruction);

struct LoweredSubprogram {
  std::string name;
  std::vector<LoweredInstruction> instructions;
};

/// A data-dependent symbol.
struct LoweredDataDependent {
  int32_t by = -1;  // value: an i64 scalar
  SymbolicDim bound;
};

struct LoweredProgram {
  std::vector<LoweredValue> values;
  std::vector<LoweredSubprogram> subprograms;  // 0 is the main program
  std::vector<PortSpec> inputs, outputs;
  std::vector<StateSpec> states;  // value and init are those of the program
  std::map<std::string, graph::SymbolBounds> symbols;
  std::map<std::string, LoweredDataDependent> data_dependent;
  uint32_t alignment = 64;
  std::vector<Bindings> trials;  // choose_trials(); empty until then
  // as a microcontroller's core has it: the plan leaves gaps for the scratch of each instruction,
  // and no part of a value is written in rows with gaps
  bool is_for_core = false;
  bool has_sound_extents = true;  // false: under none of the trials do all contracts hold

  int32_t add(LoweredValue value);
  const LoweredValue& at(int32_t id) const { return values[size_t(id)]; }
  LoweredValue& at(int32_t id) { return values[size_t(id)]; }
  /// The value in whose storage this one lives.
  int32_t root(int32_t id) const;
};

/// The values that resolve dims of an instruction's operands, but not those that it writes. Not of
/// its branches.
std::vector<int32_t> resolvers_of(const LoweredProgram& lowered,
                                  const LoweredInstruction& instruction);
/// True when a data-dependent symbol is in the value's extents.
bool is_data_dependent(const LoweredProgram& lowered, int32_t value);
/// Adds the data-dependent symbols to a binding of the free ones, at their bounds.
void bind_data_dependent(const LoweredProgram& lowered, Bindings* bindings);

/// Type of a value under a binding. @throws ConversionError when a dimension comes out negative.
TensorType evaluate_type(const LoweredValue& value, const Bindings& bindings);
/// Attributes with Slice.starts and Pad.before filled in.
Attributes evaluate_attributes(const LoweredInstruction& instruction, const Bindings& bindings);
/// Pointer to the plain struct inside.
const void* attribute_pointer(const Attributes& attributes);
/// Sets program->trials: extents of the symbols under which every contract holds, the typical ones
/// first (1 for a leading dimension, else a usual extent or what a reshape or a fixed kernel
/// demands), then twice that and stated bounds. One empty binding when nothing is symbolic. False
/// when no extents were found; the usual ones are taken then.
bool choose_trials(LoweredProgram* lowered);
/// program.trials, or usual extents when none were chosen yet.
std::vector<Bindings> trial_bindings(const LoweredProgram& lowered);
inline Bindings typical_binding(const LoweredProgram& lowered) {
  return trial_bindings(lowered)[0];
}

/// Types, attributes and the argument block of one instruction under one binding, kept together.
class Arguments {
 public:
  Arguments(const LoweredProgram& lowered, const LoweredInstruction& instruction,
            const Bindings& bindings);
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  const OpArguments& get() const { return arguments_; }

 private:
  Attributes attributes_;
  std::vector<TensorView> inputs_, outputs_;
  OpArguments arguments_;
};

/// The contract of an operator; null for none (never for the operators of this version).
const OpContract* contract_of(OpCode op);
/// An instruction of a program.
struct Place {
  uint32_t subprogram = 0, index = 0;
};
/// True when no extent is negative and every contract agrees under one binding. `refuses`: asked
/// first, and where it failed; `asked`: counts contracts. Both may be null.
bool contracts_hold(const LoweredProgram& lowered, const Bindings& bindings,
                    Place* refuses = nullptr, uint64_t* asked = nullptr);
/// Asks the contract of every instruction, under every trial binding. @throws
/// ConversionError(kUnsupported) listing every instruction that is refused when the program is
/// fresh from lowering (the model asks for what an operator does not do), else
/// ConversionError(kInternal): what conversion makes must be sound, the verifier would refuse it
/// otherwise.
void check_lowered(const LoweredProgram& lowered, bool is_fresh);
/// "[1, 224, 224, 3]" with symbols by name.
std::string dims_text(const Dims& dims);

}  // namespace ingot::convert
