// tools/compile/program/draft_data_dependent.cpp - dims that an instruction measures.
#include <algorithm>

#include "tools/compile/program/draft.h"

namespace ingot::cast {
namespace {

void gather(const Draft& draft, const SymbolicDim& dim, std::vector<int32_t>* out) {
  if (dim.is_static()) return;
  for (const std::string& name : dim.symbols()) {
    const auto found = draft.measured.find(name);
    if (found == draft.measured.end()) continue;
    out->push_back(found->second.by);
    gather(draft, found->second.bound, out);
  }
}

void gather_value(const Draft& draft, int32_t id, std::vector<int32_t>* out) {
  for (const SymbolicDim& dim : draft.at(id).dims) gather(draft, dim, out);
}

}  // namespace

std::vector<int32_t> measures_of(const Draft& draft, const DraftInstruction& instruction) {
  std::vector<int32_t> all;
  if (draft.measured.empty()) return all;
  for (const int32_t id : instruction.inputs)
    if (id >= 0) gather_value(draft, id, &all);
  for (const int32_t id : instruction.outputs)
    if (id >= 0) gather_value(draft, id, &all);
  for (const SymbolicDim& dim : instruction.extents) gather(draft, dim, &all);
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](int32_t id) {
                             const auto& own = instruction.outputs;
                             return std::find(own.begin(), own.end(), id) != own.end();
                           }),
            all.end());
  return all;
}

bool is_measured(const Draft& draft, int32_t value) {
  std::vector<int32_t> all;
  if (!draft.measured.empty()) gather_value(draft, value, &all);
  return !all.empty();
}

void bind_measured(const Draft& draft, Bindings* bindings) {
  for (const auto& [name, symbol] : draft.measured) bindings->erase(name);
  // Each waits for the symbols of its bound; what waits for itself is never bound.
  std::map<std::string, size_t> missing;
  std::map<std::string, std::vector<std::string>> waiting;
  std::vector<std::string> ready;
  for (const auto& [name, symbol] : draft.measured) {
    for (const std::string& each : symbol.bound.symbols())
      if (!bindings->count(each)) missing[name]++, waiting[each].push_back(name);
    if (!missing.count(name)) ready.push_back(name);
  }
  while (!ready.empty()) {
    const std::string name = std::move(ready.back());
    ready.pop_back();
    (*bindings)[name] = draft.measured.at(name).bound.evaluate(*bindings);
    for (const std::string& next : waiting[name])
      if (--missing.at(next) == 0) ready.push_back(next);
  }
}

}  // namespace ingot::cast
