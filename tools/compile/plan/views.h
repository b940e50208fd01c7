// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/views.h - Reshape, Slice, Concat and Transpose without copies, where rows with
// a stride allow it (decisions D4, D5).
//   forward    y = slice(x), y = reshape(x)     y is a view of x, wherever x lies
//   backward   y = concat(a, b), output = reshape(a)     a and b are views of y: their producers
//              write straight into it
// A tree of views moves as one: each is placed anew from its parent, and every reader and writer is
// asked (contract masks, contract check, kernel) before a tree with gaps between rows is accepted.
// What is refused stays an instruction, with its reason.
#pragma once
#include "tools/compile/program/lowered_program.h"
#include "tools/compile/program/options.h"

namespace ingot::convert {

/// @pre no value is an alias yet. Counts go to report->views.
void eliminate_views(LoweredProgram* lowered, ConversionReport* report);

}  // namespace ingot::convert
