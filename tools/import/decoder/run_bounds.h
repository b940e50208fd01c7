// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/run_bounds.h - how many tokens a run takes.
#pragma once
#include <string>

#include "tools/import/common/options.h"
#include "tools/import/decoder/architecture.h"

namespace ingot::decoder {

/// Of a run, where `--dim T=1..N` says nothing.
constexpr int64_t kMaxTokens = 128;

/// As --cache has it.
const char* cache_name(DType dtype);

/// With the bounds of `T`: those of the context at most, and one for each slot at least. An
/// embedding needs all rows of its text in one.
/// @throws graph::ConversionError kMismatch for options that this model cannot have
importer::ImportOptions with_bounds(importer::ImportOptions options, const std::string& file,
                                    const DecoderNumbers& n);

}  // namespace ingot::decoder
