// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/gguf_streams.h - streams and thresholds of gates out of the metadata of GGUF
// (Gemma 3n).
// Errors   graph::ConversionError kUnsupported: a key is missing, or says what is not known.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "tools/import/decoder/architecture.h"
#include "tools/import/decoder/gguf_keys.h"

namespace ingot::decoder {

/// @pre the layers are there
inline void read_streams(Keys& keys, const checkpoint::GgufFile& file, DecoderNumbers* n) {
  if (!n->row->has_streams) return;
  constexpr const char *kScale = "activation_sparsity_scale", *kCount = "altup.num_inputs";
  // llama.cpp has numbers of its own for some of these, those of the published models
  for (const char* key : {kScale, kCount, "altup.active_idx", "attention.shared_kv_layers",
                          "embedding_length_per_layer_input", "attention.sliding_window"})
    if (!keys.find(key)) keys.refuse(key, "is missing", "what the model was trained with");
  n->streams.count = keys.integer(kCount, 0, 2, kMaxStreams);
  n->streams.active = keys.integer("altup.active_idx", 0, 0, n->streams.count - 1);
  n->layer_input = keys.need("embedding_length_per_layer_input", kMaxWidth);
  const std::vector<double> scales = file.numbers(keys.full(kScale));
  if (scales.size() != n->layers.size())
    keys.refuse(kScale, "has " + std::to_string(scales.size()) + " numbers",
                std::to_string(n->layers.size()) + ", one for each layer");
  for (size_t i = 0; i < scales.size(); i++) {
    if (std::isinf(scales[i]) && scales[i] < 0) continue;  // no gate stays shut
    if (!(std::abs(scales[i]) <= kMaxDeviations))
      keys.refuse(kScale, "has " + std::to_string(scales[i]) + " for layer " + std::to_string(i),
                  "-40 to 40 deviations, or minus infinity for none");
    n->layers[i].threshold = scales[i];
  }
}

}  // namespace ingot::decoder
