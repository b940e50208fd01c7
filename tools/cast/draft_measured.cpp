// tools/cast/draft_measured.cpp - dims that an instruction measures.
#include <algorithm>

#include "tools/cast/draft.h"

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
  for (size_t bound = 0; bound < draft.measured.size(); bound++)  // each round binds one at least
    for (const auto& [name, symbol] : draft.measured) {
      const std::vector<std::string> needed = symbol.bound.symbols();
      const bool is_known = std::all_of(needed.begin(), needed.end(),
                                        [&](const std::string& each) { return bindings->count(each) != 0; });
      if (is_known) (*bindings)[name] = symbol.bound.evaluate(*bindings);
    }
}

}  // namespace ingot::cast
