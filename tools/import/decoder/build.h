// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/build.h - the graph of a decoder (docs/llm.md has its ports): tokens and
// their position go in, logits of the last token come out, keys and values are kept.
#pragma once
#include "tools/import/common/options.h"
#include "tools/import/common/program.h"
#include "tools/import/decoder/architecture.h"
#include "tools/import/decoder/tensor_source.h"

namespace ingot::decoder {

/// @throws graph::ConversionError kMismatch with every tensor that is missing, of another shape or
/// not expected.
importer::Program build(const DecoderNumbers& numbers, const TensorSource& tensors,
                        const std::string& format, const importer::ImportOptions& options);

}  // namespace ingot::decoder
