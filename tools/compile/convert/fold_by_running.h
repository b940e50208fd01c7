// SPDX-License-Identifier: Apache-2.0
// tools/compile/convert/fold_by_running.h - what needs no input and what the graph's own folding
// (tools/graph/fold) cannot compute is lowered and run once, now.
#pragma once
#include "tools/compile/program/options.h"

namespace ingot::convert {

/// Nodes that read constants alone give way to what the scalar kernels make of them, which are the
/// bits of any run. Left alone: what draws random numbers, quantizes or is a plugin's; branches and
/// loops themselves; what makes too many elements or takes too many steps of work; and all of it
/// where a part cannot be lowered or run, which the conversion of the whole then says. @pre
/// infer_shapes and fold_constants ran. @return how many nodes were run
size_t fold_by_running(graph::Model& model, const ConvertOptions& options);

}  // namespace ingot::convert
