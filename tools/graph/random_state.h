// SPDX-License-Identifier: Apache-2.0
// tools/graph/random_state.h - the seed of a session: an input of the graph that conversion makes a
// state variable, [seed, number of the run].
#pragma once
#include "tools/graph/graph.h"

namespace ingot::graph {

constexpr const char* kRandomState = "random_state";
constexpr const char* kNextRandomState = "random_state_of_the_next_run";

/// The input, made where the model has none yet.
ValueId random_state(Model& model);
/// Adds the output that counts runs. False where the model draws nothing.
bool count_random_runs(Model& model);

}  // namespace ingot::graph
