// SPDX-License-Identifier: Apache-2.0
// runtime/format/validate_dataflow.cpp - whatever is read was written before, on every path, and
// nothing is overwritten that is read again. Values that share a root form a family; a family is a
// range of the preorder of the alias forest, and so are the descendants of each of its members.
#include "runtime/format/region.h"
#include "runtime/format/walk.h"

namespace ingot {
namespace {

constexpr uint32_t kNoStep = 0xffffffffu;
constexpr uint64_t kRegionCost = 8;  // of comparing two regions, in steps of a loop

struct FlowArrays {
  uint32_t *first, *end;     // by value: its descendants and itself are at[first .. end)
  uint32_t* at;              // by preorder: the value
  int32_t *child, *sibling;  // while numbering; afterwards the same memory as
  int32_t *latest_before, *latest_from;
  // nearest ancestor or self that an instruction writes or that is no view
  int32_t* owner;
  uint32_t* overwrites;   // number of in_place steps from the root
  uint32_t* writer_step;  // first; kNoStep: nobody writes it
  uint32_t* last_read;
  uint32_t* written_in;  // subprogram + 1 while walking
  uint8_t* has_writer;
  uint8_t* is_carried;  // by some Loop
  uint8_t* active;      // by subprogram
};

FlowArrays take_flow_arrays(Block* block, const ProgramDef& p) {
  const uint64_t n = p.values.size;
  FlowArrays a;
  a.first = block->take<uint32_t>(n), a.end = block->take<uint32_t>(n),
  a.at = block->take<uint32_t>(n);
  a.child = a.latest_before = block->take<int32_t>(n),
  a.sibling = a.latest_from = block->take<int32_t>(n);
  a.owner = block->take<int32_t>(n);
  a.overwrites = block->take<uint32_t>(n), a.writer_step = block->take<uint32_t>(n);
  a.last_read = block->take<uint32_t>(n), a.written_in = block->take<uint32_t>(n);
  a.has_writer = block->take<uint8_t>(n), a.is_carried = block->take<uint8_t>(n);
  a.active = block->take<uint8_t>(p.subprograms.size);
  return a;
}

/// Numbers the forest; parents come before children, so owners and overwrites follow in the same
/// pass.
void number_forest(const ProgramDef& p, const FlowArrays& a) {
  const size_t count = p.values.size;
  for (size_t i = 0; i < count; i++) a.child[i] = a.sibling[i] = -1;
  for (size_t i = count; i-- > 0;) {
    const ValueDef& v = p.values[i];
    if (v.alias == AliasKind::kNone) continue;
    a.sibling[i] = a.child[v.alias_of];
    a.child[v.alias_of] = int32_t(i);
  }
  uint32_t next = 0;
  for (size_t root = 0; root < count; root++) {
    if (p.values[root].alias != AliasKind::kNone) continue;
    int32_t v = int32_t(root);
    while (v >= 0) {
      const ValueDef& def = p.values[size_t(v)];
      const bool is_root = def.alias == AliasKind::kNone;
      a.first[v] = next;
      a.at[next++] = uint32_t(v);
      a.overwrites[v] =
          is_root ? 0 : a.overwrites[def.alias_of] + (def.alias == AliasKind::kInPlace);
      a.owner[v] = a.has_writer[v] || def.alias != AliasKind::kView ? v : a.owner[def.alias_of];
      if (a.child[v] >= 0) {
        v = a.child[v];
        continue;
      }
      while (v >= 0) {  // climb to the next sibling of this value or of one above it
        a.end[v] = next;
        if (v == int32_t(root))
          v = -1;
        else if (a.sibling[v] >= 0) {
          v = a.sibling[v];
          break;
        } else
          v = p.values[size_t(v)].alias_of;
      }
    }
  }
}

class Flow {
 public:
  Flow(const ProgramDef& program, const BoundProgram& bound, const FlowArrays& arrays,
       ErrorDetail* detail)
      : p_(program),
        bound_(bound),
        a_(arrays),
        detail_(detail),
        budget_((uint64_t{1} << 24) +
                256 * uint64_t(program.values.size + program.instructions.size)) {}

  Status run(WalkPlace place) {
    const InstructionDef& i = p_.instructions[place.instruction];
    for (uint32_t k = 0; k < i.input_count; k++) INGOT_TRY(read(place, i.inputs[k]));
    for (uint32_t k = 0; k < i.output_count; k++)
      if (i.outputs[k] >= 0) INGOT_TRY(write(place, k));
    step_++;
    return {};
  }
  Status begin(WalkPlace place) {
    const InstructionDef& i = p_.instructions[place.instruction];
    for (uint32_t k = 0; k < i.input_count; k++) INGOT_TRY(read(place, i.inputs[k]));
    if (i.op == OpCode::kLoop) {
      for (uint32_t k = 0; k < i.output_count; k++)
        if (i.outputs[k] >= 0) INGOT_TRY(write(place, k));
      loops_[loop_count_++] = {step_, p_.steps[step_].target - 1};
    }
    step_++;
    return {};
  }
  Status enter(WalkPlace, uint32_t, uint32_t callee) {
    a_.active[callee] = 1;
    return {};
  }
  Status missing(WalkPlace, uint32_t which) {
    step_ += which == 0 ? 2 : 1;  // the refusal, and the jump of a then-branch
    return {};
  }
  Status leave(WalkPlace place, uint32_t which, uint32_t callee) {
    a_.active[callee] = 0;
    const InstructionDef& i = p_.instructions[place.instruction];
    if (i.op != OpCode::kLoop) {
      step_ += which == 0;  // the jump
      return {};
    }
    // the end of an iteration looks at them, and the next one reads them
    for (uint32_t k = 0; k < i.input_count; k++) {
      if (i.inputs[k] < 0) continue;
      a_.last_read[i.inputs[k]] = step_;
      if (k >= kFirstCarried) a_.written_in[i.inputs[k]] = place.subprogram + 1;
    }
    loop_count_--;
    step_++;
    return {};
  }
  Status end(WalkPlace place) {
    const InstructionDef& i = p_.instructions[place.instruction];
    for (uint32_t k = 0; k < i.output_count; k++)
      if (i.outputs[k] >= 0) a_.written_in[i.outputs[k]] = place.subprogram + 1;
    return {};
  }

  /// Once the walk is done: the caller reads the outputs.
  Status read_outputs() {
    for (const PortDef& port : p_.outputs) {
      uint32_t since;
      INGOT_TRY(readable(port.value, &since)
                    ? Status()
                    : exhausted_or(fail_value(detail_, p_, "outputs[]: not written on every path",
                                              port.value, 1, 0)));
      a_.last_read[port.value] = step_;
    }
    return {};
  }

  /// Writers of one family against each other, and what in_place overwrites against later readers.
  /// Linear where each overwrites the one before, as in a chain of elementwise operators.
  Status validate_family(uint32_t first, uint32_t end) {
    find_latest_reads(first, end);
    for (uint32_t i = first; i < end; i++) {
      const int32_t u = int32_t(a_.at[i]);
      if (!a_.has_writer[u]) continue;
      for (uint32_t k = i + 1; k < end; k++) {
        const int32_t v = int32_t(a_.at[k]);
        if (!spend(1)) return exhausted();
        // derived from u, with all that lies below it
        if (k < a_.end[u] && a_.overwrites[v] > a_.overwrites[u]) {
          k = a_.end[v] - 1;
          continue;
        }
        if (!a_.has_writer[v] || !overlap(u, v) || is_overwritten(u, v)) continue;
        return exhausted_or(fail_value(detail_, p_,
                                       "values[].alias: two instructions write the same elements",
                                       v, uint64_t(u), uint64_t(v)));
      }
      if (p_.values[size_t(u)].alias == AliasKind::kInPlace)
        INGOT_TRY(validate_last_reader(u, first, end));
    }
    return {};
  }

 private:
  Region region(int32_t v) const {
    const TensorType type = value_type(p_, bound_, v);
    return make_region(type, int64_t(bound_.root_offset[v] / uint64_t(dtype_bytes(type.dtype))));
  }
  /// False once the budget is used up, which then stays so.
  bool spend(uint64_t comparisons) {
    budget_ = budget_ > comparisons ? budget_ - comparisons : 0;
    return budget_ != 0;
  }
  bool overlap(int32_t u, int32_t v) {
    return !spend(kRegionCost) || may_overlap(region(u), region(v));
  }
  Status exhausted() const {
    return fail(detail_, Code::kLimitExceeded, "values[].alias: too many that share storage", 0, 0,
                p_.program_offset);
  }
  Status exhausted_or(Status status) const { return budget_ ? status : exhausted(); }
  bool visible(int32_t v) const { return a_.written_in[v] != 0 && a_.active[a_.written_in[v] - 1]; }
  /// One overwrites in place a value that the other is a part of. What is read afterwards
  /// validate_last_reader knows. @pre u comes before v in the preorder.
  bool is_overwritten(int32_t u, int32_t v) {
    if (a_.first[v] < a_.end[u]) return false;  // derived from u without overwriting it
    int32_t below_v = v, below_u = u;           // just below the lowest value that both lie in
    for (; !contains(p_.values[size_t(below_v)].alias_of, u);
         below_v = p_.values[size_t(below_v)].alias_of)
      if (!spend(1)) return false;
    for (; !contains(p_.values[size_t(below_u)].alias_of, v);
         below_u = p_.values[size_t(below_u)].alias_of)
      if (!spend(1)) return false;
    const bool by_v = p_.values[size_t(below_v)].alias == AliasKind::kInPlace;
    const bool by_u = p_.values[size_t(below_u)].alias == AliasKind::kInPlace;
    if (by_v == by_u) return false;
    return by_v ? a_.writer_step[u] < a_.writer_step[below_v]
                : a_.writer_step[v] < a_.writer_step[below_u];
  }
  /// `part` is `whole` or an alias of it, however far.
  bool contains(int32_t whole, int32_t part) const {
    return a_.first[part] >= a_.first[whole] && a_.first[part] < a_.end[whole];
  }
  /// Put together by writes to views of it, never written as a whole.
  bool assembled(int32_t v) const {
    const int32_t owner = a_.owner[v];
    const ValueKind kind = p_.values[size_t(owner)].kind;
    return !a_.has_writer[owner] && p_.values[size_t(owner)].alias == AliasKind::kNone &&
           (kind == ValueKind::kActivation || kind == ValueKind::kOutput);
  }

  /// When false is not returned, *since is the first step at which something of it is written.
  bool readable(int32_t v, uint32_t* since) {
    const int32_t owner = a_.owner[v];
    const ValueDef& root = p_.values[size_t(owner)];
    const bool filled_before =
        root.kind != ValueKind::kActivation && root.kind != ValueKind::kOutput;
    *since = 0;
    if (root.alias == AliasKind::kNone && filled_before) return true;
    if (!assembled(v)) {
      *since = a_.writer_step[owner];
      return visible(owner);
    }
    *since = kNoStep;
    const Region wanted = region(v);
    int64_t covered = 0, shared;
    for (uint32_t i = a_.first[owner]; i < a_.end[owner]; i++) {
      const int32_t w = int32_t(a_.at[i]);
      if (!spend(1)) return false;
      if (p_.values[size_t(w)].alias == AliasKind::kInPlace || !a_.has_writer[w] || !visible(w))
        continue;
      if (!spend(kRegionCost)) return false;
      if (!common_elements(region(w), wanted, &shared)) continue;
      covered += shared;
      if (shared != 0 && a_.writer_step[w] < *since) *since = a_.writer_step[w];
    }
    return covered == wanted.elements();  // writers are disjoint: validate_family
  }

  Status read(WalkPlace place, int32_t v) {
    if (v < 0) return {};
    uint32_t since;
    if (!readable(v, &since))
      return exhausted_or(fail_operand(detail_, p_,
                                       "instructions[].inputs: read before it is written",
                                       place.instruction, v, 1, 0));
    a_.last_read[v] = step_;
    // What a loop did not write itself is read again in the next iteration.
    for (uint32_t loop = 0; loop < loop_count_; loop++)
      if (since < loops_[loop].begin) {
        a_.last_read[v] = loops_[loop].end;
        break;
      }
    return {};
  }

  Status write(WalkPlace place, uint32_t output) {
    const InstructionDef& i = p_.instructions[place.instruction];
    const int32_t o = i.outputs[output];
    const ValueDef& def = p_.values[size_t(o)];
    for (uint32_t k = 0; k < uint32_t(i.input_count) + output; k++) {
      const int32_t other = k < i.input_count ? i.inputs[k] : i.outputs[k - i.input_count];
      if (other < 0 || p_.values[size_t(other)].root != def.root) continue;
      // A carried value may be computed from what it holds; the contract was asked like for
      // in_place.
      const bool of_alias = def.alias == AliasKind::kInPlace && other == def.alias_of;
      const bool of_itself = a_.is_carried[o] && other == o;
      const bool allowed = k < i.input_count && output == 0 && (of_alias || of_itself);
      if (!allowed && overlap(o, other))
        return exhausted_or(fail_operand(
            detail_, p_, "values[].alias: an instruction writes what it reads or writes elsewhere",
            place.instruction, o, uint64_t(o), uint64_t(other)));
    }
    if (def.root != o && a_.is_carried[def.root])
      return fail_operand(detail_, p_, "Loop: what it carries is written as a whole only",
                          place.instruction, o, uint64_t(def.root), uint64_t(o));
    if (a_.writer_step[o] == kNoStep) a_.writer_step[o] = step_;
    a_.written_in[o] = place.subprogram + 1;
    return {};
  }

  /// By preorder: latest_before[i] of at[first .. i), latest_from[i] of at[i .. end). -1: none of
  /// them is read.
  void find_latest_reads(uint32_t first, uint32_t end) {
    int32_t latest = -1;
    for (uint32_t i = first; i < end; i++) {
      a_.latest_before[i] = latest;
      latest = later(latest, a_.at[i]);
    }
    latest = -1;
    for (uint32_t i = end; i-- > first;) a_.latest_from[i] = latest = later(latest, a_.at[i]);
  }
  int32_t later(int32_t step, uint32_t value) const {
    const uint32_t read = a_.last_read[value];
    return read != kNoStep && int32_t(read) > step ? int32_t(read) : step;
  }

  Status validate_last_reader(int32_t y, uint32_t first, uint32_t end) {
    const int32_t after = a_.end[y] < end ? a_.latest_from[a_.end[y]] : -1;
    const int32_t latest =
        a_.latest_before[a_.first[y]] > after ? a_.latest_before[a_.first[y]] : after;
    // nobody outside of what is derived from y reads afterwards
    if (latest <= int32_t(a_.writer_step[y])) return {};
    for (uint32_t i = first; i < end; i++) {
      if (i == a_.first[y]) i = a_.end[y];  // itself and what is derived from it
      if (i >= end) break;
      const int32_t z = int32_t(a_.at[i]);
      if (!spend(1)) return exhausted();
      if (a_.last_read[z] == kNoStep || a_.last_read[z] <= a_.writer_step[y]) continue;
      // A whole that was put together from parts may be read after a part was overwritten: it then
      // has the new part.
      if (assembled(z) && !contains(p_.values[size_t(y)].alias_of, z)) continue;
      if (overlap(y, z))
        return exhausted_or(fail_value(detail_, p_,
                                       "values[].alias in_place: overwrites what is read later", y,
                                       a_.last_read[z], a_.writer_step[y]));
    }
    return {};
  }

  const ProgramDef& p_;
  const BoundProgram& bound_;
  const FlowArrays& a_;
  ErrorDetail* detail_;
  // of comparisons, so that a file cannot ask for more than a constant times its size
  uint64_t budget_;
  uint32_t step_ = 0;
  struct OpenLoop {
    uint32_t begin, end;  // steps of its kLoop and kRepeat
  };
  OpenLoop loops_[kMaxSubprogramDepth] = {};
  uint32_t loop_count_ = 0;
};

}  // namespace

void count_dataflow(const ProgramDef& program, Block* block) { take_flow_arrays(block, program); }

Status validate_dataflow(const ProgramDef& program, const BoundProgram& bound, Block* block,
                         ErrorDetail* detail) {
  const FlowArrays a = take_flow_arrays(block, program);
  if (!block->fits()) return fail(detail, Code::kInternal, "binding memory", block->used(), 0);
  for (const InstructionDef& i : program.instructions)
    for (uint32_t k = 0; k < i.output_count; k++)
      if (i.outputs[k] >= 0) a.has_writer[i.outputs[k]] = 1;
  for (const InstructionDef& i : program.instructions)
    for (uint32_t k = kFirstCarried; i.op == OpCode::kLoop && k < i.input_count; k++)
      if (i.inputs[k] >= 0) a.is_carried[i.inputs[k]] = 1;
  for (size_t i = 0; i < program.values.size; i++) a.writer_step[i] = a.last_read[i] = kNoStep;
  number_forest(program, a);
  a.active[0] = 1;
  Flow flow(program, bound, a, detail);
  INGOT_TRY(walk_program(program, &flow));
  INGOT_TRY(flow.read_outputs());
  for (size_t root = 0; root < program.values.size; root++)
    if (program.values[root].alias == AliasKind::kNone && a.end[root] - a.first[root] > 1)
      INGOT_TRY(flow.validate_family(a.first[root], a.end[root]));
  return {};
}

}  // namespace ingot
