// SPDX-License-Identifier: Apache-2.0
// tools/compile/program/lowered_data_dependent.cpp - dims that an instruction resolves.
#include <algorithm>

#include "tools/compile/program/lowered_program.h"
#include "tools/graph/data_dependent.h"

namespace ingot::convert {
std::vector<int32_t> resolvers_of(const LoweredProgram& lowered,
                                  const LoweredInstruction& instruction) {
  if (lowered.data_dependent.empty()) return {};
  graph::Resolvers<LoweredProgram> all(lowered);
  for (const std::vector<int32_t>* ids : {&instruction.inputs, &instruction.outputs})
    for (const int32_t id : *ids)
      if (id >= 0)
        for (const SymbolicDim& dim : lowered.at(id).dims) all.add(dim);
  for (const SymbolicDim& dim : instruction.extents) all.add(dim);
  std::vector<int32_t> others;
  const std::vector<int32_t>& own = instruction.outputs;
  for (const int32_t id : all.by())
    if (std::find(own.begin(), own.end(), id) == own.end()) others.push_back(id);
  return others;
}

bool is_data_dependent(const LoweredProgram& lowered, int32_t value) {
  graph::Resolvers<LoweredProgram> all(lowered);
  if (!lowered.data_dependent.empty())
    for (const SymbolicDim& dim : lowered.at(value).dims) all.add(dim);
  return !all.by().empty();
}

void bind_data_dependent(const LoweredProgram& lowered, Bindings* bindings) {
  for (const auto& [name, symbol] : lowered.data_dependent) bindings->erase(name);
  // Each waits for the symbols of its bound; what waits for itself is never bound.
  std::map<std::string, size_t> missing;
  std::map<std::string, std::vector<std::string>> waiting;
  std::vector<std::string> ready;
  for (const auto& [name, symbol] : lowered.data_dependent) {
    for (const std::string& each : symbol.bound.symbols())
      if (!bindings->count(each)) missing[name]++, waiting[each].push_back(name);
    if (!missing.count(name)) ready.push_back(name);
  }
  while (!ready.empty()) {
    const std::string name = std::move(ready.back());
    ready.pop_back();
    (*bindings)[name] = lowered.data_dependent.at(name).bound.evaluate(*bindings);
    for (const std::string& next : waiting[name])
      if (--missing.at(next) == 0) ready.push_back(next);
  }
}

}  // namespace ingot::convert
