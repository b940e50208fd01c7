// SPDX-License-Identifier: Apache-2.0
// tests/support/graph_text.h - a graph as text: equal for two programs that compute the same in the
// same way. Names are left out.
#pragma once
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::test {

class GraphText {
 public:
  explicit GraphText(const graph::Model& model) : model_(model) {}

  std::string whole() const { return text(model_.graph); }

  static std::string text(int64_t x) { return std::to_string(x); }
  static std::string text(double x) {
    std::ostringstream out;
    out.precision(17);
    out << x;
    return out.str();
  }
  static std::string text(const std::string& x) { return x; }
  template <class T>
  static std::string text(const std::vector<T>& all) {
    std::string out = "[";
    for (const T& x : all) out += text(x) + ",";
    return out + "]";
  }
  static std::string text(const graph::Dims& dims) { return graph::text(dims); }
  /// Type, dims and a hash of the bytes.
  static std::string text(const graph::Constant& constant) {
    uint64_t hash = 14695981039346656037u;
    const uint8_t* const bytes = constant.as<uint8_t>();
    const size_t count = size_t(constant.elements()) * size_t(dtype_bytes(constant.dtype));
    for (size_t i = 0; i < count; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
    return "c" + std::to_string(int(constant.dtype)) + text(constant.dims) + std::to_string(hash);
  }
  std::string text(const graph::Node& node) const {
    std::string out;
    for (const graph::ValueId id : node.outputs) out += value(id) + " ";
    out += "= " + graph::text(node.op) + "{";
    for (const auto& [key, attribute] : node.attributes)
      out += graph::text(key) + "=" +
             std::visit(
                 [&](const auto& x) -> std::string {
                   if constexpr (std::is_same_v<std::decay_t<decltype(x)>,
                                                std::shared_ptr<graph::Graph>>)
                     return "(" + text(*x) + ")";
                   else
                     return text(x);
                 },
                 attribute) +
             " ";
    out += "}(";
    for (const graph::ValueId id : node.inputs) out += value(id) + ", ";
    return out + ")\n";
  }

 private:
  std::string value(graph::ValueId id) const {
    if (id == graph::kAbsent) return "-";
    const graph::Value& v = model_.values[size_t(id)];
    if (v.constant) return text(*v.constant);
    return "%" + std::to_string(id) + graph::text(v.dims) + std::to_string(int(v.dtype));
  }
  std::string text(const graph::Graph& graph) const {
    std::string out = "in";
    for (const graph::ValueId id : graph.inputs) out += " " + value(id);
    out += "\n";
    for (const graph::Node& node : graph.nodes)
      if (!node.dead) out += text(node);
    out += "out";
    for (const graph::ValueId id : graph.outputs) out += " " + value(id);
    return out;
  }

  const graph::Model& model_;
};

}  // namespace ingot::test
