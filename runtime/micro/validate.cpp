// SPDX-License-Identifier: Apache-2.0
// runtime/micro/validate.cpp - everything that has to hold before the first run. A file that passes
// here passes on a host: the rules are those of runtime/format, of programs without branches and
// symbols, where a value is written as a whole, in parts without gaps, or overwrites another.
#include <cstring>

#include "runtime/base/checked_math.h"
#include "runtime/micro/work.h"

namespace ingot::micro {
namespace {

using namespace program_field;

bool meaning_error(MicroError* e, const char* what, uint32_t index, uint32_t need = 0,
                   uint32_t have = 0) {
  return refuse(e, Code::kMeaningInvalid, what, int32_t(index), need, have);
}

/// What only the whole runtime has is refused by name.
bool check_program(MicroModel* m, FlatReader* r, uint32_t root, MicroError* e) {
  struct Other {
    uint8_t field;
    const char* what;
  };
  static constexpr Other kOthers[] = {
      {kRequiredFeatures, INGOT_MICRO_TEXT("program: features that only the whole runtime has")},
      {kSymbols, INGOT_MICRO_TEXT("program: dynamic dimensions; use --dim")},
      {kDimExprs, INGOT_MICRO_TEXT("program: dynamic dimensions; use --dim")},
      {kStates, INGOT_MICRO_TEXT("program: state, which this kernel table keeps none of")},
  };
  for (const Other& other : kOthers)
    if (const uint32_t count = r->vector(root, other.field, 4).count)
      if (other.field != kStates || !m->kernels->start_states)
        return refuse(e, Code::kUnsupportedFeature, other.what, -1, 0, count);
  const FlatVector subprograms = r->vector(root, kSubprograms, 4);
  if (subprograms.count != 1)
    return refuse(e, Code::kUnsupportedFeature, INGOT_MICRO_TEXT("program.subprograms"), -1, 1,
                  subprograms.count);
  m->values = r->vector(root, kValues, 4);
  m->instructions = r->vector(r->element(subprograms, 0), subprogram_field::kInstructions, 4);
  m->inputs = r->vector(root, kInputs, 4), m->outputs = r->vector(root, kOutputs, 4);
  const uint32_t plan = r->table(root, kPlan);
  if (!plan)
    return refuse(e, Code::kUnsupportedFeature, INGOT_MICRO_TEXT("program.plan is not there"));
  m->offsets = r->vector(plan, plan_field::kOffsets, 8);
  if (r->broken())
    return refuse(e, Code::kStructureInvalid,
                  INGOT_MICRO_TEXT("an offset leads out of the program"));
  if (m->offsets.count != m->values.count)
    return refuse(e, Code::kPlanInvalid, INGOT_MICRO_TEXT("plan.offsets: one for each value"), -1,
                  m->values.count, m->offsets.count);
  if (m->values.count > kMaxValues || m->instructions.count > kMaxInstructions)
    return refuse(e, Code::kLimitExceeded, INGOT_MICRO_TEXT("program: values or instructions"), -1,
                  kMaxValues, m->values.count);
  return true;
}

/// What a value says about itself and about the one that it lies in. Fills its `work`.
bool check_value(const MicroModel& m, uint32_t index, Work* work, MicroError* e) {
  MicroValue v, parent;
  if (!read_value(m, index, &v, e)) return false;
  *work = Work{};
  work->root = uint16_t(index), work->bytes = v.bytes, work->alias = v.alias, work->kind = v.kind;
  if (v.kind == ValueKind::kInput || v.kind == ValueKind::kState) work->touch(0);
  if (v.kind == ValueKind::kState) work->touch(m.instructions.count);
  if (v.kind != ValueKind::kConstant && v.type.packing != Packing::kDense)
    return meaning_error(e, INGOT_MICRO_TEXT("values[].packing: constants only"), index);
  FlatReader r = reader_of(m);
  const uint32_t table = r.element(m.values, index);
  if (v.kind != ValueKind::kConstant &&
      (r.word(table, value_field::kSegment) || r.number(table, value_field::kSegmentOffset) ||
       r.field(table, value_field::kInlineData)))
    return meaning_error(e, INGOT_MICRO_TEXT("values[].segment: constants only"), index);
  if (v.kind == ValueKind::kConstant && r.number(table, value_field::kRowStride))
    return meaning_error(e, INGOT_MICRO_TEXT("values[].row_stride: a constant has none"), index);
  if (v.alias == AliasKind::kNone) {
    if (v.alias_of != -1 || r.number(table, value_field::kAliasOffset))
      return meaning_error(e, INGOT_MICRO_TEXT("values[].alias_of without alias"), index);
    return true;
  }
  const bool view = v.alias == AliasKind::kView;
  if ((v.kind != ValueKind::kActivation && v.kind != ValueKind::kOutput) || v.alias_of < 0 ||
      uint32_t(v.alias_of) == index || (!view && v.alias_offset != 0))
    return meaning_error(e, INGOT_MICRO_TEXT("values[].alias"), index);
  if (!read_value(m, uint32_t(v.alias_of), &parent, e)) return false;
  if (view ? v.type.dtype != parent.type.dtype
           : dtype_bytes(v.type.dtype) != dtype_bytes(parent.type.dtype))
    return meaning_error(e, INGOT_MICRO_TEXT("values[].dtype differs from that of alias_of"),
                         index);
  if (v.alias_offset > parent.bytes || v.bytes > parent.bytes - v.alias_offset)
    return meaning_error(e, INGOT_MICRO_TEXT("values[].alias_of: leaves it"), index, parent.bytes,
                         v.alias_offset);
  const uint32_t root = find_root(m, index, &work->at);
  if (root == kNoPlace) {
    for (uint32_t i = 0, at = index; i < m.values.count && at < m.values.count; i++) {
      if (r.byte(r.element(m.values, at), value_field::kAlias) == uint8_t(AliasKind::kNone))
        return refuse(e, Code::kLimitExceeded, INGOT_MICRO_TEXT("values[].alias_of"),
                      int32_t(index), kMaxAliases, i);
      at = r.word(r.element(m.values, at), value_field::kAliasOf, kNoPlace);
    }
    return meaning_error(e, INGOT_MICRO_TEXT("values[].alias_of: a cycle"), index);
  }
  work->root = uint16_t(root);
  if (!read_value(m, root, &parent, e)) return false;
  const bool read_only = parent.kind == ValueKind::kConstant || parent.kind == ValueKind::kInput;
  if (parent.type.packing != Packing::kDense ||
      (read_only && (!view || v.kind == ValueKind::kOutput)))
    return meaning_error(e, INGOT_MICRO_TEXT("values[].alias_of: never written, or packed"), index);
  return true;
}

/// Every value of the kind is one port or state, every port or state such a value.
bool check_ports(const MicroModel& m, const FlatVector& ports, ValueKind kind, Work* work,
                 MicroError* e) {
  static_assert(uint32_t(state_field::kValue) == uint32_t(port_field::kValue), "read as one field");
  FlatReader r = reader_of(m);
  uint32_t of_kind = 0;
  for (uint32_t i = 0; i < m.values.count; i++) of_kind += work[i].kind == kind;
  for (uint32_t i = 0; i < ports.count; i++) {
    const uint32_t value = r.word(r.element(ports, i), port_field::kValue);
    if (value >= m.values.count || work[value].order != Work::kNever || work[value].kind != kind)
      return meaning_error(e, INGOT_MICRO_TEXT("inputs[], outputs[] or states[].value"), i,
                           m.values.count, value);
    work[value].order = 0;  // a port once
  }
  return ports.count == of_kind ||
         meaning_error(e, INGOT_MICRO_TEXT("inputs[], outputs[] or states[]"), ports.count, of_kind,
                       ports.count);
}

/// Steps of reads and writes, by value, and what may not be read any more.
class Flow {
 public:
  Flow(const MicroModel& model, Work* work, Watch* watch, MicroError* error)
      : m_(model), work_(work), watch_(watch), e_(error) {}

  bool read(uint32_t value, uint32_t step) {
    const uint32_t written = writer_step(value);
    if (written == Work::kNever)
      return refused(value, INGOT_MICRO_TEXT("read before it is written"));
    if (is_overwritten(value, written, step))
      return refused(value, INGOT_MICRO_TEXT("in_place: overwrites what is read later"));
    work_[work_[value].root].touch(step);
    return true;  // its instruction counts for it
  }

  bool write(uint32_t value, uint32_t step) {
    MicroValue v;
    if (!read_value(m_, value, &v, e_)) return false;
    const uint32_t root = work_[value].root;
    const ValueKind home = work_[root].kind;
    if (home == ValueKind::kConstant || home == ValueKind::kInput)
      return refused(value, INGOT_MICRO_TEXT("constants and inputs are never written"));
    const bool part = v.alias == AliasKind::kView;
    if (part && uint64_t(v.type.elements()) * dtype_bytes(v.type.dtype) != v.bytes)
      return refuse(e_, Code::kUnsupportedFeature,
                    INGOT_MICRO_TEXT("a value that is written in parts with gaps"), int32_t(value));
    if (work_[value].written != Work::kNever)
      return refused(value, INGOT_MICRO_TEXT("is written twice"));
    if (part && work_[value].first != Work::kNever)
      return refused(value, INGOT_MICRO_TEXT("read before it is written"));
    uint32_t shared = 0;
    for (uint32_t o = root; o != Work::kNever; o = work_[o].next, shared++)
      if (work_[o].written != Work::kNever && v.alias != AliasKind::kInPlace && overlap(o, value))
        return refused(value, INGOT_MICRO_TEXT("is written twice"));
    if (shared > kMaxShared)
      return refuse(e_, Code::kLimitExceeded, INGOT_MICRO_TEXT("values in one storage"),
                    int32_t(value), kMaxShared, shared);
    if (value != root) {
      work_[value].next = work_[root].next;
      work_[root].next = uint16_t(value);
    }
    work_[value].written = uint16_t(step);
    work_[root].touch(step);
    // what looks at this list later walks as far
    return watch_->spend(1 + shared / 16, e_);
  }

  /// Bytes of both in the same storage.
  bool overlap(uint32_t a, uint32_t b) {
    const Work &x = work_[a], &y = work_[b];
    return x.root == y.root && x.at < y.at + y.bytes && y.at < x.at + x.bytes;
  }

 private:
  bool refused(uint32_t value, const char* what) { return meaning_error(e_, what, value); }

  /// When the first byte of what `value` shows was written: before all steps where no instruction
  /// has to, never where a byte is not.
  uint32_t writer_step(uint32_t value) {
    FlatReader r = reader_of(m_);
    uint32_t whole = value;
    // check_value() has seen every chain end
    while (work_[whole].alias == AliasKind::kView) {
      work_[whole].first = 0;  // of a view: it was read
      whole = r.word(r.element(m_.values, whole), value_field::kAliasOf);
    }
    const ValueKind kind = work_[whole].kind;
    if (kind != ValueKind::kActivation && kind != ValueKind::kOutput) return Work::kBefore;
    return work_[whole].written != Work::kNever ? work_[whole].written : first_part(value);
  }

  /// Of a value that is written in parts, the step of the first. Parts never overlap, so that their
  /// bytes are counted; what overwrites a part in place adds none.
  uint32_t first_part(uint32_t value) {
    const uint32_t begin = work_[value].at, end = begin + work_[value].bytes;
    uint32_t first = Work::kNever, missing = end - begin;
    for (uint32_t o = work_[value].root; o != Work::kNever; o = work_[o].next) {
      const Work& part = work_[o];
      if (part.written == Work::kNever || part.alias == AliasKind::kInPlace) continue;
      const uint32_t part_end = part.at + part.bytes, low = part.at > begin ? part.at : begin,
                     high = part_end < end ? part_end : end;
      if (low >= high) continue;
      missing -= high - low;
      if (part.written < first) first = part.written;
    }
    return missing == 0 ? first : Work::kNever;
  }

  /// Parts are no such writes: no byte is written in two of them.
  bool is_overwritten(uint32_t value, uint32_t written, uint32_t step) {
    const uint32_t root = work_[value].root;
    for (uint32_t o = work_[root].next; o != Work::kNever; o = work_[o].next) {
      const uint32_t since = work_[o].written;
      if (since >= step || work_[o].alias == AliasKind::kView) continue;
      if ((written == Work::kBefore || since > written) && overlap(o, value)) return true;
    }
    return false;
  }

  const MicroModel& m_;
  Work* work_;
  Watch* watch_;
  MicroError* e_;
};

/// Which input output 0 may overwrite: none but the one that the file names, where the contract
/// allows it.
bool check_aliases(const MicroModel& m, const MicroCall& call, uint32_t step, Flow* flow,
                   MicroError* e) {
  const uint32_t inputs = call.arguments.input_count, all = inputs + call.arguments.output_count;
  const OpContract& contract = *call.kernel->entry.contract;
  for (uint32_t k = inputs; k < all; k++) {
    if (call.values[k] == -1) continue;
    MicroValue v;
    if (!read_value(m, uint32_t(call.values[k]), &v, e)) return false;
    const uint32_t may = k == inputs && contract.in_place ? contract.in_place(call.arguments) : 0;
    bool overwrites = v.alias != AliasKind::kInPlace;
    for (uint32_t i = 0; i < k; i++) {
      if (call.values[i] == -1) continue;
      const bool named = i < inputs && v.alias == AliasKind::kInPlace &&
                         call.values[i] == v.alias_of && (may >> i & 1);
      overwrites = overwrites || named;
      if (!named && flow->overlap(uint32_t(call.values[k]), uint32_t(call.values[i])))
        return meaning_error(
            e, INGOT_MICRO_TEXT("an instruction writes what it reads or writes elsewhere"), step,
            uint32_t(call.values[k]), uint32_t(call.values[i]));
    }
    if (!overwrites)
      return meaning_error(e, INGOT_MICRO_TEXT("in_place: not allowed by this instruction"), step);
  }
  return true;
}

bool check_instruction(const MicroModel& m, uint32_t step, Work* work, Watch* watch,
                       MicroError* e) {
  MicroCall call;
  if (!read_call(m, step, &call, e)) return false;
  Violation violation;
  if (!call.kernel->entry.contract->check(call.arguments, &violation))
    return meaning_error(e, INGOT_MICRO_TEXT(violation.rule), step, uint32_t(violation.expected),
                         uint32_t(violation.found));
  if (!find_row(*m.kernels, call.op, &call.arguments))
    return refuse(
        e, Code::kNoKernel,
        INGOT_MICRO_TEXT("the kernel table has none for these types: need is the operator"),
        int32_t(step), uint32_t(call.op));
  Flow flow(m, work, watch, e);
  const uint32_t inputs = call.arguments.input_count, all = inputs + call.arguments.output_count;
  for (uint32_t k = 0; k < inputs; k++)
    if (call.values[k] != -1 && !flow.read(uint32_t(call.values[k]), step)) return false;
  if (!check_aliases(m, call, step, &flow, e)) return false;
  for (uint32_t k = inputs; k < all; k++)
    if (call.values[k] != -1 && !flow.write(uint32_t(call.values[k]), step)) return false;
  return true;
}

}  // namespace

bool validate(MicroModel* m, Watch* watch, MicroError* e) {
  if (m->program_bytes < 8)
    return refuse(e, Code::kStructureInvalid, INGOT_MICRO_TEXT("program: its identifier"));
  FlatReader r = reader_of(*m);
  const uint32_t root = r.load32(0);
  if (r.load32(kIdentifierAt) != kProgramIdentifier)
    return refuse(e, Code::kStructureInvalid, INGOT_MICRO_TEXT("program: its identifier"));
  if (!check_program(m, &r, root, e)) return false;
  Work* work;
  if (!take_work(*m, &work, e)) return false;
  for (uint32_t i = 0; i < m->values.count; i++)
    if (!check_value(*m, i, &work[i], e) || !watch->spend(5, e)) return false;
  if (!check_ports(*m, m->inputs, ValueKind::kInput, work, e) ||
      !check_ports(*m, m->outputs, ValueKind::kOutput, work, e) ||
      !check_ports(*m, r.vector(root, kStates, 4), ValueKind::kState, work, e))
    return false;
  const uint32_t steps = m->instructions.count;
  for (uint32_t step = 0; step < steps; step++)
    if (!check_instruction(*m, step, work, watch, e) || !watch->spend(16, e)) return false;
  Flow flow(*m, work, watch, e);
  for (uint32_t i = 0; i < m->outputs.count; i++) {
    const uint32_t value = r.word(r.element(m->outputs, i), port_field::kValue);
    if (!flow.read(value, steps)) return false;
  }
  if (r.broken())
    return refuse(e, Code::kStructureInvalid,
                  INGOT_MICRO_TEXT("an offset leads out of the program"));
  const int64_t alignment = r.field(root, kAlignment) ? r.number(root, kAlignment) : 64;
  const int64_t bytes = r.number(r.table(root, kPlan), plan_field::kBytes);
  if (!is_power_of_two(uint64_t(alignment)) || alignment < 16 || alignment > 4096)
    return meaning_error(e, INGOT_MICRO_TEXT("program.alignment"), 0, 64, uint32_t(alignment));
  if (bytes < 0 || bytes > int64_t{kMaxBytes})
    return refuse(e, Code::kLimitExceeded, INGOT_MICRO_TEXT("plan.bytes"), -1, kMaxBytes,
                  uint32_t(bytes));
  return place_all(m, work, uint32_t(bytes), uint32_t(alignment), watch, e);
}

}  // namespace ingot::micro
