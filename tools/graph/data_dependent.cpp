// SPDX-License-Identifier: Apache-2.0
// tools/graph/data_dependent.cpp - see data_dependent.h.
#include "tools/graph/data_dependent.h"

#include <algorithm>

namespace ingot::graph {
std::vector<ValueId> resolvers_of(const Model& model, const Node& node) {
  if (model.data_dependent.empty()) return {};
  Resolvers<Model> all(model);
  const auto value = [&](ValueId id) {
    if (id < 0 || model.constant(id)) return;
    for (const Dim& dim : model.values[size_t(id)].dims) all.add(dim);
  };
  for (const ValueId id : node.inputs) value(id);
  for (const ValueId id : node.outputs) value(id);
  for (const auto& [key, attribute] : node.attributes)
    if (const auto* dims = std::get_if<Dims>(&attribute))
      for (const Dim& dim : *dims) all.add(dim);
  std::vector<ValueId> others;
  for (const ValueId id : all.by())
    if (std::find(node.outputs.begin(), node.outputs.end(), id) == node.outputs.end())
      others.push_back(id);
  return others;
}

bool is_data_dependent(const Model& model, const Dim& dim) {
  if (dim.is_static() || model.data_dependent.empty()) return false;
  const std::vector<std::string> names = dim.symbols();
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return model.data_dependent.count(name) != 0;
  });
}
bool is_data_dependent(const Model& model, const Dims& dims) {
  return std::any_of(dims.begin(), dims.end(),
                     [&](const Dim& dim) { return is_data_dependent(model, dim); });
}

}  // namespace ingot::graph
