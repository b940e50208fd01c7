// SPDX-License-Identifier: Apache-2.0
#include "tools/checkpoint/julia/julia_value.h"

#include <algorithm>
#include <map>
#include <set>

#include "tools/files/failure.h"
#include "tools/files/work_budget.h"

namespace ingot::checkpoint {
namespace {

constexpr int kMaxJuliaDepth = 128;

class Collector {
 public:
  Collector(const JuliaTree& tree, const ReadLimits& limits, Checkpoint* out)
      : tree_(tree), limits_(limits), out_(out) {}

  void walk(JuliaId id, const Path& path, int depth) {
    if (id == kNoJulia || depth > kMaxJuliaDepth) return;
    host::charge_work(1 + path.size());
    if (++visits_ > limits_.entries)
      host::fail(host::Exit::kCorrupt,
                 out_->file + ": names more than " + std::to_string(limits_.entries) +
                     " values by sharing a few; it was made to exhaust the reader");
    const JuliaNode& node = tree_.at(id);
    switch (node.kind) {
      case JuliaKind::kNothing: return;
      case JuliaKind::kBool: return fact(path, node.integer != 0);
      case JuliaKind::kInteger: return fact(path, node.integer);
      case JuliaKind::kFloat: return fact(path, node.number);
      case JuliaKind::kText: return fact(path, node.text);
      case JuliaKind::kType: return;
      case JuliaKind::kUnknown: return note(path, node.text);
      case JuliaKind::kArray: return tensor(*node.tensor, path);
      case JuliaKind::kList:
      case JuliaKind::kStruct: return items(id, path, depth);
    }
  }

 private:
  void items(JuliaId id, const Path& path, int depth) {
    if (!open_.insert(id).second) return;  // a circle
    const JuliaNode& node = tree_.at(id);
    const std::string type = tree_.short_type(id), function = tree_.function_name(id);
    if (!function.empty()) fact(path, "function " + function);
    if (node.kind == JuliaKind::kStruct && node.type != kNoJulia &&
        tree_.at(node.type).text.empty())
      note(path, "is an anonymous function, which is never executed");
    // old Flux: the values beside their gradients
    if (type == "TrackedArray" && node.items.size() >= 2) {
      walk(tree_.field(id, "data", 1), path, depth + 1);
    } else {
      const std::vector<std::string>* fields = node.names.empty() ? flux_fields(type) : nullptr;
      for (size_t i = 0; i < node.items.size(); i++) {
        Path below = path;
        const bool alone = type == "Chain" && node.items.size() == 1;
        if (i < node.names.size())
          below.push_back(node.names[i]);
        else if (fields && i < fields->size())
          below.push_back((*fields)[i]);
        else
          below.push_back(alone ? "layers" : std::to_string(i + 1));
        const bool kernel = below.back() == "weight" && (type == "Conv" || type == "CrossCor");
        JuliaId item = node.items[i];
        if (kernel) item = unwrapped(item);
        if (kernel && tree_.at(item).kind == JuliaKind::kArray &&
            tree_.at(item).tensor->dims.size() > 2)
          tensor(turned_kernel(*tree_.at(item).tensor, type == "CrossCor"), below);
        else
          walk(item, below, depth + 1);
      }
    }
    open_.erase(id);
  }
  JuliaId unwrapped(JuliaId id) const {
    return tree_.short_type(id) == "TrackedArray" && tree_.at(id).items.size() >= 2
               ? tree_.field(id, "data", 1)
               : id;
  }
  void tensor(Tensor t, const Path& path) {
    t.path = path;
    out_->add(std::move(t));
  }
  void fact(const Path& path, FactValue value) { out_->say(path, std::move(value)); }
  void note(const Path& path, const std::string& what) {
    out_->note("'" + path_text(path) + "' " + what);
  }

  const JuliaTree& tree_;
  const ReadLimits& limits_;
  Checkpoint* out_;
  std::set<JuliaId> open_;
  uint64_t visits_ = 0;
};

/// What a node takes, its parts with it.
uint64_t memory_of(const JuliaNode& node) {
  uint64_t bytes = sizeof node + host::text_memory(node.text.size()) +
                   node.items.size() * sizeof(JuliaId) + node.names.size() * sizeof(std::string);
  for (const std::string& name : node.names) bytes += host::text_memory(name.size());
  return bytes + (node.tensor ? sizeof(Tensor) : 0);
}

const std::string kNoName;

}  // namespace

JuliaNode unknown_node(const std::string& what) {
  JuliaNode node;
  node.kind = JuliaKind::kUnknown;
  node.text = what;
  return node;
}
JuliaId JuliaTree::add(JuliaNode node) {
  host::charge_metadata(memory_of(node));
  nodes.push_back(std::move(node));
  return JuliaId(nodes.size() - 1);
}
const std::string& JuliaTree::type_name(JuliaId id) const {
  if (id == kNoJulia || at(id).kind != JuliaKind::kStruct || at(id).type == kNoJulia)
    return kNoName;
  return at(at(id).type).text;
}
std::string JuliaTree::short_type(JuliaId id) const {
  const std::string& name = type_name(id);
  return name.substr(name.rfind('.') + 1);
}
JuliaId JuliaTree::field(JuliaId id, const char* name, size_t position) const {
  const JuliaNode& node = at(id);
  for (size_t i = 0; i < node.names.size() && i < node.items.size(); i++)
    if (node.names[i] == name) return node.items[i];
  return node.names.empty() && position < node.items.size() ? node.items[position] : kNoJulia;
}
std::string JuliaTree::function_name(JuliaId id) const {
  const std::string name = short_type(id);
  return name.size() > 1 && name[0] == '#' && name[1] != '#' ? name.substr(1) : "";
}

const std::vector<std::string>* flux_fields(const std::string& short_type) {
  static const std::map<std::string, std::vector<std::string>> kFields = {
      {"Chain", {"layers"}},
      {"Dense", {"weight", "bias", "σ"}},
      {"Scale", {"scale", "bias", "σ"}},
      {"Conv", {"σ", "weight", "bias", "stride", "pad", "dilation", "groups"}},
      {"CrossCor", {"σ", "weight", "bias", "stride", "pad", "dilation"}},
      {"MaxPool", {"k", "pad", "stride"}},
      {"MeanPool", {"k", "pad", "stride"}},
      {"BatchNorm",
       {"λ", "β", "γ", "μ", "σ²", "ϵ", "momentum", "affine", "track_stats", "active", "chs"}},
      {"LayerNorm", {"λ", "diag", "ϵ", "size", "affine"}},
      {"Dropout", {"p", "dims", "active", "rng"}},
      {"SkipConnection", {"layers", "connection"}},
      {"Parallel", {"connection", "layers"}},
      {"Embedding", {"weight"}},
      {"RNN", {"cell"}},
      {"LSTM", {"cell"}},
      {"GRU", {"cell"}},
      {"RNNCell", {"σ", "Wi", "Wh", "bias"}},
      {"LSTMCell", {"Wi", "Wh", "bias"}},
      {"GRUCell", {"Wi", "Wh", "b"}}};
  const auto found = kFields.find(short_type);
  return found == kFields.end() ? nullptr : &found->second;
}

Tensor turned_kernel(const Tensor& kernel, bool correlation) {
  Tensor view = kernel;
  std::reverse(view.dims.begin(), view.dims.end());
  std::reverse(view.strides.begin(), view.strides.end());
  std::vector<uint8_t> bytes = tensor_bytes(view);
  const size_t width = element_bytes(view.type);
  uint64_t plane = 1;
  for (size_t d = 2; d < view.dims.size(); d++) plane *= uint64_t(view.dims[d]);
  for (uint64_t at = 0; !correlation && plane > 0 && (at + plane) * width <= bytes.size();
       at += plane)
    for (uint64_t i = 0; i < plane / 2; i++)
      std::swap_ranges(bytes.begin() + int64_t((at + i) * width),
                       bytes.begin() + int64_t((at + i + 1) * width),
                       bytes.begin() + int64_t((at + plane - 1 - i) * width));
  view.strides.assign(view.dims.size(), 1);
  for (size_t d = view.dims.size(); d-- > 1;)
    view.strides[d - 1] = view.strides[d] * std::max<int64_t>(view.dims[d], 1);
  view.offset = 0;
  view.swapped = false;
  view.storage = memory_storage(std::move(bytes));
  return view;
}

Checkpoint collect_julia(const JuliaTree& tree, const ReadLimits& limits) {
  Checkpoint out;
  out.file = tree.file;
  out.format = tree.format;
  Collector(tree, limits, &out).walk(tree.root, {}, 0);
  return out;
}

}  // namespace ingot::checkpoint
