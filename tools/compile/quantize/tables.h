// SPDX-License-Identifier: Apache-2.0
// tools/compile/quantize/tables.h - tables of embeddings as bytes: rows that indices choose are
// numbers again behind the choice, so that the file holds a quarter and nothing else changes.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "tools/compile/quantize/layers.h"

namespace ingot::quantize {

/// A Gather along the first dimension of constant f32 [rows, width].
struct TableReport {
  uint32_t tables = 0, kept = 0;  // kept: as `keep` said
  uint64_t bytes_before = 0, bytes_after = 0;
  double signal_to_noise = 0;      // of all of them together, dB
  std::vector<std::string> names;  // of all, kept ones too
};

/// What quantize_tables() would take, with the patterns of `keep` that match in `matched`.
TableReport find_tables(Model& model, const Keep& keep, std::set<std::string>* matched);

/// Tables of the graph and of its branches and bodies become u8 [rows, width] around 128 and a
/// scale of each row; a note of the model says how much that saves. `keep` goes by the names of
/// node, table and output. @throws ConversionError(kUnsupported) for numbers that are not finite.
TableReport quantize_tables(Model& model, const Keep& keep, std::set<std::string>* matched);

}  // namespace ingot::quantize
