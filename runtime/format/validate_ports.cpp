// SPDX-License-Identifier: Apache-2.0
// runtime/format/validate_ports.cpp - what the outside sees: symbols, inputs, outputs, states.
#include <cstring>

#include "runtime/format/validate.h"

namespace ingot {
namespace {

/// Sorts indices by name: a heap sort, n log n for any input and without memory of its own.
template <class NameOf>
void sort_by_name(uint32_t* order, uint32_t count, NameOf name_of) {
  const auto less = [&](uint32_t a, uint32_t b) { return strcmp(name_of(a), name_of(b)) < 0; };
  const auto sift = [&](uint32_t root, uint32_t end) {
    for (uint32_t child; (child = 2 * root + 1) < end; root = child) {
      if (child + 1 < end && less(order[child], order[child + 1])) child++;
      if (!less(order[root], order[child])) return;
      const uint32_t kept = order[root];
      order[root] = order[child];
      order[child] = kept;
    }
  };
  for (uint32_t i = 0; i < count; i++) order[i] = i;
  for (uint32_t i = count / 2; i-- > 0;) sift(i, count);
  for (uint32_t end = count; end-- > 1;) {
    const uint32_t kept = order[0];
    order[0] = order[end];
    order[end] = kept;
    sift(0, end);
  }
}

template <class Entry>
Status validate_unique(const ProgramDef& program, Span<const Entry> entries, const char* field,
                       uint32_t* order, ErrorDetail* d) {
  const auto name_of = [&](uint32_t i) { return entries[i].name; };
  sort_by_name(order, uint32_t(entries.size), name_of);
  for (size_t i = 1; i < entries.size; i++) {
    if (strcmp(name_of(order[i - 1]), name_of(order[i])) != 0) continue;
    const Status bad = fail_entry(d, Code::kMeaningInvalid, field, int32_t(order[i]), order[i - 1],
                                  order[i], program.program_offset);
    name_detail(d, name_of(order[i]));
    return bad;
  }
  return {};
}

/// Every value of the kind is one port, every port such a value.
Status validate_port_values(const ProgramDef& program, Span<const PortDef> ports, ValueKind kind,
                            const char* field, uint8_t* seen, ErrorDetail* d) {
  size_t of_kind = 0;
  for (const ValueDef& v : program.values) of_kind += v.kind == kind;
  for (size_t i = 0; i < ports.size; i++) {
    const int32_t v = ports[i].value;
    if (v < 0 || size_t(v) >= program.values.size || program.values[size_t(v)].kind != kind ||
        seen[v]++) {
      const Status bad =
          fail_entry(d, Code::kMeaningInvalid, field, int32_t(i), program.values.size,
                     uint64_t(int64_t{v}), program.program_offset);
      name_detail(d, ports[i].name);
      return bad;
    }
  }
  if (ports.size != of_kind)
    return fail(d, Code::kMeaningInvalid, field, of_kind, ports.size, program.program_offset);
  return {};
}

}  // namespace

Status validate_ports(const ProgramDef& program, uint32_t* order, uint8_t* seen,
                      ErrorDetail* detail) {
  INGOT_TRY(
      validate_unique(program, program.symbols, "symbols[].name is there twice", order, detail));
  INGOT_TRY(
      validate_unique(program, program.inputs, "inputs[].name is there twice", order, detail));
  INGOT_TRY(
      validate_unique(program, program.outputs, "outputs[].name is there twice", order, detail));
  INGOT_TRY(validate_port_values(program, program.inputs, ValueKind::kInput, "inputs[].value", seen,
                                 detail));
  INGOT_TRY(validate_port_values(program, program.outputs, ValueKind::kOutput, "outputs[].value",
                                 seen, detail));
  return {};
}

Status validate_states(const ProgramDef& program, uint8_t* seen, ErrorDetail* detail) {
  const int64_t count = int64_t(program.values.size);
  size_t of_kind = 0;
  for (const ValueDef& v : program.values) of_kind += v.kind == ValueKind::kState;
  for (size_t i = 0; i < program.states.size; i++) {
    const StateDef& s = program.states[i];
    const auto bad = [&](const char* field, int64_t need, int64_t have) {
      const Status status = fail_entry(detail, Code::kMeaningInvalid, field, int32_t(i),
                                       uint64_t(need), uint64_t(have), program.program_offset);
      name_detail(detail, s.name);
      return status;
    };
    if (s.value < 0 || s.value >= count ||
        program.values[size_t(s.value)].kind != ValueKind::kState || seen[s.value]++)
      return bad("states[].value", count, s.value);
    if (s.init != -1) {
      if (s.init < 0 || s.init >= count ||
          program.values[size_t(s.init)].kind != ValueKind::kConstant)
        return bad("states[].init", count, s.init);
      const ValueDef &init = program.values[size_t(s.init)],
                     &value = program.values[size_t(s.value)];
      bool same =
          init.dtype == value.dtype && init.rank == value.rank && init.packing == Packing::kDense;
      for (int k = 0; same && k < init.rank; k++)
        same = value.dims[k] < 0 || value.dims[k] == init.dims[k];
      if (!same || value.row_stride != 0)
        return bad("states[].init: another type than the state", s.value, s.init);
    }
    if (s.input < -1 || s.input >= int64_t(program.inputs.size))
      return bad("states[].input", int64_t(program.inputs.size), s.input);
    if (s.output < -1 || s.output >= int64_t(program.outputs.size))
      return bad("states[].output", int64_t(program.outputs.size), s.output);
  }
  if (program.states.size != of_kind)
    return fail(detail, Code::kMeaningInvalid, "states[].value", of_kind, program.states.size,
                program.program_offset);
  return {};
}

}  // namespace ingot
