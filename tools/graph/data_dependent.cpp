// tools/graph/data_dependent.cpp - see data_dependent.h.
#include "tools/graph/data_dependent.h"

#include <algorithm>

namespace ingot::graph {
namespace {

void gather(const Model& model, const Dim& dim, std::vector<ValueId>* out) {
  if (dim.is_static()) return;
  for (const std::string& name : dim.symbols()) {
    const auto found = model.data_dependent.find(name);
    if (found == model.data_dependent.end()) continue;
    out->push_back(found->second.by);
    gather(model, found->second.bound, out);
  }
}

}  // namespace

std::vector<ValueId> resolvers_of(const Model& model, const Node& node) {
  std::vector<ValueId> all;
  if (model.data_dependent.empty()) return all;
  const auto value = [&](ValueId id) {
    if (id < 0 || model.constant(id)) return;
    for (const Dim& dim : model.values[size_t(id)].dims) gather(model, dim, &all);
  };
  for (const ValueId id : node.inputs) value(id);
  for (const ValueId id : node.outputs) value(id);
  for (const auto& [key, attribute] : node.attributes)
    if (const auto* dims = std::get_if<Dims>(&attribute))
      for (const Dim& dim : *dims) gather(model, dim, &all);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](ValueId id) {
                             return std::find(node.outputs.begin(), node.outputs.end(), id) !=
                                    node.outputs.end();
                           }),
            all.end());
  return all;
}

bool is_data_dependent(const Model& model, const Dim& dim) {
  std::vector<ValueId> all;
  gather(model, dim, &all);
  return !all.empty();
}
bool is_data_dependent(const Model& model, const Dims& dims) {
  return std::any_of(dims.begin(), dims.end(),
                     [&](const Dim& dim) { return is_data_dependent(model, dim); });
}

}  // namespace ingot::graph
