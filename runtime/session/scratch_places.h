// SPDX-License-Identifier: Apache-2.0
// runtime/session/scratch_places.h - scratch of instructions in the gaps of the activations.
#pragma once
#include "runtime/session/preparation.h"

namespace ingot {

/// Every instruction in one step: none is repeated, none left out.
bool is_straight(const ProgramDef& program);

/// Gives each instruction's scratch a place among the activations that do not live while it runs,
/// so that the largest scratch does not add to the largest activations. Only for a straight program
/// of fixed extents on the CPU; else every instruction keeps the one region behind them.
/// `needs` by instruction: `stride`, and in `at` what is shared; they become the places.
void place_scratch(const OpenModel& model, const SessionRequest& request, Span<ScratchPlace> needs,
                   Preparation* p);

}  // namespace ingot
