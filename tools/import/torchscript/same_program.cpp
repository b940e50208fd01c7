// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/same_program.cpp - numbers every value of both graphs by how it is
// computed; equal numbers are equal computations.
#include <cstring>
#include <map>

#include "tools/import/torchscript/follow.h"

namespace ingot::torchscript {
namespace {

using graph::ValueId;

class Numbering {
 public:
  explicit Numbering(std::map<std::string, int>* known) : known_(known) {}

  void walk(const graph::Model& model, const graph::Graph& graph, const std::string& scope) {
    for (size_t i = 0; i < graph.inputs.size(); i++)
      numbers_[graph.inputs[i]] = number(scope + "input " + std::to_string(i));
    for (const graph::Node& node : graph.nodes) {
      if (node.dead) continue;
      std::string key = graph::text(node.op);
      for (const ValueId id : node.inputs) key += " " + std::to_string(of(model, id));
      for (const auto& [name, attribute] : node.attributes)
        key += "; " + graph::text(name) + "=" + text(model, attribute, key);
      for (size_t i = 0; i < node.outputs.size(); i++) {
        if (node.outputs[i] == graph::kAbsent) continue;
        const graph::Value& value = model.values[size_t(node.outputs[i])];
        const bool same_value = node.op == op::Identity && node.inputs.size() == 1;
        numbers_[node.outputs[i]] =
            same_value ? of(model, node.inputs[0])
                       : number(key + " -> " + std::to_string(i) + " " +
                                std::to_string(int(value.dtype)) + graph::text(value.dims));
      }
    }
  }
  int of(const graph::Model& model, ValueId id) {
    if (id == graph::kAbsent) return -1;
    const auto found = numbers_.find(id);
    if (found != numbers_.end()) return found->second;
    const graph::Constant* constant = model.constant(id);
    return numbers_[id] =
               constant ? number(text(*constant)) : number("unknown " + std::to_string(unknown_++));
  }

 private:
  int number(const std::string& key) {
    return known_->emplace(key, int(known_->size())).first->second;
  }
  static std::string text(const graph::Constant& c) {
    std::string out = "constant " + std::to_string(int(c.dtype));
    for (const int64_t d : c.dims) out += "," + std::to_string(d);
    return c.bytes ? out + ":" + std::string(c.bytes->begin(), c.bytes->end()) : out;
  }
  template <class T>
  static std::string list(const std::vector<T>& items) {
    std::string out = "[";
    for (const T& item : items) {
      char bytes[sizeof(T)];
      std::memcpy(bytes, &item, sizeof item);
      out.append(bytes, sizeof item);
    }
    return out + "]";
  }
  std::string text(const graph::Model& model, const graph::Attribute& attribute,
                   const std::string& scope) {
    if (const auto* n = std::get_if<int64_t>(&attribute)) return std::to_string(*n);
    if (const auto* n = std::get_if<double>(&attribute)) return list(std::vector<double>{*n});
    if (const auto* t = std::get_if<std::string>(&attribute)) return "'" + *t + "'";
    if (const auto* l = std::get_if<std::vector<int64_t>>(&attribute)) return list(*l);
    if (const auto* l = std::get_if<std::vector<double>>(&attribute)) return list(*l);
    if (const auto* d = std::get_if<graph::Dims>(&attribute)) return graph::text(*d);
    if (const auto* c = std::get_if<graph::Constant>(&attribute)) return text(*c);
    if (const auto* l = std::get_if<std::vector<std::string>>(&attribute)) {
      std::string out = "[";
      for (const std::string& item : *l) out += "'" + item + "',";
      return out + "]";
    }
    const auto& inner = std::get<std::shared_ptr<graph::Graph>>(attribute);
    if (!inner) return "none";
    walk(model, *inner, scope);
    std::string out = "graph";
    for (const ValueId id : inner->outputs) out += " " + std::to_string(of(model, id));
    return out;
  }

  std::map<std::string, int>* known_;
  std::map<ValueId, int> numbers_;
  int unknown_ = 0;
};

}  // namespace

bool same_program(const graph::Model& a, const std::vector<ValueId>& outputs_a,
                  const graph::Model& b, const std::vector<ValueId>& outputs_b) {
  if (outputs_a.size() != outputs_b.size() || a.graph.inputs.size() != b.graph.inputs.size())
    return false;
  std::map<std::string, int> known;
  Numbering of_a(&known), of_b(&known);
  of_a.walk(a, a.graph, "");
  of_b.walk(b, b.graph, "");
  for (size_t i = 0; i < outputs_a.size(); i++)
    if (of_a.of(a, outputs_a[i]) != of_b.of(b, outputs_b[i])) return false;
  return true;
}

}  // namespace ingot::torchscript
