// SPDX-License-Identifier: Apache-2.0
// tools/import/common/empty_dims.cpp - a model with dimensions of 0 beside the same one without.
#include "tools/import/common/empty_dims.h"

#include <optional>
#include <set>

namespace ingot::importer {
namespace {

/// Of nodes, shapes and small constants; bounds of symbols and notes left out.
class Fingerprint {
 public:
  explicit Fingerprint(const graph::Model& model) {
    for (const auto& [name, bounds] : model.symbols)
      if (bounds.low == 0) at_least_1_[name] = graph::Dim::symbol(name);
    for (const graph::Value& v : model.values) {
      add(v.name), add(uint64_t(v.dtype)), add(uint64_t(v.shape_known)), add(v.dims);
      if (v.constant) add(*v.constant);
    }
    add(model.graph);
  }
  uint64_t number() const { return hash_; }

 private:
  static constexpr size_t kMaxBytesCompared = 4096;  // of a constant: extents make small ones

  void add(const void* data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
      hash_ = (hash_ ^ static_cast<const uint8_t*>(data)[i]) * 1099511628211u;
  }
  void add(uint64_t number) { add(&number, sizeof number); }
  void add(int64_t number) { add(uint64_t(number)); }
  void add(int32_t number) { add(uint64_t(number)); }
  void add(double number) { add(&number, sizeof number); }
  void add(const std::string& text) { add(uint64_t(text.size())), add(text.data(), text.size()); }
  void add(const graph::Dim& dim) { add(dim.substitute(at_least_1_).text()); }
  void add(const graph::Constant& c) {
    add(uint64_t(c.dtype)), add(c.dims);
    const size_t bytes = c.bytes ? c.bytes->size() : 0;
    if (bytes <= kMaxBytesCompared && bytes != 0) add(c.bytes->data(), bytes);
  }
  template <class T>
  void add(const std::vector<T>& all) {
    add(uint64_t(all.size()));
    for (const T& each : all) add(each);
  }
  void add(const std::shared_ptr<graph::Graph>& body) {
    if (body) add(*body);
  }
  void add(const graph::Graph& graph) {
    add(graph.inputs), add(graph.outputs);
    for (const graph::Node& node : graph.nodes) {
      add(text(node.op)), add(node.inputs), add(node.outputs);
      for (const auto& [key, value] : node.attributes) {
        add(text(key));
        std::visit([&](const auto& each) { add(each); }, value);
      }
    }
  }

  std::map<std::string, graph::Dim> at_least_1_;  // as which dims with a 0 are compared
  uint64_t hash_ = 1469598103934665603u;
};

}  // namespace

Program allow_empty(const ImportOptions& options, bool bounded,
                    const std::function<Program(const ImportOptions&)>& import) {
  constexpr size_t kMaxTriedAlone = 6;
  Program made = import(options);
  std::set<std::string> open, may_be_empty;
  for (const auto& [name, bounds] : made.model.symbols)
    if (bounds.low == 1 && (bounded || bounds.high == 0) && !options.dims.count(name) &&
        !made.model.data_dependent.count(name))
      open.insert(name);
  if (open.empty()) return made;
  const uint64_t expected = Fingerprint(made.model).number();
  made = {};  // one model at a time: each has the weights
  const auto with = [&](const std::set<std::string>& names) -> std::optional<Program> {
    try {
      ImportOptions empty = options;
      empty.may_be_empty = names;
      Program again = import(empty);
      if (Fingerprint(again.model).number() == expected) return again;
    } catch (const graph::ConversionError&) {  // then they are at least 1
    }
    return std::nullopt;
  };
  if (auto all = with(open)) return std::move(*all);
  if (open.size() > 1 && open.size() <= kMaxTriedAlone)
    for (const std::string& name : open)
      if (with({name})) may_be_empty.insert(name);
  if (!may_be_empty.empty())
    if (auto some = with(may_be_empty)) return std::move(*some);
  return import(options);
}

}  // namespace ingot::importer
