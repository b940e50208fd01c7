// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/hugging_face_streams.h - streams of a Hugging Face folder, and which gates
// of its feed-forward parts open (Gemma 3n).
#pragma once
#include <vector>

#include "tools/import/decoder/config_reader.h"
#include "tools/import/decoder/hugging_face_config.h"

namespace ingot::decoder {

/// One number for all layers, or one for each.
std::vector<int64_t> read_widths(Config& config, const char* key, int64_t layers);
/// @pre the layers are there
void read_streams(Config& config, DecoderNumbers* n);

}  // namespace ingot::decoder
