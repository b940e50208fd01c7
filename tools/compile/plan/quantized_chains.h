// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/quantized_chains.h - depthwise convolutions of bytes and their pointwise
// neighbors become one QuantizedChain where what lies between them is large.
#pragma once
#include "tools/compile/program/lowered_program.h"
#include "tools/compile/program/options.h"

namespace ingot::convert {

struct QuantizedChainRule {
  int64_t least_bytes = 64 << 10;    // what the expansion writes, or the projection reads
  int64_t weight_bytes = 64 << 10;   // of the pointwise stages: read again for every band
  int64_t window_bytes = 256 << 10;  // of one thread: in the L2 cache, with what is read beside it
  int64_t most_band_rows = 8;
};

/// Fuses what the rule allows, at the typical binding. Counts go to report->chains.
void fuse_quantized_chains(LoweredProgram* lowered, const QuantizedChainRule& rule,
                           ConversionReport* report);

}  // namespace ingot::convert
