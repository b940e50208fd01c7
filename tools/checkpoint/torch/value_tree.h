// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/torch/value_tree.h - what a pickle says, as inert data. Nodes refer to each
// other by index, so that sharing and circles cost nothing, and neither building nor freeing
// recurses.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace ingot::checkpoint {

using NodeId = uint32_t;
constexpr NodeId kNoNode = 0xffffffffu;

enum class NodeKind : uint8_t {
  kNone,
  kBool,
  kInteger,
  kFloat,
  kText,
  kBytes,
  kList,    // items
  kTuple,   // items
  kSet,     // items
  kDict,    // items: key, value, key, value, ...
  kGlobal,  // text: "module name"
  // items: callable, arguments; then what APPEND, SETITEM and BUILD added: see `state`, `extra`
  kCall,
  kPersistent,  // items: the id
};

struct Node {
  NodeKind kind = NodeKind::kNone;
  int64_t integer = 0;  // bool and integer
  double number = 0;
  std::string text;  // text, bytes, global ("module\nname"); an integer beyond 64 bits in decimal
  std::vector<NodeId> items;
  NodeId state = kNoNode;  // BUILD's argument
  // of a call: key, value pairs (SETITEM) or list items (APPEND), told by extra_is_pairs
  std::vector<NodeId> extra;
  bool extra_is_pairs = false;
};

struct ValueTree {
  std::deque<Node> nodes;
  NodeId root = kNoNode;

  const Node& at(NodeId id) const { return nodes[id]; }
  /// "collections.OrderedDict" of a global; "" for anything else.
  std::string global_name(NodeId id) const;
  /// The value under a text key of a dict (or a call with dict items); kNoNode when it has none.
  NodeId find(NodeId dict, const std::string& key) const;
};

}  // namespace ingot::checkpoint
