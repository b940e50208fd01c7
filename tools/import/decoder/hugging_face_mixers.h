// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/hugging_face_mixers.h - which layers of a Hugging Face folder have something
// else than attention, and the numbers of it.
#pragma once
#include "tools/import/decoder/config_reader.h"
#include "tools/import/decoder/hugging_face_config.h"

namespace ingot::decoder {

/// A list with a text for each layer; null where there is none.
const Json* find_layer_types(Config& config, const char* key, size_t layers);
/// @pre the layers are there, as if each had attention
void read_mixers(Config& config, DecoderNumbers* n);

}  // namespace ingot::decoder
