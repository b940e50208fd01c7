// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/tensorcore.cuh - the kernels: which loads and tiles there are. Contracts:
// runtime/op/{conv2d,linear,matmul}.h, but for the order of sums and the precision of products.
#pragma once
#include "kernels/cuda/tensorcore/attention.cuh"
#include "kernels/cuda/tensorcore/bottleneck.cuh"
#include "kernels/cuda/tensorcore/skinny_product.cuh"
#include "kernels/cuda/tensorcore/product.cuh"
#include "kernels/cuda/tensorcore/shared_windows.cuh"
#include "kernels/cuda/tensorcore/tensorcore_kernels.h"

namespace ingot::cuda {

#define INGOT_PRODUCT_BLOCKS(type, Type, name, Pixels, Weights, m, o, warp_m, blocks) \
  INGOT_GPU_KERNEL_EARLY_BLOCKS(product_##type##_##name##_##m##x##o, ProductParams,   \
                                (ProductTile{m, o}.threads()), blocks) {              \
    INGOT_BODY_OF(Type, product<Type, Pixels, Weights, m, o, warp_m>(p));             \
  }
#define INGOT_PRODUCT(type, Type, name, Pixels, Weights, m, o, warp_m) \
  INGOT_PRODUCT_BLOCKS(type, Type, name, Pixels, Weights, m, o, warp_m, m == 128 ? 3 : 4)
// Of convolutions' and Linear's weights: f32 panels, or packed f16 weights where products are f16.
#define INGOT_PRODUCTS(type, Type, Panels)                                           \
  INGOT_PRODUCT(type, Type, rows, RowPixels, MatrixWeights, 128, 64, 64)             \
  INGOT_PRODUCT(type, Type, rows, RowPixels, MatrixWeights, 64, 64, 32)              \
  INGOT_PRODUCT(type, Type, rows, RowPixels, MatrixWeights, 32, 128, 32)             \
  INGOT_PRODUCT(type, Type, windows, WindowPixels, Panels, 128, 64, 64)              \
  INGOT_PRODUCT(type, Type, windows, WindowPixels, Panels, 64, 64, 32)               \
  INGOT_PRODUCT(type, Type, windows, WindowPixels, Panels, 32, 128, 32)              \
  INGOT_PRODUCT_BLOCKS(type, Type, grouped, WindowPixels, RowWeights, 64, 64, 32, 3) \
  INGOT_PRODUCT(type, Type, first, SinglePixels, Panels, 128, 64, 64)                \
  INGOT_PRODUCT(type, Type, first, SinglePixels, Panels, 64, 64, 32)                 \
  INGOT_PRODUCT(type, Type, transposed, RowPixels, RowWeights, 128, 64, 64)          \
  INGOT_PRODUCT(type, Type, transposed, RowPixels, RowWeights, 64, 64, 32)           \
  INGOT_PRODUCT(type, Type, any, SinglePixels, SingleWeights, 64, 64, 32)

INGOT_PRODUCTS(f16, F16, PackedF16Weights)
INGOT_PRODUCTS(tf32, Tf32, PanelWeights)
INGOT_PRODUCT(f16, F16, packed, RowPixels, PackedF16Weights, 128, 64, 64)
INGOT_PRODUCT(f16, F16, packed, RowPixels, PackedF16Weights, 64, 64, 32)
INGOT_PRODUCT(f16, F16, packed, RowPixels, PackedF16Weights, 32, 128, 32)
// Rows of packed f16 weights are words as panels are.
INGOT_PRODUCT(f16, F16Words, word_rows, RowPixels, PanelWeights, 128, 64, 64)
INGOT_PRODUCT(f16, F16Words, word_rows, RowPixels, PanelWeights, 64, 64, 32)
INGOT_PRODUCT(f16, F16Words, word_rows, RowPixels, PanelWeights, 32, 128, 32)
INGOT_PRODUCT(f16, F16Words, word_windows, WindowPixels, PanelWeights, 128, 64, 64)
INGOT_PRODUCT(f16, F16Words, word_windows, WindowPixels, PanelWeights, 64, 64, 32)
INGOT_PRODUCT(f16, F16Words, word_windows, WindowPixels, PanelWeights, 32, 128, 32)

// Large tiles: two blocks of eight warps. Windows of f16 would spill, and rows of it from sm_100
// on, which have one.
INGOT_PRODUCT_BLOCKS(tf32, Tf32, rows, RowPixels, MatrixWeights, 128, 128, 64, 2)
INGOT_PRODUCT_BLOCKS(tf32, Tf32, windows, WindowPixels, PanelWeights, 128, 128, 64, 2)
INGOT_PRODUCT_BLOCKS(f16, F16Words, word_rows, RowPixels, PanelWeights, 128, 128, 64,
                     (kChip >= 100 && kChip < 1000 ? 1 : 2))

INGOT_GPU_KERNEL_EARLY_BLOCKS(product_tf32_shared_windows, SharedWindowsParams, 128, 3) {
  INGOT_BODY_OF(Tf32, shared_windows<Tf32>(p));
}
INGOT_GPU_KERNEL_EARLY_BLOCKS(product_f16_shared_windows, SharedWindowsParams, 128, 3) {
  INGOT_BODY_OF(F16Words, shared_windows<F16Words>(p));
}

INGOT_GPU_KERNEL_EARLY(product_one_row, ProductParams, 128) {
  INGOT_BODY_OF(F16, skinny_product<WholeWords, 1>(p));
}
INGOT_GPU_KERNEL_EARLY(product_skinny, ProductParams, 128) {
  INGOT_BODY_OF(F16, skinny_product<WholeWords, kSkinnyRows>(p));
}
INGOT_GPU_KERNEL_EARLY(product_one_row_packed_f16, ProductParams, 128) {
  INGOT_BODY_OF(F16, skinny_product<HalfWords, 1>(p));
}
INGOT_GPU_KERNEL_EARLY(product_skinny_packed_f16, ProductParams, 128) {
  INGOT_BODY_OF(F16, skinny_product<HalfWords, kSkinnyRows>(p));
}

INGOT_GPU_KERNEL_EARLY_BLOCKS(bottleneck_f16, BottleneckParams, 128, 3) {
  INGOT_BODY_OF(F16, bottleneck<F16Words>(p));
}
INGOT_GPU_KERNEL_EARLY_BLOCKS(bottleneck_tf32, BottleneckParams, 128, 3) {
  INGOT_BODY_OF(Tf32, bottleneck<Tf32>(p));
}

#define INGOT_ATTENTION(type, Tokens, dim, blocks)                                    \
  INGOT_GPU_KERNEL_BLOCKS(attention_##type##_##dim, AttentionParams, 128, blocks) {   \
    INGOT_BODY_OF(Tokens<dim>::Type, attention_on_tensor_cores<Tokens<dim>, dim>(p)); \
  }
// Without asynchronous copies they go through registers, and 64 KB hold one block.
INGOT_ATTENTION(f16, F16Tokens, 64, (kChip >= 80 ? 3 : 2))
INGOT_ATTENTION(f16, F16Tokens, 128, 2)
INGOT_ATTENTION(halves, HalfTokens, 64, (kChip >= 80 ? 3 : 2))
INGOT_ATTENTION(halves, HalfTokens, 128, 2)
INGOT_ATTENTION(tf32, Tf32Tokens, 128, 2)
INGOT_GPU_KERNEL(attention_parts, AttentionParams, 128) { INGOT_BODY_OF(F16, combine_parts(p)); }

/// Sums of the split-K, in their order.
GPU_FN void add_parts(const ProductParams& p) {
  const int64_t row = p.columns / 4,
                count = int64_t(p.batch_first) * p.m * row;  // batch_first: how many matrices
  for (int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const int64_t line = i / row, batch = line / p.m, m = line - batch * p.m;
    const int o = int(i - line * row) * 4;
    finish_four(p, batch, m, o, add_parts_of(p, batch, m, o));
  }
}
INGOT_GPU_KERNEL_BLOCKS(add_splits, ProductParams, 256, 4) { INGOT_BODY_OF(F16, add_parts(p)); }

}  // namespace ingot::cuda
