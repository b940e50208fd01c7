// SPDX-License-Identifier: Apache-2.0
// A channel shuffle, which exporters spell as Reshape to groups, Transpose of groups and members,
// Reshape back, all with channels second: where channels are last it is a Transpose of two short
// dimensions inside every pixel. Between two Transposes like every image operator, so that
// choosing the layout takes those away.
#include "tools/compile/passes/common/pass.h"

namespace ingot::passes {
namespace {

/// [N, C, ...] -> [N, g, C/g, ...] without touching anything else.
bool splits_channels(const Dims& from, const Dims& to) {
  if (from.size() < 4 || to.size() != from.size() + 1 || from[0] != to[0] ||
      from[1] != to[1] * to[2])
    return false;
  for (size_t i = 2; i < from.size(); i++)
    if (from[i] != to[i + 1]) return false;
  return true;
}

bool swaps_groups(const Integers& perm) {
  if (perm.size() < 4 || perm[0] != 0 || perm[1] != 2 || perm[2] != 1) return false;
  for (size_t i = 3; i < perm.size(); i++)
    if (perm[i] != int64_t(i)) return false;
  return true;
}

}  // namespace

uint32_t recognize_channel_shuffle(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* swap : e.nodes()) {
    if (swap->dead || swap->op != op::Transpose || !swaps_groups(swap->integers(attr::perm)))
      continue;
    Node* split = e.producer_if(swap->inputs[0], op::Reshape);
    if (!split || !e.read_once(swap->inputs[0]) || !e.read_once(swap->outputs[0])) continue;
    Node* join = e.readers(swap->outputs[0])[0];
    const ValueId x = split->inputs[0], y = join->outputs[0];
    if (join->op != op::Reshape || !splits_channels(e.dims(x), e.dims(split->outputs[0])) ||
        !splits_channels(e.dims(y), e.dims(swap->outputs[0])))
      continue;
    const Integers last = to_channels_last(e.rank(x));
    Node from = *swap;
    Dims grouped = permuted(e.dims(x), last);
    grouped.back() = e.dims(split->outputs[0])[1];
    grouped.push_back(e.dims(split->outputs[0])[2]);
    Integers inner;
    for (size_t i = 0; i < grouped.size(); i++) inner.push_back(int64_t(i));
    std::swap(inner[inner.size() - 2], inner.back());
    e.kill(*join);
    e.kill(*swap);
    e.kill(*split);
    const ValueId groups = e.reshape(e.transpose(x, last, from), grouped, from);
    const ValueId pixels =
        e.reshape(e.transpose(groups, inner, from), permuted(e.dims(y), last), from);
    Node& out = e.add(op::Transpose, {pixels}, {y}, from, {{attr::perm, inverse(last)}});
    e.merge_sources(out, *split);
    e.merge_sources(out, *join);
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
