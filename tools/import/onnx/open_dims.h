// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/open_dims.h - what is found out about dynamic dimensions by importing again:
// which may be 0, and which only share a name.
#pragma once
#include <functional>
#include <optional>
#include <set>

#include "tools/import/onnx/import.h"
#include "tools/import/onnx/wire.h"

namespace ingot::onnx {

/// No name, or what exporters without names write: twice it is not the same twice.
inline bool is_anonymous(std::string_view symbol) {
  return symbol.empty() || symbol == "?" || symbol == "None";
}

/// The options with dimensions of `apart` named for themselves in all inputs but the first that
/// declares them; `notes` says which.
inline ImportOptions part_dims(const Graph& source, const std::set<std::string>& apart,
                               ImportOptions options, std::vector<std::string>* notes) {
  std::map<std::string, std::string> first;
  for (const ValueInfo& info : source.inputs) {
    const std::string input(info.name);
    graph::Dims dims;
    bool differs = false;
    for (size_t i = 0; i < info.dims.size(); i++) {
      const Dimension& d = info.dims[i];
      const std::string symbol(d.symbol);
      if (d.has_value && d.value >= 0 && symbol.empty()) {
        dims.push_back(graph::Dim(d.value));
      } else if (is_anonymous(symbol)) {
        dims.push_back(graph::Dim::symbol(input + "_dim" + std::to_string(i)));
      } else if (apart.count(symbol) && first.emplace(symbol, input).first->second != input) {
        const std::string own = input + "_" + symbol;
        dims.push_back(graph::Dim::symbol(own));
        differs = true;
        notes->push_back("inputs '" + first[symbol] + "' and '" + input + "' name a dimension '" +
                         symbol + "' that differs; that of '" + input + "' is '" + own +
                         "' (--input-shape gives dimensions names, equal ones to tie them)");
      } else {
        dims.push_back(graph::Dim::symbol(symbol));
      }
    }
    if (differs && !options.input_shapes.count(input)) options.input_shapes[input] = dims;
  }
  return options;
}

/// Of nodes, shapes and small constants; bounds of symbols and notes left out.
class Fingerprint {
 public:
  explicit Fingerprint(const graph::Model& model) {
    for (const graph::Value& v : model.values) {
      add(v.name), add(uint64_t(v.dtype)), add(v.shape_known ? graph::text(v.dims) : "?");
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
  void add(const graph::Dim& dim) { add(dim.text()); }
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

  uint64_t hash_ = 1469598103934665603u;
};

/// The model again with dynamic dimensions that may be 0, those of them that change no node and no
/// shape of it; the others stay at least 1. `import` makes it with the names of such dimensions.
inline graph::Model allow_empty(
    const ImportOptions& options,
    const std::function<graph::Model(const std::set<std::string>&)>& import) {
  constexpr size_t kMaxTriedAlone = 6;
  graph::Model model = import({});
  std::set<std::string> open, may_be_empty;
  for (const auto& [name, bounds] : model.symbols)
    if (bounds.low == 1 && bounds.high == 0 && !options.dims.count(name) &&
        !model.data_dependent.count(name))
      open.insert(name);
  if (open.empty()) return model;
  const uint64_t expected = Fingerprint(model).number();
  model = {};  // one model at a time: each has the weights
  const auto with = [&](const std::set<std::string>& names) -> std::optional<graph::Model> {
    try {
      graph::Model made = import(names);
      if (Fingerprint(made).number() == expected) return made;
    } catch (const graph::ConversionError&) {  // then they are at least 1
    }
    return std::nullopt;
  };
  if (auto made = with(open)) return std::move(*made);
  if (open.size() > 1 && open.size() <= kMaxTriedAlone)
    for (const std::string& name : open)
      if (with({name})) may_be_empty.insert(name);
  if (!may_be_empty.empty())
    if (auto made = with(may_be_empty)) return std::move(*made);
  return import({});
}

}  // namespace ingot::onnx
