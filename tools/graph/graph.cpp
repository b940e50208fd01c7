// tools/graph/graph.cpp - the small change of the graph: attribute access, values, constants.
#include "tools/graph/graph.h"

#include <algorithm>
#include <cstring>

#include "tools/files/large_blocks.h"
#include "tools/files/work_budget.h"

namespace ingot::graph {

int64_t Constant::elements() const {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

Constant make_constant(DType dtype, std::vector<int64_t> dims, const void* data) {
  Constant constant;
  constant.dtype = dtype;
  constant.dims = std::move(dims);
  const size_t size = size_t(constant.elements()) * size_t(dtype_bytes(dtype));
  if (size == 0) return constant;
  host::charge_memory(size);
  auto bytes = std::make_shared<std::vector<uint8_t>>();
  bytes->reserve(size);
  host::append_weights(*bytes, static_cast<const uint8_t*>(data), size);
  constant.bytes = std::move(bytes);
  return constant;
}

int64_t Node::integer(const std::string& key, int64_t otherwise) const {
  const auto found = attributes.find(key);
  const int64_t* value = found == attributes.end() ? nullptr : std::get_if<int64_t>(&found->second);
  return value ? *value : otherwise;
}
double Node::number(const std::string& key, double otherwise) const {
  const auto found = attributes.find(key);
  if (found == attributes.end()) return otherwise;
  if (const double* value = std::get_if<double>(&found->second)) return *value;
  const int64_t* whole = std::get_if<int64_t>(&found->second);
  return whole ? double(*whole) : otherwise;
}
std::string Node::text(const std::string& key, const std::string& otherwise) const {
  const auto found = attributes.find(key);
  const std::string* value =
      found == attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  return value ? *value : otherwise;
}
std::vector<int64_t> Node::integers(const std::string& key) const {
  const auto found = attributes.find(key);
  const auto* value =
      found == attributes.end() ? nullptr : std::get_if<std::vector<int64_t>>(&found->second);
  return value ? *value : std::vector<int64_t>();
}
std::vector<double> Node::numbers(const std::string& key) const {
  const auto found = attributes.find(key);
  const auto* value =
      found == attributes.end() ? nullptr : std::get_if<std::vector<double>>(&found->second);
  return value ? *value : std::vector<double>();
}
Dims Node::dims(const std::string& key) const {
  const auto found = attributes.find(key);
  const Dims* value = found == attributes.end() ? nullptr : std::get_if<Dims>(&found->second);
  return value ? *value : Dims();
}
std::shared_ptr<Graph> Node::subgraph(const std::string& key) const {
  const auto found = attributes.find(key);
  const auto* value =
      found == attributes.end() ? nullptr : std::get_if<std::shared_ptr<Graph>>(&found->second);
  return value ? *value : nullptr;
}

std::vector<std::shared_ptr<Graph>> Node::subgraphs() const {
  std::vector<std::shared_ptr<Graph>> found;
  for (const auto& [key, attribute] : attributes)
    if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&attribute); inner && *inner)
      found.push_back(*inner);
  return found;
}

void Graph::compact() {
  nodes.erase(
      std::remove_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.dead; }),
      nodes.end());
  for (Node& node : nodes) {
    for (auto& [key, attribute] : node.attributes) {
      if (auto* branch = std::get_if<std::shared_ptr<Graph>>(&attribute); branch && *branch)
        (*branch)->compact();
    }
  }
}

ValueId Model::add_value(const std::string& value_name, DType dtype) {
  Value value;
  value.name = value_name;
  value.dtype = dtype;
  values.push_back(std::move(value));
  return ValueId(values.size() - 1);
}
ValueId Model::add_constant(const std::string& value_name, Constant constant) {
  const ValueId id = add_value(value_name, constant.dtype);
  Value& value = values[size_t(id)];
  value.shape_known = true;
  value.dims.assign(constant.dims.begin(), constant.dims.end());
  value.constant = std::make_shared<const Constant>(std::move(constant));
  return id;
}

void fail_conversion(int exit_code, const std::string& message) {
  throw ConversionError{exit_code, message, {}};
}

}  // namespace ingot::graph
