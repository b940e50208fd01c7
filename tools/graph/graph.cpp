// SPDX-License-Identifier: Apache-2.0
// tools/graph/graph.cpp - the small change of the graph: attribute access, values, constants.
#include "tools/graph/graph.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "tools/files/spill_file.h"
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

namespace {

template <class T>
T value_or(const Node& node, AttributeName key, T otherwise) {
  const T* value = node.find<T>(key);
  return value ? *value : otherwise;
}

}  // namespace

int64_t Node::integer(AttributeName key, int64_t otherwise) const {
  return value_or(*this, key, otherwise);
}
std::string Node::text(AttributeName key, const std::string& otherwise) const {
  return value_or(*this, key, otherwise);
}
std::vector<int64_t> Node::integers(AttributeName key) const {
  return value_or(*this, key, std::vector<int64_t>());
}
std::vector<double> Node::numbers(AttributeName key) const {
  return value_or(*this, key, std::vector<double>());
}
Dims Node::dims(AttributeName key) const { return value_or(*this, key, Dims()); }
std::shared_ptr<Graph> Node::subgraph(AttributeName key) const {
  return value_or(*this, key, std::shared_ptr<Graph>());
}
double Node::number(AttributeName key, double otherwise) const {
  if (const double* value = find<double>(key)) return *value;
  const int64_t* whole = find<int64_t>(key);
  return whole ? double(*whole) : otherwise;
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

bool Graph::has_integers() const {
  return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
    const auto inner = node.subgraphs();
    return is_of_integers(node.op) ||
           std::any_of(inner.begin(), inner.end(), [](const auto& g) { return g->has_integers(); });
  });
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

void ConversionError::add_place(const std::string& name) {
  if (begin.compare(0, name.size(), name) == 0) return;
  begin = name;
  message = name + ": " + message;
}

using host::Exit;
using Words = const std::string&;

void fail_conversion(Exit exit_code, Words begin, Words why) {
  throw ConversionError{exit_code, why.empty() ? begin : begin + ": " + why, {}, begin};
}
void fail_usage(Words begin, Words why) { fail_conversion(Exit::kUsage, begin, why); }
void fail_corrupt(Words begin, Words why) { fail_conversion(Exit::kCorrupt, begin, why); }
void fail_unsafe(Words begin, Words why) { fail_conversion(Exit::kUnsafe, begin, why); }
void fail_unsupported(Words begin, Words why) { fail_conversion(Exit::kUnsupported, begin, why); }
void fail_mismatch(Words begin, Words why) { fail_conversion(Exit::kMismatch, begin, why); }
void fail_unavailable(Words begin, Words why) { fail_conversion(Exit::kUnavailable, begin, why); }
void fail_internal(Words begin, Words why) { fail_conversion(Exit::kInternal, begin, why); }

ConversionError refusal(const std::string& place, const std::vector<Unsupported>& unsupported) {
  std::vector<Unsupported> all;
  std::set<std::string> seen;  // a file may have as many as it has nodes
  for (const Unsupported& u : unsupported) {
    std::string key;
    for (const std::string* part : {&u.op, &u.attribute, &u.node, &u.output, &u.why, &u.hint})
      key += *part + '\0';
    if (seen.insert(std::move(key)).second) all.push_back(u);
  }
  const Unsupported& u = all.at(0);
  const std::string first = u.op + (u.attribute.empty() ? "" : " " + u.attribute) +
                            (!u.node.empty()     ? " '" + u.node + "'"
                             : !u.output.empty() ? " (output '" + u.output + "')"
                                                 : "");
  const size_t count = all.size();
  ConversionError error{
      Exit::kUnsupported,
      count == 1 ? "1 thing is not supported: " + first + ": " + u.why
                 : std::to_string(count) + " things are not supported, " + first + " first:",
      std::move(all)};
  if (count == 1) error.says = Says::kWhy;
  error.add_place(place);
  return error;
}

}  // namespace ingot::graph
