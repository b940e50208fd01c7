// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/latent_tensors.h - matrices of each head of latent attention, as newer GGUF
// files have them, out of one of all [heads * (own + value), rank]: rows of the key of a head, then
// of its value.
#pragma once
#include "tools/import/decoder/architecture.h"
#include "tools/import/decoder/tensor_source.h"

namespace ingot::decoder {

/// Those of keys transposed, [heads, rank, own]; f32 where they are in blocks.
/// @pre the dims of `all`, and no scales of it @throws as check_numbers()
SourceTensor keys_of_heads(const TensorSource& source, const SourceTensor& all, int64_t heads,
                           const LatentNumbers& latent);
/// [heads, value, rank] @pre as keys_of_heads()
SourceTensor values_of_heads(const SourceTensor& all, int64_t heads, const LatentNumbers& latent);

}  // namespace ingot::decoder
