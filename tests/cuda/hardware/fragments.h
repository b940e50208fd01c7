// SPDX-License-Identifier: Apache-2.0
// tests/cuda/hardware/fragments.h - kernels of one or two instructions each: what tensor cores,
// matrix loads, asynchronous copies and conversions of a GPU do with given registers. No part of
// the product; products_gpu.cpp and moves_gpu.cpp run them on the GPU and in the emulator.
//   X(name, Params, threads)     a block is a case
#pragma once
#include <cstdint>

namespace ingot::cuda {

/// Registers as they are, by case, lane, register: a 4, b 2, c and d 4 words. `mistake`: a planted
/// one, which has to be found.
struct FragmentProductParams {
  const uint32_t *a, *b, *c;
  uint32_t* d;
  int32_t mistake;
};
constexpr int kFragmentA = 4, kFragmentB = 2, kFragmentD = 4;

/// 256 numbers of 16 bits a case; of each lane x4, x4 transposed, x2, x2 transposed, then loads of
/// 4 and 2 words.
struct FragmentMatrixParams {
  const uint16_t* from;
  uint32_t* to;
  int32_t mistake;
};
constexpr int kFragmentMatrixWords = 4 + 4 + 2 + 2 + 4 + 2;

/// Three groups in flight: 256 words by 16 bytes, 256 by 16, 64 by 4; a thread of the other warp
/// reads what one copied. Bit t % 32 of `valid`: thread t copies; else zeros appear.
struct FragmentCopyParams {
  const uint32_t* from;
  uint32_t* to;
  uint32_t valid;
  int32_t mistake;
};
constexpr int kFragmentCopyWords = 256 + 256 + 64;

/// Of two numbers a thread: both as f16 in a word, both as bf16, the first as tf32.
struct FragmentConvertParams {
  const float* from;
  uint32_t* to;
  int32_t mistake;
};

#define INGOT_CUDA_FRAGMENTS(X)                      \
  X(fragment_f16, FragmentProductParams, 32)         \
  X(fragment_bf16, FragmentProductParams, 32)        \
  X(fragment_tf32, FragmentProductParams, 32)        \
  X(fragment_s8u8, FragmentProductParams, 32)        \
  X(fragment_s8u8_halves, FragmentProductParams, 32) \
  X(fragment_matrices, FragmentMatrixParams, 32)     \
  X(fragment_copies, FragmentCopyParams, 64)         \
  X(fragment_converts, FragmentConvertParams, 64)

}  // namespace ingot::cuda
