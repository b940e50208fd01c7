// SPDX-License-Identifier: Apache-2.0
// runtime/plan/lifetime.h - when each value's storage is in use, counted in steps of the laid-out
// program.
// Owns     nothing.
// Threads  any.
// Cost     linear in operands of steps.
#pragma once
#include "runtime/base/span.h"
#include "runtime/format/format.h"

namespace ingot {

/// Storage of one tensor: `bytes` needed in every step of [first_step, last_step], both included.
/// bytes 0: needs none.
struct Lifetime {
  uint64_t bytes = 0;
  uint32_t first_step = 0;
  uint32_t last_step = 0;
};

/// What a session wants of the layout beyond the program itself.
struct LifetimeRules {
  bool ports_outside = false;  // inputs and outputs lie in the caller's memory
  // every value keeps its bytes to the end, and in-place results get bytes of their own
  bool keep_values = false;
};

/// The value whose storage `value` lives in. It is ValueDef::root, except that keep_values parts
/// in-place results from what they would overwrite, but never from what they are meant to update: a
/// state variable, or a part of a whole that is read afterwards. Inputs and constants are never
/// overwritten.
int32_t storage_root(const ProgramDef& program, int32_t value, const LifetimeRules& rules);

/// True when the port's storage is its own from the first to the last byte, so that the caller's
/// memory can stand in for it. Of several ports with one root only the first may claim it.
bool is_direct_port(const ProgramDef& program, const BoundProgram& bound,
                    const LifetimeRules& rules, int32_t value);

/// One entry for each value: a root's bytes and interval; zero bytes for aliases, constants, and
/// ports kept outside. Inputs live from step 0, outputs to the last step, state variables always.
/// @pre by_value.size == program.values.size
void find_lifetimes(const ProgramDef& program, const BoundProgram& bound,
                    const LifetimeRules& rules, Span<Lifetime> by_value);

/// Largest sum of live bytes (each rounded up to `alignment`) at one step, and the first such step.
/// `step_bytes` is working memory of step_count + 1 entries. Saturates at 2^63.
uint64_t live_peak(Span<const Lifetime> lifetimes, uint64_t alignment, Span<uint64_t> step_bytes,
                   uint32_t* out_step);

}  // namespace ingot
