// SPDX-License-Identifier: Apache-2.0
#include "tools/import/flux/fields.h"

#include "tools/import/flux/no_effect.h"

namespace ingot::flux {

using checkpoint::JuliaId;
using checkpoint::JuliaKind;
using checkpoint::JuliaNode;
using checkpoint::kNoJulia;

void Fields::begin(JuliaId layer, const std::string& name) {
  name_ = name;
  names_.emplace(layer, name);
  if (layer != kNoJulia && tree_.at(layer).kind == JuliaKind::kStruct &&
      tree_.function_name(layer).empty() && tree_.short_type(layer).compare(0, 1, "#") != 0)
    read_[layer];
}
JuliaId Fields::read(JuliaId of, const char* name, size_t position) {
  const JuliaNode& node = tree_.at(of);
  std::set<size_t>& read = read_[of];
  names_.emplace(of, name_);
  for (size_t i = 0; i < node.names.size() && i < node.items.size(); i++)
    if (node.names[i] == name) {
      read.insert(i);
      return node.items[i];
    }
  if (!node.names.empty() || position >= node.items.size()) return kNoJulia;
  read.insert(position);
  return node.items[position];
}
bool Fields::says_nothing(JuliaId id) const {
  if (id == kNoJulia) return true;
  const JuliaNode& node = tree_.at(id);
  return node.kind == JuliaKind::kNothing || (node.kind == JuliaKind::kBool && node.integer == 0) ||
         tree_.short_type(id) == "Zeros";
}
void Fields::refuse_unread(std::vector<graph::Unsupported>* to) const {
  for (const auto& [id, read] : read_) {
    const JuliaNode& node = tree_.at(id);
    const std::string kind = tree_.short_type(id);
    const std::vector<std::string>* known = checkpoint::flux_fields(kind);
    if (!known && read.empty()) continue;  // of a layer that is refused as a whole
    for (size_t i = 0; i < node.items.size(); i++) {
      if (read.count(i) || says_nothing(node.items[i])) continue;
      const std::string name = i < node.names.size()        ? node.names[i]
                               : known && i < known->size() ? (*known)[i]
                                                            : "field " + std::to_string(i + 1);
      if (no_effect(kind, name)) continue;
      const auto layer = names_.find(id);
      to->push_back({kind, name, layer == names_.end() ? "" : layer->second, "",
                     "says something that is not read", "save it with its default"});
    }
  }
}

}  // namespace ingot::flux
