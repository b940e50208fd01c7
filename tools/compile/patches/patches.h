// SPDX-License-Identifier: Apache-2.0
// tools/compile/patches/patches.h - minimum RAM (--min-ram): the instructions around the largest
// sum of live bytes are computed in overlapping patches where that makes the arena smaller. What
// lies in several patches is computed several times; every number has the bits of the whole.
// Owns     nothing.
// Threads  any.
#pragma once
#include "tools/compile/program/lowered_program.h"
#include "tools/compile/program/options.h"

namespace ingot::convert {

/// Rewrites the program, and fills report->min_ram. @pre no value is an alias yet
void reduce_arena(LoweredProgram* lowered, const MinimumRam& options, ConversionReport* report);

/// Says what was reached, of a program that has its order and a file with `value_count` values.
void finish_min_ram(const LoweredProgram& lowered, size_t value_count, ConversionReport* report);

}  // namespace ingot::convert
