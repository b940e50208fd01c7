// SPDX-License-Identifier: Apache-2.0
// tools/compile/program/lowered_program.cpp - evaluating a program under a binding, and asking the
// contracts.
#include "tools/compile/program/lowered_program.h"

#include "tools/compile/program/data_bounds.h"

namespace ingot::convert {

int32_t LoweredProgram::add(LoweredValue value) {
  values.push_back(std::move(value));
  return int32_t(values.size()) - 1;
}

int32_t LoweredProgram::root(int32_t id) const {
  while (at(id).alias != AliasKind::kNone) id = at(id).alias_of;
  return id;
}

std::vector<uint32_t> callees_of(const LoweredInstruction& instruction) {
  if (const auto* loop = std::get_if<LoopAttributes>(&instruction.attributes)) return {loop->body};
  const auto* branch = std::get_if<IfAttributes>(&instruction.attributes);
  if (!branch) return {};
  std::vector<uint32_t> callees;
  for (const uint32_t s : {branch->then_subprogram, branch->else_subprogram})
    if (s != 0) callees.push_back(s);
  return callees;
}

std::string dims_text(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); i++) text += (i ? ", " : "") + dims[i].text();
  return text + "]";
}

TensorType evaluate_type(const LoweredValue& value, const Bindings& bindings) {
  TensorType type;
  type.dtype = value.dtype;
  type.packing = value.packing;
  if (value.dims.size() > size_t(kMaxRank))
    graph::fail_unsupported("value '" + value.name + "': " + std::to_string(value.dims.size()) +
                            " dimensions, at most " + std::to_string(kMaxRank) + " are supported");
  type.rank = uint8_t(value.dims.size());
  for (size_t i = 0; i < value.dims.size(); i++) {
    const int64_t extent = value.dims[i].evaluate(bindings);
    if (!is_extent(extent))
      graph::fail_mismatch("value '" + value.name + "': dimension " + value.dims[i].text() +
                           " is " + std::to_string(extent) +
                           " under the bindings tried, expected 0.." + std::to_string(INT32_MAX));
    type.dims[i] = extent;
  }
  const int64_t stride = value.row_stride.evaluate(bindings);
  type.row_stride = stride != 0 ? stride : type.row_length();
  return type;
}

Attributes evaluate_attributes(const LoweredInstruction& instruction, const Bindings& bindings) {
  Attributes attributes = instruction.attributes;
  int64_t* numbers = nullptr;
  if (auto* slice = std::get_if<SliceAttributes>(&attributes)) numbers = slice->starts;
  if (auto* pad = std::get_if<PadAttributes>(&attributes)) numbers = pad->before;
  for (size_t i = 0; numbers && i < instruction.extents.size() && i < size_t(kMaxRank); i++)
    numbers[i] = instruction.extents[i].evaluate(bindings);
  if (auto* loop = std::get_if<LoopAttributes>(&attributes))
    loop->most = instruction.extents.at(0).evaluate(bindings);
  return attributes;
}

const void* attribute_pointer(const Attributes& attributes) {
  return std::visit([](const auto& a) -> const void* { return &a; }, attributes);
}

Arguments::Arguments(const LoweredProgram& lowered, const LoweredInstruction& instruction,
                     const Bindings& bindings)
    : attributes_(evaluate_attributes(instruction, bindings)) {
  const auto view = [&](int32_t id) {
    TensorView v;
    if (id >= 0) static_cast<TensorType&>(v) = evaluate_type(lowered.at(id), bindings);
    return v;
  };
  for (int32_t id : instruction.inputs) inputs_.push_back(view(id));
  for (int32_t id : instruction.outputs) outputs_.push_back(view(id));
  arguments_.attributes = attribute_pointer(attributes_);
  arguments_.inputs = inputs_.data();
  arguments_.outputs = outputs_.data();
  arguments_.input_count = uint16_t(inputs_.size());
  arguments_.output_count = uint16_t(outputs_.size());
}

const OpContract* contract_of(OpCode op) {
  static const OpContract* const kContracts[kOpCodeCount] = {
      nullptr,
#define INGOT_OPERATOR(name, number, text, family) &k##name##Contract,
#include "runtime/op/operators.def"
  };
  return int(op) < kOpCodeCount ? kContracts[int(op)] : nullptr;
}

namespace {

std::string operand_text(const LoweredProgram& lowered, const LoweredInstruction& instruction,
                         int operand) {
  if (operand == Violation::kAttribute) return "attributes";
  const bool output = operand < 0;
  const size_t index = size_t(output ? -1 - operand : operand);
  const std::vector<int32_t>& ids = output ? instruction.outputs : instruction.inputs;
  std::string text = (output ? "output " : "operand ") + std::to_string(index);
  if (index < ids.size() && ids[index] >= 0) {
    const LoweredValue& value = lowered.at(ids[index]);
    text += " '" + value.name + "' " + dtype_name(value.dtype) + dims_text(value.dims);
  }
  return text;
}

/// "" when the contract agrees, else its words.
std::string why_refused(const LoweredProgram& lowered, const LoweredInstruction& instruction,
                        const Bindings& bindings) try {
  const Arguments arguments(lowered, instruction, bindings);
  Violation violation;
  if (contract_of(instruction.op())->check(arguments.get(), &violation)) return "";
  std::string where;
  for (const auto& [name, extent] : bindings)
    where += (where.empty() ? " (with " : ", ") + name + "=" + std::to_string(extent);
  return operand_text(lowered, instruction, violation.operand) + ": " + violation.rule +
         ", expected " + std::to_string(violation.expected) + ", found " +
         std::to_string(violation.found) + (where.empty() ? "" : where + ")");
} catch (const graph::DimError& error) {  // a division by nothing, or too large
  return error.what();
}

}  // namespace

bool contracts_hold(const LoweredProgram& lowered, const Bindings& bindings, Place* refuses,
                    uint64_t* asked) {
  const auto holds = [&](const LoweredInstruction& instruction) {
    Violation violation;
    if (asked) ++*asked;
    return contract_of(instruction.op())
        ->check(Arguments(lowered, instruction, bindings).get(), &violation);
  };
  const auto all_extents = [&](const LoweredInstruction& instruction) {
    for (const auto* ids : {&instruction.inputs, &instruction.outputs})
      for (const int32_t id : *ids)
        for (size_t i = 0; id >= 0 && i < lowered.at(id).dims.size(); i++)
          if (!is_extent(lowered.at(id).dims[i].evaluate(bindings))) return false;
    return true;
  };
  try {
    if (refuses && refuses->subprogram < lowered.subprograms.size() &&
        refuses->index < lowered.subprograms[refuses->subprogram].instructions.size()) {
      const LoweredInstruction& before =
          lowered.subprograms[refuses->subprogram].instructions[refuses->index];
      if (!all_extents(before) || !holds(before)) return false;
    }
    for (const LoweredValue& value : lowered.values)
      for (const SymbolicDim& dim : value.dims)
        if (!is_extent(dim.evaluate(bindings))) return false;
    for (uint32_t s = 0; s < lowered.subprograms.size(); s++)
      for (uint32_t i = 0; i < lowered.subprograms[s].instructions.size(); i++) {
        if (holds(lowered.subprograms[s].instructions[i])) continue;
        if (refuses) *refuses = {s, i};
        return false;
      }
  } catch (const graph::DimError&) {  // a division by nothing, or too large
    return false;
  }
  return true;
}

void check_lowered(const LoweredProgram& lowered, bool is_fresh) {
  graph::ConversionError error;
  error.exit_code = host::Exit::kUnsupported;
  const std::vector<Bindings> trials = trial_bindings(lowered);
  if (is_fresh) check_extents(lowered, trials[0]);
  for (const LoweredSubprogram& subprogram : lowered.subprograms) {
    for (const LoweredInstruction& instruction : subprogram.instructions) {
      std::string why;
      for (const Bindings& bindings : trials)
        if (why.empty()) why = why_refused(lowered, instruction, bindings);
      if (why.empty()) continue;
      const std::string op = op_name(instruction.op());
      if (!is_fresh)
        graph::fail_internal(op + " made from '" + instruction.node + "': " + why +
                             "; a fault of ingot's converter, please report it with the model");
      const int32_t output = instruction.outputs.empty() ? -1 : instruction.outputs[0];
      error.unsupported.push_back({op, "", instruction.node,
                                   output < 0 ? "" : lowered.at(output).name, why,
                                   how_to_bound(lowered, instruction, trials[0])});
    }
  }
  if (!lowered.has_sound_extents) {
    std::string names;
    const Bindings tried = typical_binding(lowered);
    for (const auto& [name, extent] : tried)
      if (!lowered.data_dependent.count(name)) names += (names.empty() ? "" : ", ") + name;
    error.message = "no extents of " + names +
                    " were found under which every operation takes its operands, so no session "
                    "could run the file; " +
                    "if some are valid, set them with --dim";
    throw error;
  }
  if (error.unsupported.empty()) return;
  error.message = std::to_string(error.unsupported.size()) +
                  " of the model's operations ask for what no operator here does";
  throw error;
}

}  // namespace ingot::convert
