// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/latent_tensors.h - matrices of latent attention that GGUF has for each head:
// those of keys turned, [heads, rank, width], as queries are multiplied by them where nothing but
// the latent is kept; those of values [heads, width, rank].
#pragma once
#include "tools/import/decoder/architecture.h"
#include "tools/import/decoder/tensor_source.h"

namespace ingot::decoder {

/// [heads * width, rank] of these, f32 where they were turned; others, and those of another rank,
/// as they are. @throws as check_numbers()
SourceTensor rows_of_heads(const TensorSource& source, SourceTensor tensor,
                           const LatentNumbers& latent);

}  // namespace ingot::decoder
