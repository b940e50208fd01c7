// SPDX-License-Identifier: Apache-2.0
// runtime/op/grouped_linear.h - products of a mixture of experts: each group of rows of x has
// weights of its own. x [R, K], w of E experts, ends i32 or i64 [E] -> y f32 [R, O].
//   rows     ends[e - 1] (0 for the first) to ends[e] of x are those of expert e; any group may be
//            empty, and its weights are not read then. Rows behind the last end give zeros.
//   f32      x f32, w f32 panels16 [E * P, K], P being O rounded up to 16. One chain of fma per
//            output from zero over k ascending: the bits of Linear without bias
//   blocks   x as BlockQuantize of `type` gives it, w u8 blocks32 [E * P, bytes of a row], P being
//            O rounded up to 32: the bits of BlockLinear
// Ends that fall, or that lie outside 0 .. R, are kBadIndexValue: nothing is read for such a group.
#pragma once
#include "runtime/op/block_linear.h"

namespace ingot {

struct GroupedLinearAttributes {
  BlockType type = BlockType::kQ4_0;  // of weights in blocks
};
extern const OpContract kGroupedLinearContract;

namespace grouped {

bool has_blocks(const OpArguments& a);
/// Weights of a row. @pre checked
int64_t row_weights(const OpArguments& a);

}  // namespace grouped
}  // namespace ingot
