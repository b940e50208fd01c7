// SPDX-License-Identifier: Apache-2.0
// tools/compile/patches/candidates.h - which regions and grids may make an arena smaller, by a sum
// of live bytes that is quick to make.
// Owns     nothing.
// Threads  any.
#pragma once
#include "tools/compile/patches/region.h"

namespace ingot::convert {

struct PatchCandidate {
  Region region;
  Grid grid;
  double live_bytes = 0;  // of the fullest step then, about
  double more_work = 0;   // multiply-adds
};

/// Regions of the main program with instruction `fullest`, which need at most `most_work`
/// multiply-adds more, by their live bytes. @pre one subprogram
std::vector<PatchCandidate> find_candidates(const LoweredProgram& lowered, uint32_t fullest,
                                            double most_work);

}  // namespace ingot::convert
