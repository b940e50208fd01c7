// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_custom.cpp - operators of other namespaces that a plugin has: tensors are
// inputs in their order, everything else is an attribute of its argument's name.
#include "tools/import/aten/lower_custom.h"

#include <algorithm>
#include <map>
#include <optional>

#include "tools/graph/custom_node.h"
#include "tools/plugins/plugins.h"

namespace ingot::aten {
namespace {

using Kind = Value::Kind;
using Attributes = graph::Attributes;

/// The namespace and the name of "space::name"; nothing of PyTorch's own.
std::optional<std::pair<std::string, std::string>> parts_of(const std::string& name) {
  const size_t colons = name.find("::");
  if (colons == std::string::npos || name.compare(0, colons, "aten") == 0) return std::nullopt;
  return std::pair(name.substr(0, colons), name.substr(colons + 2));
}

int64_t number_of(const Value& value, const std::string& argument) {
  if (value.is(Kind::kBool)) return value.truth;
  if (!value.integer.is_static())
    throw Refused{argument, "follows from a dynamic dimension: " + value.integer.text(),
                  "fix it with --dim"};
  return *value.integer.value();
}

bool is_whole(const Value& value) { return value.is(Kind::kInt) || value.is(Kind::kBool); }

/// A list of numbers: of integers where all are.
graph::Attribute numbers_of(const std::vector<Value>& items, const std::string& argument) {
  std::vector<int64_t> integers;
  std::vector<double> numbers;
  for (const Value& item : items) {
    if (!is_whole(item) && !item.is(Kind::kFloat))
      throw Refused{argument, "is a list with " + item.describe() + ", which plugins are not given",
                    ""};
    if (is_whole(item)) integers.push_back(number_of(item, argument));
    numbers.push_back(is_whole(item) ? double(integers.back()) : item.number);
  }
  if (integers.size() == items.size()) return integers;
  return numbers;
}

class Arguments {
 public:
  explicit Arguments(Builder& b) : b_(b) {}
  std::vector<ValueId> inputs;
  std::map<std::string, graph::Attribute> custom;

  void add(const std::string& name, const Value& value) {
    switch (value.kind) {
      case Kind::kTensor: return inputs.push_back(b_.read(value.tensor));
      case Kind::kNone: return inputs.push_back(graph::kAbsent);
      case Kind::kInt:
      case Kind::kBool: custom[name] = number_of(value, name); return;
      case Kind::kFloat: custom[name] = value.number; return;
      case Kind::kString: custom[name] = value.text; return;
      case Kind::kList:
      case Kind::kTuple: return add_list(name, *value.items);
      case Kind::kUnknown:
      case Kind::kForeign: break;
    }
    throw Refused{name, "is " + value.describe() + ", which plugins are not given", ""};
  }

 private:
  void add_list(const std::string& name, const std::vector<Value>& items) {
    const bool tensors = !items.empty() && items[0].is(Kind::kTensor);
    if (!tensors) return void(custom[name] = numbers_of(items, name));
    for (const Value& item : items) {
      if (!item.is(Kind::kTensor))
        throw Refused{name, "is a list of tensors and of " + item.describe(), ""};
      inputs.push_back(b_.read(item.tensor));
    }
  }

  Builder& b_;
};

}  // namespace

bool has_plugin(const std::string& name) {
  const auto parts = parts_of(name);
  return parts && plugins::find(parts->first, parts->second);
}

Results lower_custom(Builder& b, const Call& call) {
  const auto parts = parts_of(call.name);
  Arguments arguments(b);
  for (size_t i = 0; i < call.positional.size(); i++)
    arguments.add("arg" + std::to_string(i), call.positional[i]);
  for (const auto& [name, value] : call.keywords) arguments.add(name, value);
  while (!arguments.inputs.empty() && arguments.inputs.back() == graph::kAbsent)
    arguments.inputs.pop_back();
  const size_t outputs = std::max<size_t>(1, call.outputs.size());
  Results results;
  graph::Node node;
  node.op = op::Custom;
  node.inputs = arguments.inputs;
  node.attributes = {{attr::domain, parts->first}, {attr::operator_name, parts->second}};
  node.custom = std::move(arguments.custom);
  for (const ValueId id : b.emit_node(std::move(node), outputs))
    results.push_back(Value::of(b.own(id)));
  return results;
}

}  // namespace ingot::aten
