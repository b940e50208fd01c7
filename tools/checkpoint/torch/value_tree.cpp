// SPDX-License-Identifier: Apache-2.0
#include "tools/checkpoint/torch/value_tree.h"

namespace ingot::checkpoint {

std::string ValueTree::global_name(NodeId id) const {
  if (id == kNoNode || at(id).kind != NodeKind::kGlobal) return "";
  std::string name = at(id).text;
  const size_t cut = name.find('\n');
  if (cut != std::string::npos) name[cut] = '.';
  return name;
}

NodeId ValueTree::find(NodeId dict, const std::string& key) const {
  if (dict == kNoNode) return kNoNode;
  const Node& node = at(dict);
  const bool is_dict = node.kind == NodeKind::kDict;
  if (!is_dict && !(node.kind == NodeKind::kCall && node.extra_is_pairs)) return kNoNode;
  const std::vector<NodeId>& pairs = is_dict ? node.items : node.extra;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (at(pairs[i]).kind == NodeKind::kText && at(pairs[i]).text == key) return pairs[i + 1];
  return kNoNode;
}

}  // namespace ingot::checkpoint
