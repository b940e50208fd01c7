// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/torch/torch_objects.cpp - walks an inert tree without recursion: a stack of what
// is still to be visited.
#include "tools/checkpoint/torch/torch_objects.h"

#include "tools/checkpoint/torch/torch_tensors.h"
#include "tools/files/failure.h"
#include "tools/files/work_budget.h"

namespace ingot::checkpoint {
namespace {

constexpr size_t kMaxLevels = 1000;

std::string key_text(const ValueTree& tree, NodeId id) {
  const Node& node = tree.at(id);
  switch (node.kind) {
    case NodeKind::kText:
    case NodeKind::kBytes: return node.text;
    case NodeKind::kInteger: return std::to_string(node.integer);
    case NodeKind::kBool: return node.integer ? "True" : "False";
    case NodeKind::kNone: return "None";
    case NodeKind::kFloat: return std::to_string(node.number);
    case NodeKind::kGlobal: return tree.global_name(id);
    default: return "key " + std::to_string(id);
  }
}

class ObjectWalk {
 public:
  ObjectWalk(const ValueTree& tree, StorageSource* storages, const ReadLimits& limits,
             Checkpoint* out)
      : tree_(tree), builder_(tree, storages, limits, out->file), limits_(limits), out_(out) {}

  void run() {
    visit(tree_.root, {}, "");
    while (!todo_.empty()) {
      if (todo_.back().items) {
        next_item();
        continue;
      }
      const Place place = std::move(todo_.back());
      todo_.pop_back();
      if (place.leave)
        open_[place.node]--;
      else
        expand(place);
    }
  }

 private:
  struct Place {
    NodeId node;
    Path path;
    std::string module;  // names of modules so far, each with its dot: "layer1.0."
    bool leave = false;
    // a list or keys and values, met one by one: a place for each would copy the path as often
    const std::vector<NodeId>* items = nullptr;
    bool is_pairs = false;
    size_t next = 0;
  };

  void count() {
    if (++entries_ > limits_.entries)
      host::fail(host::Exit::kCorrupt,
                 out_->file + ": names more than " + std::to_string(limits_.entries) +
                     " values by sharing a few; it was made to exhaust the reader");
  }
  /// Puts off what is met after its siblings.
  void visit(NodeId node, Path path, std::string module) {
    size_t bytes = sizeof(Place) + host::text_memory(module.size());
    for (const std::string& key : path) bytes += sizeof key + host::text_memory(key.size());
    host::charge_metadata(bytes);
    meet(node, std::move(path), std::move(module));
  }
  void meet(NodeId node, Path path, std::string module) {
    if (node == kNoNode) return;
    if (path.size() > kMaxLevels)
      host::fail(host::Exit::kCorrupt,
                 out_->file + ": nests more than " + std::to_string(kMaxLevels) + " levels");
    todo_.push_back({node, std::move(path), std::move(module), false});
  }
  static Path below(const Place& place, const std::string& name) {
    size_t copied = place.module.size() + name.size();
    for (const std::string& key : place.path) copied += key.size();
    host::charge_work(1 + place.path.size() + copied / 16);
    Path path = place.path;
    path.push_back(place.module + name);
    return path;
  }
  void visit_items(const Place& place, const std::vector<NodeId>& items) {
    todo_.push_back({place.node, place.path, place.module, false, &items, false, 0});
  }
  void visit_pairs(const Place& place, const std::vector<NodeId>& pairs) {
    todo_.push_back({place.node, place.path, place.module, false, &pairs, true, 0});
  }
  void next_item() {
    Place& place = todo_.back();
    const std::vector<NodeId>& items = *place.items;
    const size_t i = place.next++;
    if (place.is_pairs && 2 * i + 1 < items.size())
      meet(items[2 * i + 1], below(place, key_text(tree_, items[2 * i])), "");
    else if (!place.is_pairs && i < items.size())
      meet(items[i], below(place, std::to_string(i)), "");
    else
      todo_.pop_back();
  }
  void fact(const Place& place, FactValue value) { out_->say(full(place), std::move(value)); }
  /// A module's own place has an open dot that names nothing.
  static Path full(const Place& place) {
    Path path = place.path;
    if (!place.module.empty()) path.push_back(place.module.substr(0, place.module.size() - 1));
    return path;
  }

  void expand(const Place& place) {
    count();
    const Node& node = tree_.at(place.node);
    switch (node.kind) {
      case NodeKind::kNone: fact(place, {}); return;
      case NodeKind::kBool: fact(place, node.integer != 0); return;
      case NodeKind::kInteger: fact(place, node.integer); return;
      case NodeKind::kFloat: fact(place, node.number); return;
      case NodeKind::kText: fact(place, node.text); return;
      case NodeKind::kBytes: fact(place, std::to_string(node.text.size()) + " bytes"); return;
      case NodeKind::kGlobal: fact(place, tree_.global_name(place.node)); return;
      // else a bare storage or class
      case NodeKind::kPersistent: (void)expand_tensor(place); return;
      default: break;
    }
    if (node.kind == NodeKind::kCall && expand_tensor(place)) return;
    if (open_[place.node]++ > 0) {
      open_[place.node]--;
      out_->note("'" + path_text(place.path) + "' contains itself; it is read once");
      return;
    }
    charge_sharing(place);
    todo_.push_back({place.node, {}, "", true});
    if (node.kind == NodeKind::kDict)
      visit_pairs(place, node.items);
    else if (node.kind == NodeKind::kCall)
      expand_object(place, node);
    else
      visit_items(place, node.items);
  }

  /// A container takes its bytes of the file once. Each further place that holds it makes values
  /// that the file pays nothing for, though they may be empty and become no fact.
  void charge_sharing(const Place& place) {
    if (met_[place.node]) host::charge_metadata(sizeof(Place) + place.path.size() * sizeof(Path));
    met_[place.node] = true;
  }
  bool expand_tensor(const Place& place) {
    const Path path = full(place);
    Tensor tensor;
    if (builder_.build(place.node, path_text(path), &tensor)) {
      tensor.path = path;
      out_->add(std::move(tensor));
      return true;
    }
    FactValue value;
    if (builder_.scalar(place.node, &value)) {
      fact(place, value);
      return true;
    }
    NodeId parts;
    if (builder_.is_sparse(place.node, &parts)) {
      out_->note("'" + path_text(path) + "' is sparse: its indices, values and size are given");
      const std::vector<NodeId>& items = tree_.at(parts).items;
      constexpr const char* kNames[] = {"indices", "values", "size", "is_coalesced"};
      constexpr const char* kCompressed[] = {"compressed_indices", "plain_indices", "values",
                                             "size"};
      const bool is_coo = items.size() < 4 || tree_.at(items[3]).kind == NodeKind::kBool;
      for (size_t i = items.size(); i-- > 0;) {
        Path part = path;
        part.push_back(i < 4 ? (is_coo ? kNames[i] : kCompressed[i]) : std::to_string(i));
        visit(items[i], part, "");
      }
      return true;
    }
    return false;
  }

  /// The dictionary of an object's attributes, whatever form BUILD gave it.
  NodeId attributes(const Node& node) const {
    if (node.state == kNoNode) return kNoNode;
    const Node& state = tree_.at(node.state);
    if (state.kind == NodeKind::kTuple && state.items.size() == 2)
      return tree_.at(state.items[0]).kind == NodeKind::kDict ? state.items[0] : state.items[1];
    return node.state;
  }

  void expand_object(const Place& place, const Node& node) {
    const std::string name = tree_.global_name(node.items[0]);
    const NodeId state = attributes(node);
    const bool is_module =
        tree_.find(state, "_modules") != kNoNode && tree_.find(state, "_parameters") != kNoNode;
    if (is_module) return expand_module(place, state);
    if (name.compare(0, 10, "__torch__.") == 0) return expand_script(place, state);
    const bool is_ordered = name == "collections.OrderedDict";
    if (!is_ordered && state != kNoNode)
      visit(state, place.path, place.module);  // an OrderedDict's own state is bookkeeping
    if (node.extra_is_pairs)
      visit_pairs(place, node.extra);
    else if (!node.extra.empty())
      visit_items(place, node.extra);
    expand_arguments(place, node, name);
  }

  void expand_arguments(const Place& place, const Node& node, const std::string& name) {
    if (node.items.size() < 2) return;
    if (name == "torch.device") {
      std::string text;
      for (size_t i = 1; i < node.items.size(); i++)
        text += (i > 1 ? ":" : "") + key_text(tree_, node.items[i]);
      return fact(place, text);
    }
    const Node& first = tree_.at(node.items[1]);
    const bool mapping =
        name == "collections.OrderedDict" || name == "builtins.dict" || name == "__builtin__.dict";
    if (mapping && first.kind == NodeKind::kList) {  // [[key, value], ...], as Python 2 wrote it
      for (size_t i = first.items.size(); i-- > 0;) {
        const Node& pair = tree_.at(first.items[i]);
        if (pair.items.size() == 2)
          visit(pair.items[1], below(place, key_text(tree_, pair.items[0])), "");
      }
      return;
    }
    constexpr const char* kHolders[] = {"torch.Size",         "builtins.set",  "__builtin__.set",
                                        "builtins.frozenset", "builtins.list", "builtins.tuple",
                                        "collections.deque"};
    for (const char* holder : kHolders)
      if (name == holder) return visit_items(place, first.items);
    if (node.items.size() == 2 && first.kind == NodeKind::kDict)
      visit(node.items[1], place.path, place.module);
  }

  /// torch.nn.Module: names join with dots, as state_dict() has them.
  void expand_module(const Place& place, NodeId state) {
    const auto each = [&](const char* group, bool descend) {
      const NodeId dict = tree_.find(state, group);
      if (dict == kNoNode) return;
      const Node& node = tree_.at(dict);
      const std::vector<NodeId>& pairs = node.kind == NodeKind::kDict ? node.items : node.extra;
      for (size_t i = pairs.size() / 2; i-- > 0;) {
        const std::string name = key_text(tree_, pairs[2 * i]);
        if (tree_.at(pairs[2 * i + 1]).kind == NodeKind::kNone) continue;
        if (descend)
          visit(pairs[2 * i + 1], place.path, place.module + name + ".");
        else
          visit(pairs[2 * i + 1], below(place, name), "");
      }
    };
    each("_modules", true);
    each("_buffers", false);
    each("_parameters", false);
    note_class(place);
  }

  /// TorchScript: attributes of an object are its tensors and its modules alike.
  void expand_script(const Place& place, NodeId state) {
    if (state == kNoNode || tree_.at(state).kind != NodeKind::kDict) return;
    const std::vector<NodeId>& pairs = tree_.at(state).items;
    for (size_t i = pairs.size() / 2; i-- > 0;) {
      const std::string name = key_text(tree_, pairs[2 * i]);
      const Node& value = tree_.at(pairs[2 * i + 1]);
      const bool object = value.kind == NodeKind::kCall &&
                          tree_.global_name(value.items[0]).compare(0, 10, "__torch__.") == 0;
      if (object)
        visit(pairs[2 * i + 1], place.path, place.module + name + ".");
      else
        visit(pairs[2 * i + 1], below(place, name), "");
    }
  }

  void note_class(const Place& place) {
    if (noted_) return;
    noted_ = true;
    const std::string name = tree_.global_name(tree_.at(place.node).items[0]);
    out_->notes.push_back("holds a whole module" +
                          (name.empty() ? std::string() : " of class " + name) +
                          ": its weights are read, its class is not needed");
  }

  const ValueTree& tree_;
  TensorBuilder builder_;
  const ReadLimits& limits_;
  Checkpoint* out_;
  std::vector<Place> todo_;
  std::vector<uint8_t> open_ = std::vector<uint8_t>(tree_.nodes.size(), 0);
  std::vector<bool> met_ = std::vector<bool>(tree_.nodes.size(), false);
  uint64_t entries_ = 0;
  bool noted_ = false;
};

}  // namespace

void collect_torch(const ValueTree& tree, StorageSource* storages, const ReadLimits& limits,
                   Checkpoint* out) {
  ObjectWalk(tree, storages, limits, out).run();
}

}  // namespace ingot::checkpoint
