// SPDX-License-Identifier: Apache-2.0
// tools/compile/emit/source_weights.h - where each weight of the source lies in a program, found by
// content and validated by comparing every bit. Nothing that passes and lowering did has to be
// remembered: a weight is given back when it is a strided view of an unpacked constant.
//   found      permuted (NHWC, transposed products), split (flattened images), a block (one
//              product for queries, keys and values), gates padded to
//              panels, widened from half-size floats
//   not found  its bytes were changed: folded into a neighbour, stored for Winograd, or nothing
//   computes with it
#pragma once
#include <set>
#include <string>
#include <vector>

#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/compile/write/program_builder.h"

namespace ingot::convert {

struct KeepWeights {
  bool all = false;             // --keep-weights: the bytes of what cannot be found
  uint64_t small_bytes = 4096;  // kept in any case, up to 64 KiB together
  std::set<std::string> only;   // path_text() of those that were used; empty: every one
};

/// One record for each tensor, in the source's order. What is neither found nor kept has `lost`
/// set. @throws graph::ConversionError(kUnsupported) when more would have to be kept than metadata
/// can hold.
std::vector<SourceWeightSpec> find_source_weights(const checkpoint::Checkpoint& source,
                                                  const ProgramSpec& program,
                                                  const KeepWeights& keep);

}  // namespace ingot::convert
