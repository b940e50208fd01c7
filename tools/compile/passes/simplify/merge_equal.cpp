// SPDX-License-Identifier: Apache-2.0
// Common subexpressions: nodes of the same operator, attributes and operands; small constants of
// the same bytes.
#include <algorithm>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/pass.h"

namespace ingot::passes {
namespace {

constexpr size_t kSmallBytes = 4096;  // larger constants are shared only when they are one object

struct Printer {
  std::ostream& out;
  void operator()(int64_t n) const { out << n; }
  void operator()(double n) const { out << std::hexfloat << n << std::defaultfloat; }
  void operator()(const std::string& s) const { out << '"' << s << '"'; }
  template <class T>
  void operator()(const std::vector<T>& all) const {
    for (const T& each : all) (*this)(each), out << ',';
  }
  void operator()(const Dim& d) const { out << d.text(); }
  void operator()(const Constant& c) const { out << "constant@" << c.bytes.get(); }
  void operator()(const std::shared_ptr<Graph>& g) const { out << "graph@" << g.get(); }
};

std::string key_of(const Editor& e, const Node& node) {
  std::ostringstream key;
  Printer print{key};
  key << text(node.op);
  for (ValueId id : node.inputs) key << ' ' << id;
  for (auto& [name, attribute] : node.attributes) {
    key << ' ' << text(name) << '=';
    std::visit(print, attribute);
  }
  for (ValueId id : node.outputs) {
    key << " ->";
    if (id >= 0) key << int(e.value(id).dtype) << ':', print(e.dims(id));
  }
  return key.str();
}

std::string key_of(const Constant& c) {
  std::ostringstream key;
  key << int(c.dtype) << ':';
  Printer{key}(c.dims);
  if (c.bytes && c.bytes->size() <= kSmallBytes)
    key.write(reinterpret_cast<const char*>(c.bytes->data()), long(c.bytes->size()));
  else
    key << '@' << c.bytes.get();
  return key.str();
}

void share_constants(Editor& e, std::unordered_map<std::string, ValueId>& known, Node& node) {
  std::vector<ValueId> inputs = node.inputs;
  for (ValueId& id : inputs)
    if (const Constant* c = e.constant(id)) id = known.emplace(key_of(*c), id).first->second;
  if (inputs != node.inputs) e.set_inputs(node, inputs);
}

/// A dim is resolved by what it makes: two such nodes resolve two dims, even if they are equal.
std::unordered_set<ValueId> resolvers_of(const Editor& e) {
  std::unordered_set<ValueId> all;
  for (const auto& [name, symbol] : e.model.data_dependent) all.insert(symbol.by);
  return all;
}

}  // namespace

uint32_t merge_equal(Editor& e, Remarks&) {
  std::unordered_map<std::string, Node*> seen;
  std::unordered_map<std::string, ValueId> constants;
  const std::unordered_set<ValueId> resolvers = resolvers_of(e);
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    const bool is_resolver = std::any_of(node->outputs.begin(), node->outputs.end(),
                                         [&](ValueId id) { return resolvers.count(id) != 0; });
    if (node->dead || node->op == op::If || node->op == op::Loop || is_resolver) continue;
    share_constants(e, constants, *node);
    auto [at, fresh] = seen.emplace(key_of(e, *node), node);
    if (fresh) continue;
    bool port = false;
    for (ValueId id : node->outputs) port |= id >= 0 && e.is_output(id);
    if (port) continue;  // two outputs of a model keep a node each
    std::vector<ValueId> outputs = node->outputs;
    e.kill(*node);
    for (size_t i = 0; i < outputs.size(); i++)
      if (outputs[i] >= 0) e.replace_reads(outputs[i], at->second->outputs[i]);
    e.merge_sources(*at->second, *node);
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
