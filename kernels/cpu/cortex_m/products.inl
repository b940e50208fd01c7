// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/cortex_m/products.inl - products of bytes with the instructions that a Cortex-M has
// for them. Inner loops of kernels/cpu/quantized are specialized for the one-lane V; cutting into
// bands, rules and rows stay those of every instruction set, and the bits are the same, since sums
// of bytes are exact. A processor without such instructions (Cortex-M0+, M3, RISC-V) takes the
// templates as they are.
#pragma once
#include "kernels/cpu/quantized/products.inl"

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#include "kernels/cpu/cortex_m/helium_tile.inl"
#define INGOT_CORTEX_M_TILES 1
#elif defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
#include "kernels/cpu/cortex_m/dsp_tile.inl"
#define INGOT_CORTEX_M_TILES 1
#endif
#if defined(INGOT_CORTEX_M_TILES)
#include "kernels/cpu/cortex_m/bands.inl"
#endif
