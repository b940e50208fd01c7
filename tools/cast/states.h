// tools/cast/states.h - pairs of ports that become state variables (decisions D28). Lowering turns
// the input into a state value and the output into a copy to it at the end of the main program; the
// stages here make that right for every order and drop the copy where the next value can be
// computed in place.
#pragma once
#include <string>
#include <vector>

#include "tools/cast/cast.h"
#include "tools/cast/dependencies.h"
#include "tools/cast/draft.h"

namespace ingot::cast {

/// @throws CastError(5) when a pair names what is not there, names it twice, or its types or shapes
/// differ.
void check_state_pairs(const graph::Model& model, const CastOptions& options);
/// Null when the port is in no pair.
const StatePair* state_of_input(const CastOptions& options, const std::string& name);
const StateSpec* state_of_output(const Draft& draft, const std::string& name);
/// A constant of the value's type, every element pair.init. @throws CastError(5) when its dims are
/// open.
std::shared_ptr<const std::vector<uint8_t>> initial_bytes(const StatePair& pair,
                                                          const graph::Value& value);

/// Sentences about ports in no pair that look like one, "stateN" and "state", "h_out" and "h_in",
/// of one type and shape.
std::vector<std::string> hint_states(const graph::Model& model, const CastOptions& options);

/// A state that takes (part of) a state as it was before this run gets it through a value of its
/// own, copied before any state is written. @pre views were made.
void part_state_reads(Draft* draft);

/// Has readers of a state run before what computes its next value, where nothing they do depends on
/// that.
void order_updates(const Draft& draft, Dependencies* dependencies);

/// Drops the copies of states whose next value can be written straight into their storage, in the
/// order that the instructions have now. Returns how many.
uint32_t update_states_in_place(Draft* draft);

}  // namespace ingot::cast
