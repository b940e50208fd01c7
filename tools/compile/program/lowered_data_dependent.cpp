// tools/compile/program/lowered_data_dependent.cpp - dims that an instruction resolves.
#include <algorithm>

#include "tools/compile/program/lowered_program.h"

namespace ingot::convert {
namespace {

void gather(const LoweredProgram& lowered, const SymbolicDim& dim, std::vector<int32_t>* out) {
  if (dim.is_static()) return;
  for (const std::string& name : dim.symbols()) {
    const auto found = lowered.data_dependent.find(name);
    if (found == lowered.data_dependent.end()) continue;
    out->push_back(found->second.by);
    gather(lowered, found->second.bound, out);
  }
}

void gather_value(const LoweredProgram& lowered, int32_t id, std::vector<int32_t>* out) {
  for (const SymbolicDim& dim : lowered.at(id).dims) gather(lowered, dim, out);
}

}  // namespace

std::vector<int32_t> resolvers_of(const LoweredProgram& lowered,
                                  const LoweredInstruction& instruction) {
  std::vector<int32_t> all;
  if (lowered.data_dependent.empty()) return all;
  for (const int32_t id : instruction.inputs)
    if (id >= 0) gather_value(lowered, id, &all);
  for (const int32_t id : instruction.outputs)
    if (id >= 0) gather_value(lowered, id, &all);
  for (const SymbolicDim& dim : instruction.extents) gather(lowered, dim, &all);
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](int32_t id) {
                             const auto& own = instruction.outputs;
                             return std::find(own.begin(), own.end(), id) != own.end();
                           }),
            all.end());
  return all;
}

bool is_data_dependent(const LoweredProgram& lowered, int32_t value) {
  std::vector<int32_t> all;
  if (!lowered.data_dependent.empty()) gather_value(lowered, value, &all);
  return !all.empty();
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
