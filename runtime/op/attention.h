// SPDX-License-Identifier: Apache-2.0
// runtime/op/attention.h - softmax(scale q k' + mask) v for every head, without a matrix of scores.
// Operands  0 q, 1 k, 2 v: [B, T, heads * D], or [B, heads, T, D], each in its own variant; k and v
//           have kv_heads heads, and query head h reads head h / (heads / kv_heads) of theirs. 3
//           [mask], broadcast to [B, heads, Tq, Tk]: f32 added to the scores (the sum is rounded to
//           f32: -1e9 alone makes all scores of a row the same), or bool8, true where a key is
//           seen. 4 [key_counts, i32 or i64, [B] or one number]: keys from there on do not exist.
//           5 [key_batches, i32 or i64, [B]]: the batch of k and v that each of q reads; they then
//           have a number of batches of their own. Feature "key_batches".
//           6 [sinks, f32 [heads]]: the score of a key that every query of a head sees and that has
//           no value. Feature "attention_sinks"; empty_rows is zero.
//           All f32; k and v may both be f16, which is widened, or u8: rows of a head are then i8
//           [D], f32 [D / 32], and an element is code * scale of its 32, rounded to f32.
// Result    y [B, Tq, heads * Dv] or [B, heads, Tq, Dv].
// Empty     a row that sees no key is zero; or NaN (zero where Tk is 0); or, where a bool mask
//           hides every key that causal order and count leave, the mean of their values: hidden
//           keys then score -FLT_MAX.
// Causal    top_left: query i sees keys j <= i; bottom_right: j <= i + (keys - Tq), keys being the
//           count where one is given.
// Order     q' = q * scale, rounded. Score: one chain of fma from zero over D ascending; softcap: c
//           * tanh(s / c); then + mask. A key that is not seen, or has a mask of minus infinity,
//           scores minus infinity whatever it holds. Keys go in blocks of 256. m = max(m, block's
//           maximum), from -FLT_MAX; e = exp(s - m); 16 virtual lanes, key j in lane j % 16, lanes
//           = lanes * exp(m_before - m) + e. o = fma(o, exp(m_before - m), one chain of fma from
//           zero over the block's keys ascending); the first block is its chain. y = o * (1 / tree
//           of the lanes), or what `empty_rows` says where that is 0. 42 queries of a head's group
//           in row-major order share the last key they read; a weight of zero times a v that is not
//           finite is NaN up to there, and not read beyond. With sinks m begins at the head's, at
//           FLT_MAX where that is more, and lane 0 at 1. A sink that is NaN makes its rows NaN.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

enum class CausalMask : uint8_t { kNone = 0, kTopLeft = 1, kBottomRight = 2 };
/// What a row gives that sees no key. zero: as scaled_dot_product_attention and Attention of ONNX
/// say. nan: as a softmax of minus infinities is. mean: as a softmax of scores is that one large
/// negative number took the place of; with a bool mask only.
enum class EmptyRows : uint8_t { kZero = 0, kNan = 1, kMean = 2 };
struct AttentionAttributes {
  uint32_t heads = 1, kv_heads = 1;
  float scale = 1;
  CausalMask causal = CausalMask::kNone;
  float softcap = 0;  // 0: none
  EmptyRows empty_rows = EmptyRows::kZero;
};
extern const OpContract kAttentionContract;

}  // namespace ingot
