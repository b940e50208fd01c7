// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/quantized/quantized_tiles.h - products of bytes on tensor cores: whether they can
// be, which kernel, which tile. Host code.
#pragma once
#include "kernels/cuda/gemm/tile_model.h"
#include "kernels/cuda/quantized/quantized_params.h"

namespace ingot::cuda {

/// How x is read (kernels/cuda/quantized/tiles.cuh).
enum class QuantizedLoad { kRows, kWindows, kBytes };

struct QuantizedTiles {
  QuantizedTileParams p = {};
  QuantizedLoad load = QuantizedLoad::kBytes;
  bool fits = false;  // of bytes and panels, counted in 32 bits
};

/// A product of one output a thread as one of tiles. `t`: a convolution's, or of a linear layer a
/// window of one pixel. @pre y has elements, and has_packing()
QuantizedTiles quantized_tiles(const OpArguments& a, const QuantizedProductParams& each);

/// The variants of a product, the model's choice first: its tiles where tensor cores can have it,
/// and one output a thread.
void list_quantized_variants(const QuantizedTiles& tiles, const GpuTraits& traits,
                             VariantList* list);
bool is_each(const GpuVariant& variant);
/// @pre !is_each(variant)
Status launch_tiles(const GpuWork& work, const QuantizedTiles& tiles, const GpuVariant& variant);

}  // namespace ingot::cuda
