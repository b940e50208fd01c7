// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_attention.h - attention whose matrix of scores is made: where somebody
// reads it, or changes it in a way that the fused operator has not. Inside tools/graph only.
#pragma once
#include "tools/graph/infer/inference.h"

namespace ingot::graph {

/// [B, heads, T, D] of [B, T, heads * D] or of that.
ValueId as_heads(NodeContext& context, ValueId x, int64_t heads);

struct ScoreRules {
  double scale = 1, softcap = 0;
  bool causal = false;
  int64_t left = -1, right = -1;  // keys before and behind a query that it sees; -1: all
  Dim past;                       // keys before the first query's own
  ValueId mask = kAbsent;         // bool, or what is added to scores; broadcasts to them
  ValueId lengths = kAbsent;      // [B]: keys that count; the queries are the last of them
};
/// The steps of attention, as ONNX's operator says them.
struct Scores {
  ValueId product = kAbsent, capped = kAbsent, masked = kAbsent, weights = kAbsent;
  ValueId output = kAbsent;  // [B, H, S, D of v], f32
};
/// q [B, H, S, D], k [B, heads of keys, T, D], v [B, heads of keys, T, D of v], of any float type;
/// computed in f32. A query that sees no key gives 0.
Scores spell_scores(NodeContext& context, ValueId q, ValueId k, ValueId v, const ScoreRules& rules);
/// k with each head as often as queries share it: [B, H, T, D].
ValueId shared_heads(NodeContext& context, ValueId k, const Dim& heads);

}  // namespace ingot::graph
