// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/block_linear/tile.inl - the tile of the instruction set.
//   kTileRows        rows of a tile
//   expand_block     one block of a panel into the thread's scratch
//   tile             rows times an expanded panel, added to sums [rows][32]
//   expands_alike    of two types: whether tile may be that of either
//   rows_times_panel few rows times a panel as it lies in the file
//   kFileTileRows    of those at once, a power of two; kFileRows: so few read the file's bytes
#pragma once
#if defined(INGOT_SIMD_AVX512) && defined(INGOT_SIMD_VNNI)
#include "kernels/cpu/block_linear/tile_vnni.inl"
#elif defined(INGOT_SIMD_AVX2)
#include "kernels/cpu/block_linear/tile_avx2.inl"
#elif defined(INGOT_SIMD_DOTPROD) || defined(INGOT_SIMD_I8MM)
#include "kernels/cpu/block_linear/tile_neon.inl"
#else
#include "kernels/cpu/block_linear/tile_lanes.inl"
#endif
