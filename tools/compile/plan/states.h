// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/states.h - state variables (decisions D28). Lowering turns
// the input into a state value and the output into a copy to it at the end of the main program; the
// stages here make that right for every order and drop the copy where the next value can be
// computed in place.
#pragma once
#include <cstdint>

#include "tools/compile/plan/dependencies.h"
#include "tools/compile/program/lowered_program.h"

namespace ingot::convert {

/// A state that takes (part of) a state as it was before this run gets it through a value of its
/// own, copied before any state is written. @pre views were made.
void part_state_reads(LoweredProgram* lowered);

/// Has readers of a state run before what computes its next value, where nothing they do depends on
/// that.
void order_updates(const LoweredProgram& lowered, Dependencies* dependencies);

/// Drops the copies of states whose next value can be written straight into their storage, in the
/// order that the instructions have now. Returns how many.
uint32_t update_states_in_place(LoweredProgram* lowered);

}  // namespace ingot::convert
