// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/recognize/attention_match.h - softmax(q k' ...) v as exporters spell it,
// taken apart around one Softmax.
#pragma once
#include <string>

#include "tools/compile/passes/common/editor.h"

namespace ingot::passes {

/// A mask, added to the scores, or chosen by: scores where `seen` or `!seen` is true, `number`
/// elsewhere.
struct AttentionMask {
  ValueId id = graph::kAbsent;
  bool is_choice = false, seen = true;
  double number = 0;  // f32, as the softmax takes it
};

/// What was found. q, k, v have the dims that the products read ([..., T, D] after `turn_k`).
struct AttentionMatch {
  ValueId q = graph::kAbsent, k = graph::kAbsent, v = graph::kAbsent, y = graph::kAbsent;
  bool turn_k = false, turn_v = false;  // k is [..., D, T], v is [..., D, T]
  double scale = 1, softcap = 0;
  Dims scores;  // of the product as masks see it
  // from the softmax to the product, in scores' dims or broadcast to them
  std::vector<AttentionMask> masks;
  bool nan_is_zero = false;   // the source writes zeros over rows that are NaN
  std::vector<Node*> inside;  // from the last product to the first, retired in this order
};

/// True where the Softmax stands between two products and all of it is an Attention. Else `why`
/// says what is in the way; it stays empty where there are no two products around, which is no
/// attention at all.
bool match_attention(const Editor& e, Node& softmax, AttentionMatch* found, std::string* why);

}  // namespace ingot::passes
