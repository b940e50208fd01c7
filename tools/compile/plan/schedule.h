// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/schedule.h - the order of instructions for the smallest arena: several orders
// are tried, the smallest plan kept.
#pragma once
#include <string>

#include "tools/compile/program/lowered_program.h"
#include "tools/compile/program/options.h"

namespace ingot::convert {

/// What a program needs at one binding, by the runtime's own planner. For a
/// microcontroller's core the scratch of each instruction is among what lives in its step.
struct ArenaEstimate {
  uint64_t bytes = 0, lower_bound = 0;
  uint64_t value_bytes = 0;  // to the end of the last value, scratch behind it aside
  uint32_t peak_step = 0;
  std::vector<uint64_t> offsets;  // by value; kNoOffset where it has none
};
ArenaEstimate estimate_arena(const LoweredProgram& lowered, const Bindings& bindings);

/// Reorders the main program (branches keep their order) and marks in-place results. Fills order,
/// arena_bytes, lower_bound and in_place of the report. @pre views were made, nothing is in-place
/// yet.
void schedule(LoweredProgram* lowered, ConversionReport* report);

/// Candidate orders of the main program: permutations of its instructions that respect every
/// dependency.
struct CandidateOrder {
  std::string name;
  std::vector<uint32_t> order;
};
std::vector<CandidateOrder> candidate_orders(const LoweredProgram& lowered,
                                             const Bindings& bindings);
/// Seeded variations, for programs whose plan stays above the lower bound. None for large programs.
std::vector<CandidateOrder> random_orders(const LoweredProgram& lowered, const Bindings& bindings,
                                          uint32_t count);

}  // namespace ingot::convert
