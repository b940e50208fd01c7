// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/hugging_face_latent.h - latent attention of a Hugging Face folder, and how
// such models choose experts.
#pragma once
#include "tools/import/decoder/config_reader.h"
#include "tools/import/decoder/hugging_face_config.h"

namespace ingot::decoder {

/// @pre the layers are there, as if each head had keys of its own
void read_latent(Config& config, DecoderNumbers* n);
/// As MiniCPM calls them.
void read_depth_scales(Config& config, DecoderNumbers* n);
/// Experts of such models, and of Nemotron-H. @pre as read_latent()
void read_grouped_experts(Config& config, DecoderNumbers* n);

}  // namespace ingot::decoder
