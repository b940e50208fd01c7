// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/gpu_cost/loop_instructions.h - what a warp issues for each product on tensor
// cores, from the disassembly.
#pragma once

namespace ingot::gpu_cost {

/// Instructions of a kernel's loop for each of a tensor core ("ingot_product_..."); 0: it has
/// none.
double loop_instructions(const char* kernel);

}  // namespace ingot::gpu_cost
