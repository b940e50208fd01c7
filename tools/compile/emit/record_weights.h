// SPDX-License-Identifier: Apache-2.0
// tools/compile/emit/record_weights.h - what a file remembers of its weights' source: each weight
// (source_weights.h), where it was trained, what lay beside it.
#pragma once
#include "tools/compile/program/options.h"

namespace ingot::convert {

/// Reads `path` again, now that the program is known, and fills metadata.weights and entries
/// "checkpoint.KEY"; says in the report's hints what cannot be given back and what was left out.
/// `used` is empty where the source brought its own weights.
void record_weights(const std::string& path, const overlay::OverlayReport& used,
                    const ConvertOptions& options, ConversionResult* result);

/// The source weights that are in the program's constants, by constant; empty where the source
/// cannot be read twice.
WeightNames name_weights(const std::string& path, const ProgramSpec& program);

}  // namespace ingot::convert
