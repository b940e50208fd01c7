// SPDX-License-Identifier: Apache-2.0
// runtime/micro/states.cpp - initial values of state. A firmware links it where one of its models
// has state.
#include <cstring>

#include "runtime/micro/model.h"

namespace ingot::micro {
namespace {

using namespace state_field;

bool state_error(MicroError* e, const char* what, uint32_t index) {
  return refuse(e, Code::kMeaningInvalid, what, int32_t(index));
}

/// -1, or the index of a port. They are for people, so that nothing here looks further.
bool is_port(FlatReader* r, uint32_t table, uint32_t field, const FlatVector& ports) {
  return r->word(table, field, kNoPlace) + 1 <= ports.count;
}

/// A dense constant of the state's type, and as long whatever the flash says by now.
bool may_start_as(const MicroValue& state, const MicroValue& init) {
  bool same = init.kind == ValueKind::kConstant && init.type.packing == Packing::kDense &&
              init.type.dtype == state.type.dtype && init.type.rank == state.type.rank &&
              init.bytes == state.bytes;
  for (int i = 0; same && i < state.type.rank; i++) same = init.type.dims[i] == state.type.dims[i];
  return same;
}

}  // namespace

bool start_states(const MicroModel& m, MicroError* e) {
  FlatReader r = reader_of(m);
  const FlatVector states = r.vector(r.load32(0), program_field::kStates, 4);
  for (uint32_t i = 0; i < states.count; i++) {
    const uint32_t table = r.element(states, i), value = r.word(table, kValue),
                   init = r.word(table, kInit, kNoPlace);
    MicroValue state, from;
    if (!read_value(m, value, &state, e)) return false;
    if (init != kNoPlace && (!read_value(m, init, &from, e) || !may_start_as(state, from) ||
                             r.number(r.element(m.values, value), value_field::kRowStride) != 0))
      return state_error(e, INGOT_MICRO_TEXT("states[].init: another type than the state"), i);
    if (!is_port(&r, table, kInput, m.inputs) || !is_port(&r, table, kOutput, m.outputs))
      return state_error(e, INGOT_MICRO_TEXT("states[].input or output"), i);
    if (state.bytes == 0) continue;
    uint8_t* const to = state.kind == ValueKind::kState ? address_of(m, value, state) : nullptr;
    if (!to) return state_error(e, INGOT_MICRO_TEXT("states[].value"), i);
    if (init == kNoPlace)
      memset(to, 0, state.bytes);
    else
      memcpy(to, m.image + from.constant_at, state.bytes);
  }
  return !r.broken() ||
         refuse(e, Code::kStructureInvalid, INGOT_MICRO_TEXT("an offset leads out of the program"));
}

}  // namespace ingot::micro
