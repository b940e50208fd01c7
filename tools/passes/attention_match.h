// tools/passes/attention_match.h - softmax(q k' ...) v as exporters spell it, taken apart around one Softmax.
#pragma once
#include <string>

#include "tools/passes/editor.h"

namespace ingot::passes {

/// What was found. q, k, v have the dims that the products read ([..., T, D] after `turn_k`).
struct AttentionMatch {
  ValueId q = graph::kAbsent, k = graph::kAbsent, v = graph::kAbsent, y = graph::kAbsent;
  bool turn_k = false, turn_v = false;  // k is [..., D, T], v is [..., D, T]
  double scale = 1, softcap = 0;
  Dims scores;                    // of the product as masks see it
  std::vector<ValueId> additive;  // masks to add, in scores' dims or broadcast to them
  std::vector<ValueId> seen;      // bool masks, true where a key is seen
  std::vector<ValueId> hidden;    // bool masks, true where it is not
  std::vector<Node*> inside;      // from the last product to the first, retired in this order
};

/// True where the Softmax stands between two products and all of it is an Attention. Else `why` says what is in the way; it stays empty
/// where there are no two products around, which is no attention at all.
bool match_attention(const Editor& e, Node& softmax, AttentionMatch* found, std::string* why);

}  // namespace ingot::passes
