// SPDX-License-Identifier: Apache-2.0
// tests/cuda/fake_driver/conditional.h - conditional nodes inside graphs.
#pragma once
#include "tests/cuda/fake_driver/handles.h"

namespace ingot::cuda {

/// Every condition made for the graph is in a node, and it is the only executable one; marks it as
/// such.
Result check_conditions(GraphT* graph);
/// Those of the graph and of the bodies in it.
void collect_conditions(const GraphT& graph, std::vector<std::shared_ptr<Conditional>>* out);
/// All kernels, of bodies too.
bool all_run_in(const GraphT& graph, const ContextT* context);
/// Bodies go with the graph that they are in.
void forget_bodies(const GraphT& graph);

}  // namespace ingot::cuda
