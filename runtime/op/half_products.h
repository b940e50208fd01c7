// SPDX-License-Identifier: Apache-2.0
// runtime/op/half_products.h - which products a CPU may compute from operands that are rounded to
// halves, f16 in an fp16 program and bf16 in a bf16 one, and the scratch that takes: a block of
// rows and one panel of weights, both rounded. Contract and kernels call the same functions.
// Nothing here depends on an instruction set: a table without such kernels computes in f32 and
// leaves that scratch alone, so that a program asks for the same bytes everywhere.
// Order     k is the taps of a window in turn, each with its channels padded to a multiple of eight
//           by zeros.
//   f16     one output: k in runs of nearly equal length, at most kLongestRun; each run is one
//           chain of fma in f16 from zero, and its sum is added to one f32 sum that begins at the
//           bias. An output that is not finite then is computed again in f32, in the contract's
//           order: what f16 cannot hold costs time, not the answer.
//   bf16    one f32 sum that begins at the bias. Subnormal numbers are zero. bf16 has f32's range,
//           so that nothing is computed again; an infinite weight is multiplied by the zeros of a
//           border as well. What is added at a time:
//     Arm          four products: two, then two, each pair summed first; those sums are rounded to
//                  odd
//     AVX512-BF16  one product, fused: of each pair of k the second first
//     AMX          32 products: those of even k and those of odd k are two chains of fma from zero,
//                  which are added to each other first
#pragma once
#include "runtime/op/conv_blocks.h"

namespace ingot::half_products {

constexpr int64_t kRows = 8;          // of a register tile, and k that it takes together
constexpr int64_t kLeastRows = 256;   // of a block, however long they are
constexpr int64_t kLongestRun = 128;  // k, of f16
constexpr int64_t kStep = 32;         // k, of a tile of AMX

/// How a product is cut.
struct Blocks {
  int64_t channels = 0;  // of a tap, padded
  int64_t k = 0;         // of a row, padded
  int64_t rows = 0;      // of a block: a multiple of kRows
  uint64_t bytes = 0;    // of a thread's scratch: the block, then a panel
  int64_t runs() const { return ceil_div(k, kLongestRun); }
};
/// False where a size overflows. @pre c >= 1
bool blocks(int64_t taps, int64_t c, int64_t rows, Blocks* out);

/// Whether such a product of `rows` rows takes less time of halves: padded channels are no third of
/// it, panels are more than half full, and a panel that is rounded serves a whole tile.
bool pays(int64_t c, int64_t o, int64_t rows);

/// Whether it does on x86, where a tile has 16 rows, and products are so quick that rounding must
/// pay: measured with AMX. Windows are rounded by whole groups of eight channels.
bool pays_in_tiles(int64_t taps, int64_t c, int64_t o, int64_t rows);

/// Whether weights of bf16 may be read as they lie, by products of however many rows: those of x86
/// where rounding pays.
bool reads_bf16(int64_t taps, int64_t c, int64_t o);
/// The same of an instruction's operand, whose dims are numbers.
bool reads_bf16(OpCode op, const void* attributes, uint32_t operand, const int64_t* dims);

/// A convolution, or a stage of a chain; `rows`: output pixels that are computed together.
bool takes(const Conv2dAttributes& t, const conv::Extents& e);
bool scratch(const Conv2dAttributes& t, const conv::Extents& e, int64_t rows, uint64_t* bytes);

}  // namespace ingot::half_products
