// SPDX-License-Identifier: Apache-2.0
// runtime/session/park.cpp - gives the pages of activations and scratch back to the system; state
// and tables stay.
#include "runtime/base/os/file.h"
#include "runtime/base/os/memory.h"
#include "runtime/session/session.h"

namespace ingot {
namespace {

/// Whole pages of [from, to), counted from the arena's start. Returns their bytes.
uint64_t drop_pages(uint8_t* base, uint64_t from, uint64_t to, uint64_t page) {
  const uint64_t first = (from + page - 1) & ~(page - 1), last = to & ~(page - 1);
  if (first >= last) return 0;
  return os::drop_pages(base + first, last - first) ? last - first : 0;
}

/// The first state variable that ends behind `at`, as a range; false when there is none.
bool next_state(const RunSession& s, uint64_t at, uint64_t* begin, uint64_t* end) {
  bool found = false;
  for (size_t i = 0; i < s.model->program.states.size; i++) {
    const StateSlot& slot = s.tables.states[i];
    const uint64_t from = uint64_t(slot.home - s.arena.base), to = from + slot.bytes;
    if (slot.bytes == 0 || to <= at || (found && from >= *begin)) continue;
    found = true, *begin = from, *end = to;
  }
  return found;
}

}  // namespace

Status park_session(RunSession* s, ErrorDetail* detail) {
  const auto refuse = [&](const char* field) { return fail(detail, Code::kWrongState, field); };
  if (s->is_running) return refuse("park: the session is running");
  if (s->device_memory)
    return refuse("park: this device has no pages to give back; destroy the session instead");
  if (s->arena.form != ArenaForm::kReserved)
    return refuse(
        "park: the arena is the caller's, who may give its pages back; only an own arena can be "
        "parked");
  if (s->is_locked)
    return refuse("park: the arena was made with INGOT_LOCK_MEMORY, its pages are to stay");
  const uint64_t page = os::page_bytes();
  const Layout& l = s->layout;
  s->parked_scratch = drop_pages(s->arena.base, l.scratch, l.scratch + l.scratch_bytes, page);
  s->parked_activations = 0;
  uint64_t at = l.activations, begin = 0, end = 0;
  while (next_state(*s, at, &begin, &end)) {
    if (begin > at) s->parked_activations += drop_pages(s->arena.base, at, begin, page);
    at = end;
  }
  s->parked_activations += drop_pages(s->arena.base, at, l.activations + l.activations_bytes, page);
  return {};
}

}  // namespace ingot
