// SPDX-License-Identifier: Apache-2.0
// tools/compile/emit/emit.cpp - see emit.h.
#include "tools/compile/emit/emit.h"

#include <algorithm>

#include "runtime/format/validate.h"
#include "runtime/op/attention_blocks.h"
#include "tools/compile/plan/schedule.h"

namespace ingot::convert {
namespace {

/// Writes dims into the table of expressions, each once.
class DimWriter {
 public:
  DimWriter(const LoweredProgram& lowered, ProgramSpec* program)
      : lowered_(lowered), program_(program) {}

  Dim bound_of(const std::string& symbol) const { return bounds_.at(symbol); }

  Dim write(const SymbolicDim& dim) {
    if (const auto number = dim.value())
      return *number >= 0 ? *number : expression(DimOp::kSub, 0, -*number);
    const auto [found, is_first] = written_.try_emplace(dim.text(), 0);
    if (!is_first) return found->second;
    const Dim result = sum(dim.node());
    return written_[dim.text()] = result;
  }

 private:
  /// Positive terms first, so that no intermediate result is negative unless the sum is.
  Dim sum(const graph::Dim::Node& node) {
    Dim total = std::max<int64_t>(node.constant, 0);
    for (const graph::DimTerm& term : node.terms)
      if (term.coefficient > 0)
        total = expression(DimOp::kAdd, total, product(term, term.coefficient));
    if (node.constant < 0) total = expression(DimOp::kSub, total, -node.constant);
    for (const graph::DimTerm& term : node.terms)
      if (term.coefficient < 0)
        total = expression(DimOp::kSub, total, product(term, -term.coefficient));
    return total;
  }

  Dim product(const graph::DimTerm& term, int64_t coefficient) {
    Dim result = coefficient;
    for (const graph::DimAtomPtr& factor : term.factors)
      result = expression(DimOp::kMul, result, atom(*factor));
    return result;
  }

  Dim atom(const graph::DimAtom& atom) {
    switch (atom.kind) {
      case graph::DimAtom::Kind::kSymbol: return symbol(atom);
      case graph::DimAtom::Kind::kFloorDiv: return binary(DimOp::kFloorDiv, atom);
      case graph::DimAtom::Kind::kMin: return binary(DimOp::kMin, atom);
      case graph::DimAtom::Kind::kMax: return binary(DimOp::kMax, atom);
    }
    return 0;
  }

  Dim binary(DimOp op, const graph::DimAtom& atom) {
    const Dim a = write(atom.a), b = write(atom.b);
    return expression(op, a, b);
  }

  Dim symbol(const graph::DimAtom& atom) {
    if (const auto found = lowered_.data_dependent.find(atom.name);
        found != lowered_.data_dependent.end()) {
      const Dim bound = write(found->second.bound);  // before the symbol's own expression
      const Dim result = program_->add_symbol(atom.name, 0, 0);
      bounds_[atom.name] = bound;
      return result;
    }
    const auto bounds = lowered_.symbols.find(atom.name);
    return bounds == lowered_.symbols.end()
               ? program_->add_symbol(atom.name, atom.low, atom.high)
               : program_->add_symbol(atom.name, bounds->second.low, bounds->second.high);
  }

  /// Neutral operands disappear.
  Dim expression(DimOp op, Dim a, Dim b) {
    if (op == DimOp::kAdd && a == 0) return b;
    if ((op == DimOp::kAdd || op == DimOp::kSub) && b == 0) return a;
    if (op == DimOp::kMul && a == 1) return b;
    if ((op == DimOp::kMul || op == DimOp::kFloorDiv) && b == 1) return a;
    if (const Dim most = std::max(a, b); most > kMaxNumber)
      graph::fail_unsupported("a dimension is computed with the number " + std::to_string(most) +
                              ", at most " + std::to_string(kMaxNumber) +
                              " can be; bind it with --dim");
    return program_->add_dim_expr(op, a, b);
  }

  const LoweredProgram& lowered_;
  ProgramSpec* program_;
  std::map<std::string, Dim> written_;
  std::map<std::string, Dim> bounds_;  // of data-dependent symbols
};

class Emitter {
 public:
  explicit Emitter(const LoweredProgram& lowered)
      : lowered_(lowered), dims_(lowered, &program_), index_(lowered.values.size(), -1) {}

  ProgramSpec run() {
    program_.alignment = lowered_.alignment;
    number_values();
    for (const int32_t id : order_) emit_value(lowered_.at(id));
    program_.subprograms.clear();
    for (const LoweredSubprogram& subprogram : lowered_.subprograms) emit_subprogram(subprogram);
    for (PortSpec port : lowered_.inputs)
      port.value = index_[size_t(port.value)], program_.inputs.push_back(std::move(port));
    for (PortSpec port : lowered_.outputs)
      port.value = index_[size_t(port.value)], program_.outputs.push_back(std::move(port));
    for (StateSpec state : lowered_.states) {
      state.value = index_[size_t(state.value)];
      if (state.init >= 0) state.init = index_[size_t(state.init)];
      program_.states.push_back(std::move(state));
    }
    emit_data_dependent();
    for (size_t i = 0; i < std::size(kFeatureNames); i++)
      if (features_.has(Feature(i))) program_.required_features.push_back(kFeatureNames[i]);
    if (program_.symbols.empty() || program_.symbols[0].resolved_by >= 0) emit_plan();
    return std::move(program_);
  }

 private:
  void number(int32_t id) {
    if (id < 0 || index_[size_t(id)] >= 0) return;
    number(lowered_.at(id).alias == AliasKind::kNone ? -1 : lowered_.at(id).alias_of);
    index_[size_t(id)] = int32_t(order_.size());
    order_.push_back(id);
  }
  void number_block(const LoweredSubprogram& subprogram) {
    for (const LoweredInstruction& instruction : subprogram.instructions) {
      for (const int32_t id : instruction.inputs) number(id);
      for (const int32_t id : instruction.outputs) number(id);
      for (const uint32_t callee : callees_of(instruction))
        number_block(lowered_.subprograms[callee]);
    }
  }
  void number_values() {
    for (const PortSpec& port : lowered_.inputs) number(port.value);
    for (const StateSpec& state : lowered_.states) number(state.value), number(state.init);
    number_block(lowered_.subprograms[0]);
    for (const PortSpec& port : lowered_.outputs) number(port.value);
  }

  void emit_value(const LoweredValue& value) {
    ValueSpec spec;
    spec.name = value.name;
    spec.dtype = value.dtype;
    spec.packing = value.packing;
    spec.kind = value.kind;
    spec.alias = value.alias;
    if (value.alias != AliasKind::kNone) {
      spec.alias_of = index_[size_t(value.alias_of)];
      spec.alias_offset = dims_.write(value.alias_offset);
    }
    for (const SymbolicDim& dim : value.dims) spec.dims.push_back(dims_.write(dim));
    spec.row_stride = dims_.write(value.row_stride);
    spec.bytes = value.bytes;
    spec.graph_value = value.graph_value;
    spec.carried_in = value.carried_in;
    spec.body = value.body;
    spec.first_value = value.first_value;
    spec.body_value = value.body_value;
    spec.next_value = value.next_value;
    program_.add_value(std::move(spec));
  }

  void add_features(const LoweredInstruction& instruction) {
    const auto add_if = [&](bool uses, Feature feature) {
      if (uses) features_.add(feature);
    };
    const auto has_input = [&](int i) {
      return int(instruction.inputs.size()) > i && instruction.inputs[size_t(i)] >= 0;
    };
    add_if(instruction.op() == OpCode::kImageInput, Feature::kImageInput);
    add_if(instruction.op() == OpCode::kLinear && has_input(linear_weights::kScales),
           Feature::kQuantizedWeights);
    const auto* const attention = std::get_if<AttentionAttributes>(&instruction.attributes);
    if (!attention) return;
    add_if(attention->empty_rows != EmptyRows::kZero, Feature::kEmptyRows);
    add_if(has_input(attention::kKeyBatches), Feature::kKeyBatches);
    add_if(has_input(attention::kSinks), Feature::kAttentionSinks);
  }

  void emit_subprogram(const LoweredSubprogram& subprogram) {
    SubprogramSpec spec;
    spec.name = subprogram.name;
    for (const LoweredInstruction& instruction : subprogram.instructions) {
      InstructionSpec out;
      out.attributes = instruction.attributes;
      add_features(instruction);
      int64_t* numbers = nullptr;
      if (auto* slice = std::get_if<SliceAttributes>(&out.attributes)) numbers = slice->starts;
      if (auto* pad = std::get_if<PadAttributes>(&out.attributes)) numbers = pad->before;
      for (size_t i = 0; numbers && i < instruction.extents.size(); i++)
        numbers[i] = dims_.write(instruction.extents[i]);
      if (auto* loop = std::get_if<LoopAttributes>(&out.attributes))
        loop->most = dims_.write(instruction.extents.at(0));
      const auto place = [&](int32_t id) { return id < 0 ? -1 : index_[size_t(id)]; };
      for (const int32_t id : instruction.inputs) out.inputs.push_back(place(id));
      for (const int32_t id : instruction.outputs) out.outputs.push_back(place(id));
      out.sources = instruction.sources;
      spec.instructions.push_back(std::move(out));
    }
    program_.subprograms.push_back(std::move(spec));
  }

  /// Data-dependent symbols follow the free ones.
  void emit_data_dependent() {
    for (SymbolSpec& symbol : program_.symbols) {
      const auto found = lowered_.data_dependent.find(symbol.name);
      if (found == lowered_.data_dependent.end()) continue;
      symbol.resolved_by = index_[size_t(found->second.by)];
      symbol.bound = dims_.bound_of(symbol.name);
    }
    std::vector<SymbolSpec> sorted;
    std::vector<int64_t> place(program_.symbols.size());
    for (const bool depends : {false, true})
      for (size_t i = 0; i < program_.symbols.size(); i++) {
        if ((program_.symbols[i].resolved_by >= 0) != depends) continue;
        place[i] = int64_t(sorted.size());
        sorted.push_back(program_.symbols[i]);
        if (depends) features_.add(Feature::kMeasured);
      }
    program_.symbols = std::move(sorted);
    for (DimExpr& expr : program_.dim_exprs)
      if (expr.op == DimOp::kSymbol) expr.a = place[size_t(expr.a)];
  }

  void emit_plan() {
    const ArenaEstimate estimate = estimate_arena(lowered_, trial_bindings(lowered_)[0]);
    PlanSpec plan;
    for (const int32_t id : order_) plan.offsets.push_back(estimate.offsets[size_t(id)]);
    plan.bytes = lowered_.is_for_core ? estimate.value_bytes : estimate.bytes;
    plan.lower_bound = estimate.lower_bound;
    program_.plan = std::move(plan);
  }

  const LoweredProgram& lowered_;
  ProgramSpec program_;
  DimWriter dims_;
  FeatureSet features_;
  std::vector<int32_t> index_;  // by program value: its place in the file
  std::vector<int32_t> order_;
};

}  // namespace

ProgramSpec emit_program(const LoweredProgram& lowered) { return Emitter(lowered).run(); }

}  // namespace ingot::convert
