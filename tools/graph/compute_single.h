// SPDX-License-Identifier: Apache-2.0
// tools/graph/compute_single.h - programs in half precision, computed in f32. No processor of the
// CPU back end multiplies f16 or bf16 matrices in its kernels yet: what a half-precision program
// multiplies, sums or normalizes is computed in f32, whose results are nearer to the truth than
// those of the program as written. Its inputs and outputs keep their types; a Cast stands at each.
#pragma once
#include "tools/graph/graph.h"

namespace ingot::graph {

/// Rewrites `model`, whose values all have their types, when a node beyond elementwise operators
/// and movement works on f16 or bf16: every such value becomes f32, a Cast to half precision on the
/// way is none any more (what autocast puts before each product). Says so in model.notes. @return
/// how many values changed their type
size_t compute_in_single(Model& model);

}  // namespace ingot::graph
