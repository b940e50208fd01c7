// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/views.cpp - see views.h. Instructions keep their places until the end, so that
// uses stay valid.
#include "tools/compile/plan/views.h"

#include <algorithm>
#include <set>

#include "tools/compile/plan/row_spacing.h"

namespace ingot::convert {
namespace {

class ViewElimination {
 public:
  ViewElimination(LoweredProgram* lowered, ConversionReport* report)
      : lowered_(lowered), report_(report), tree_(lowered) {
    for (const LoweredSubprogram& subprogram : lowered->subprograms)
      for (const LoweredInstruction& instruction : subprogram.instructions)
        if (instruction.op() == OpCode::kIf)
          results_of_if_.insert(instruction.outputs.begin(), instruction.outputs.end());
    for (const LoweredValue& value : lowered->values)
      any_carried_ = any_carried_ || value.carried();
  }
  void run();

 private:
  using Copies = std::vector<std::pair<int32_t, int32_t>>;  // from, to
  void visit(uint32_t subprogram, uint32_t index);
  std::string visit_copy(const Use& at, int32_t x, int32_t y);
  std::string visit_slice(const Use& at, const LoweredInstruction& instruction);
  std::string visit_transpose(const Use& at, const LoweredInstruction& instruction);
  std::string visit_gather(const Use& at, const LoweredInstruction& instruction);
  void visit_concat(const Use& at);
  std::string write_into(const Use& at, int32_t part, int32_t whole, const ViewOf& relation);
  bool written_in(int32_t value, uint32_t subprogram) const;
  bool is_free(int32_t value) const {
    return lowered_->at(value).kind == ValueKind::kActivation && !lowered_->at(value).carried() &&
           tree_.usage().writers[size_t(value)].size() == 1;
  }
  size_t covering_run(const std::vector<int32_t>& parts, size_t first, uint32_t axis) const;
  void rebuild(uint32_t subprogram);
  LoweredInstruction& instruction_at(const Use& at) {
    return lowered_->subprograms[at.subprogram].instructions[at.index];
  }

  /// What a loop carries may be looked at through views after the loop; in its body the value
  /// changes under them.
  std::string attach(const Use& at, int32_t view, int32_t whole, const ViewOf& relation) {
    const int32_t carried_in = any_carried_ ? lowered_->at(lowered_->root(whole)).carried_in : -1;
    if (carried_in >= 0 && carried_in != int32_t(at.subprogram))
      return "'" + lowered_->at(whole).name + "' is carried by the loop around it";
    return tree_.attach(view, whole, relation);
  }

  LoweredProgram* lowered_;
  ConversionReport* report_;
  ViewTree tree_;
  bool any_carried_ = false;         // by a loop
  std::set<int32_t> results_of_if_;  // each branch writes them itself
  // by place: what is left to copy, nothing for a view
  std::map<std::pair<uint32_t, uint32_t>, Copies> replaced_;
};

ViewOf slice_at(size_t rank, size_t axis, const SymbolicDim& start) {
  ViewOf relation{ViewOf::Kind::kSlice, Dims(rank, SymbolicDim(0)), {}, {}};
  relation.starts[axis] = start;
  return relation;
}

/// All that lies in the storage of `value`, written by instructions of one subprogram only.
bool ViewElimination::written_in(int32_t value, uint32_t subprogram) const {
  const auto& writers = tree_.usage().writers[size_t(value)];
  return std::all_of(writers.begin(), writers.end(),
                     [&](const Use& use) { return use.subprogram == subprogram; }) &&
         std::all_of(tree_.children(value).begin(), tree_.children(value).end(),
                     [&](int32_t child) { return written_in(child, subprogram); });
}

/// Has `part`, or what it is a view of, written straight into `whole`.
std::string ViewElimination::write_into(const Use& at, int32_t part, int32_t whole,
                                        const ViewOf& relation) {
  if (lowered_->at(whole).kind == ValueKind::kState)
    return "the state it goes to is read until then";
  if (any_carried_ && lowered_->at(lowered_->root(whole)).carried())
    return "'" + lowered_->at(whole).name + "' is carried by a loop";
  if (results_of_if_.count(whole))
    return "'" + lowered_->at(whole).name + "' is the result of an If";
  const int32_t above = lowered_->at(part).alias_of;
  const bool turned = tree_.is_alias(part) && tree_.make_root(part);
  std::string why = written_in(part, at.subprogram)
                        ? tree_.attach(part, whole, relation)
                        : "'" + lowered_->at(part).name + "' is written in another branch";
  if (!why.empty() && turned) tree_.make_root(above);
  return why;
}

std::string ViewElimination::visit_copy(const Use& at, int32_t x, int32_t y) {
  if (lowered_->at(x).dtype != lowered_->at(y).dtype) return "it takes the bits for another type";
  if (is_free(y)) return attach(at, y, x, ViewOf{});
  return write_into(at, x, y, ViewOf{});
}

std::string ViewElimination::visit_slice(const Use& at, const LoweredInstruction& instruction) {
  const auto& attributes = std::get<SliceAttributes>(instruction.attributes);
  const int32_t x = instruction.inputs[0], y = instruction.outputs[0];
  if (!std::all_of(attributes.steps, attributes.steps + attributes.rank,
                   [](int64_t step) { return step == 1; }))
    return "it takes steps";
  if (!is_free(y)) return "'" + lowered_->at(y).name + "' is an output";
  return attach(at, y, x, ViewOf{ViewOf::Kind::kSlice, instruction.extents, {}, {}});
}

std::string ViewElimination::visit_transpose(const Use& at, const LoweredInstruction& instruction) {
  const auto& attributes = std::get<TransposeAttributes>(instruction.attributes);
  const int32_t x = instruction.inputs[0], y = instruction.outputs[0];
  std::vector<uint8_t> perm(attributes.perm, attributes.perm + attributes.rank);
  if (is_free(y)) return attach(at, y, x, ViewOf{ViewOf::Kind::kPermute, {}, perm, {}});
  std::vector<uint8_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); i++) inverse[perm[i]] = uint8_t(i);
  return write_into(at, x, y, ViewOf{ViewOf::Kind::kPermute, {}, inverse, {}});
}

/// One constant index: a slice of one element, whose dimension the result may lack.
std::string ViewElimination::visit_gather(const Use& at, const LoweredInstruction& instruction) {
  const uint32_t axis = std::get<GatherAttributes>(instruction.attributes).axis;
  const int32_t x = instruction.inputs[0], y = instruction.outputs[0];
  const LoweredValue& indices = lowered_->at(instruction.inputs[1]);
  if (indices.kind != ValueKind::kConstant || !indices.bytes.held || indices.dims.size() > 1 ||
      graph::product(indices.dims) != SymbolicDim(1) ||
      (indices.dtype != DType::kI64 && indices.dtype != DType::kI32))
    return "it takes several or unknown indices";
  if (!is_free(y)) return "'" + lowered_->at(y).name + "' is an output";
  const void* data = indices.bytes.held->data();
  const int64_t index = indices.dtype == DType::kI64 ? *static_cast<const int64_t*>(data)
                                                     : *static_cast<const int32_t*>(data);
  const LoweredValue& source = lowered_->at(x);
  const SymbolicDim start = index < 0 ? source.dims[axis] + SymbolicDim(index) : SymbolicDim(index);
  if (index < 0 && !graph::proven_at_least(start, SymbolicDim(0)))
    return "its index may lie outside";
  if (!graph::proven_at_least(source.dims[axis], start + SymbolicDim(1)))
    return "its index may lie outside";
  ViewOf relation = slice_at(source.dims.size(), axis, start);
  if (indices.dims.empty()) relation.dropped = {uint8_t(axis)};
  return attach(at, y, x, relation);
}

/// How many parts from `first` on are slices that together are all of the one value they are views
/// of; 0 when they are not.
size_t ViewElimination::covering_run(const std::vector<int32_t>& parts, size_t first,
                                     uint32_t axis) const {
  if (!tree_.is_alias(parts[first])) return 0;
  const int32_t whole = lowered_->at(parts[first]).alias_of;
  const Dims& dims = lowered_->at(whole).dims;
  SymbolicDim covered(0);
  for (size_t i = first; i < parts.size(); i++) {
    const LoweredValue& part = lowered_->at(parts[i]);
    if (part.alias != AliasKind::kView || part.alias_of != whole || part.dims.size() != dims.size())
      return 0;
    const ViewOf& relation = tree_.relation(parts[i]);
    if (relation.kind != ViewOf::Kind::kSlice || !relation.dropped.empty()) return 0;
    for (size_t d = 0; d < dims.size(); d++)
      if (relation.starts[d] != (d == axis ? covered : SymbolicDim(0)) ||
          (d != axis && part.dims[d] != dims[d]))
        return 0;
    covered = covered + part.dims[axis];
    if (covered == dims[axis]) return i + 1 - first;
  }
  return 0;
}

/// Whether the rows of a part of `extent` along the axis lie at one distance from each other in the
/// whole.
bool evenly_spaced(const Dims& whole, uint32_t axis, const SymbolicDim& extent) {
  if (axis + 1 == whole.size() || extent == whole[axis]) return true;
  const SymbolicDim outer = graph::product(Dims(whole.begin(), whole.begin() + axis));
  const SymbolicDim inner =
      extent * graph::product(Dims(whole.begin() + axis + 1, whole.end() - 1));
  return outer == SymbolicDim(1) || inner == SymbolicDim(1);
}

/// Whether a part of `extent` along the axis lies in the whole without gaps.
bool is_contiguous(const Dims& whole, uint32_t axis, const SymbolicDim& extent) {
  return extent == whole[axis] ||
         graph::product(Dims(whole.begin(), whole.begin() + axis)) == SymbolicDim(1);
}

void ViewElimination::visit_concat(const Use& at) {
  const LoweredInstruction instruction = instruction_at(at);
  const uint32_t axis = std::get<ConcatAttributes>(instruction.attributes).axis;
  const std::vector<int32_t>& parts = instruction.inputs;
  const int32_t whole = instruction.outputs[0];
  const size_t rank = lowered_->at(whole).dims.size();
  std::vector<std::pair<int32_t, SymbolicDim>> left;
  std::string why;
  if (parts.size() > 1 && is_data_dependent(*lowered_, whole)) {
    instruction_at(at).note = "where its parts begin is known when it runs";
    return;
  }
  // A part that cannot lie in the result at all leaves the concat as it is: what remained of it
  // could not be copied there either.
  for (size_t i = 0; i < parts.size();) {
    SymbolicDim extent(0);
    for (size_t end = i + std::max<size_t>(covering_run(parts, i, axis), 1); i < end; i++)
      extent = extent + lowered_->at(parts[i]).dims[axis];
    const Dims& dims = lowered_->at(whole).dims;
    if (!evenly_spaced(dims, axis, extent))
      instruction_at(at).note = "its rows would not be evenly spaced";
    else if (lowered_->is_for_core && !is_contiguous(dims, axis, extent))
      instruction_at(at).note = "a microcontroller's core writes no rows with gaps";
    else
      continue;
    return;
  }
  SymbolicDim start(0);
  bool any = false;
  for (size_t i = 0; i < parts.size();) {
    const size_t run = covering_run(parts, i, axis);
    const int32_t part = run ? lowered_->at(parts[i]).alias_of : parts[i];
    const std::string refused = write_into(at, part, whole, slice_at(rank, axis, start));
    for (size_t end = i + std::max<size_t>(run, 1); i < end; i++) {
      if (!refused.empty())
        left.emplace_back(parts[i], start), why = refused;
      else
        any = true;
      start = start + lowered_->at(parts[i]).dims[axis];
    }
  }
  if (!any) {
    instruction_at(at).note = why;
    return;
  }
  tree_.forget(at);
  report_->views++;
  Copies copies;
  for (const auto& [part, offset] : left) {
    LoweredValue slot;
    slot.name = lowered_->at(whole).name + "/" + lowered_->at(part).name;
    slot.dtype = lowered_->at(part).dtype;
    slot.dims =
        // a part's own dims may be spelled differently, equal only where the program is sound
        lowered_->at(whole).dims;
    slot.dims[axis] = lowered_->at(part).dims[axis];
    const int32_t to = lowered_->add(std::move(slot));
    tree_.grow();
    if (const std::string flaw = tree_.attach(to, whole, slice_at(rank, axis, offset));
        !flaw.empty())
      graph::fail_internal("concat '" + instruction.node +
                           "': a part has no place in its result: " + flaw +
                           "; a fault of ingot's converter, please report it with the model");
    tree_.add_reader(part, {at.subprogram, at.index, uint32_t(copies.size())});
    tree_.add_writer(to, {at.subprogram, at.index, 0});
    copies.emplace_back(part, to);
  }
  instruction_at(at).note = why;
  replaced_[{at.subprogram, at.index}] = std::move(copies);
}

void ViewElimination::visit(uint32_t subprogram, uint32_t index) {
  const Use at{subprogram, index, 0};
  const LoweredInstruction& instruction = instruction_at(at);
  std::string why;
  switch (instruction.op()) {
    case OpCode::kCopy: why = visit_copy(at, instruction.inputs[0], instruction.outputs[0]); break;
    case OpCode::kSlice: why = visit_slice(at, instruction); break;
    case OpCode::kTranspose: why = visit_transpose(at, instruction); break;
    case OpCode::kGather: why = visit_gather(at, instruction); break;
    case OpCode::kConcat: return visit_concat(at);
    default: return;
  }
  if (!why.empty()) {
    if (instruction.op() != OpCode::kGather) instruction_at(at).note = why;
    return;
  }
  tree_.forget(at);
  report_->views++;
  replaced_[{subprogram, index}] = {};
}

void ViewElimination::rebuild(uint32_t subprogram) {
  std::vector<LoweredInstruction> kept;
  auto& instructions = lowered_->subprograms[subprogram].instructions;
  for (uint32_t i = 0; i < instructions.size(); i++) {
    const auto found = replaced_.find({subprogram, i});
    if (found == replaced_.end()) {
      kept.push_back(std::move(instructions[i]));
      continue;
    }
    for (const auto& [from, to] : found->second) {
      LoweredInstruction copy = instructions[i];
      copy.attributes = CopyAttributes{};
      copy.inputs = {from};
      copy.outputs = {to};
      kept.push_back(std::move(copy));
    }
  }
  instructions = std::move(kept);
}

void ViewElimination::run() {
  for (uint32_t s = 0; s < lowered_->subprograms.size(); s++)
    for (uint32_t i = 0; i < lowered_->subprograms[s].instructions.size(); i++) visit(s, i);
  space_rows(lowered_, &tree_);
  for (uint32_t s = 0; s < lowered_->subprograms.size(); s++) rebuild(s);
}

}  // namespace

void eliminate_views(LoweredProgram* lowered, ConversionReport* report) {
  ViewElimination(lowered, report).run();
}

}  // namespace ingot::convert
