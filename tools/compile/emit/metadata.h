// SPDX-License-Identifier: Apache-2.0
// tools/compile/emit/metadata.h - what a file says about itself: source, passes, choices, notes,
// the user's entries.
#pragma once
#include "tools/compile/program/options.h"

namespace ingot::convert {

/// The keys name, version and licence of options.metadata fill the fields of those names; all
/// others become entries.
MetadataSpec make_metadata(const graph::Model& model, const ProgramSpec& program,
                           const ConvertOptions& options, const ConversionReport& report);

}  // namespace ingot::convert
