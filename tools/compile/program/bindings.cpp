// SPDX-License-Identifier: Apache-2.0
// tools/compile/program/bindings.cpp - extents of symbolic dims under which a program is tried and
// for which choices are made.
#include <algorithm>
#include <iterator>
#include <set>

#include "tools/compile/program/lowered_program.h"

namespace ingot::convert {
namespace {

constexpr int64_t kImageExtent = 320;  // a multiple of 64, as strided networks want
constexpr int64_t kSequenceExtent = 64;
constexpr size_t kMaxCombinations = 2000;
constexpr size_t kMaxDoubled = 16;                     // symbols that a trial of its own doubles
constexpr uint64_t kMaxContracts = uint64_t{1} << 21;  // asked in search of extents
/// What networks are made for: heights of text lines, crops, windows of samples.
constexpr int64_t kUsualExtents[] = {48, 32, 64, 128, 224, 256, 320, 512, 640,  16,   80,   96,
                                     8,  1,  2,  3,   4,   160, 384, 576, 1024, 4096, 16000};

struct Symbol {
  std::string name;
  std::vector<int64_t> candidates;
};

int64_t clamp_to(const LoweredProgram& lowered, const std::string& name, int64_t extent) {
  const auto found = lowered.symbols.find(name);
  if (found == lowered.symbols.end()) return extent;
  if (found->second.high > 0) extent = std::min(extent, found->second.high);
  return std::max(extent, found->second.low);
}

void add_symbol(const LoweredProgram& lowered, const std::string& name, int64_t usual,
                std::set<std::string>* known, std::vector<Symbol>* symbols) {
  if (lowered.data_dependent.count(name)) return;  // bound by bind_data_dependent()
  if (!known->insert(name).second) return;
  Symbol symbol{name, {clamp_to(lowered, name, usual)}};
  for (const int64_t extent : kUsualExtents) {
    const int64_t n = clamp_to(lowered, name, extent);
    if (std::find(symbol.candidates.begin(), symbol.candidates.end(), n) == symbol.candidates.end())
      symbol.candidates.push_back(n);
  }
  symbols->push_back(std::move(symbol));
}

/// In the order of the ports that mention them.
std::vector<Symbol> symbols_of(const LoweredProgram& lowered) {
  std::vector<Symbol> symbols;
  std::set<std::string> known;
  for (const PortSpec& port : lowered.inputs) {
    const Dims& dims = lowered.at(port.value).dims;
    for (size_t i = 0; i < dims.size(); i++)
      for (const std::string& name : dims[i].symbols())
        add_symbol(lowered, name,
                   i == 0             ? 1
                   : dims.size() >= 4 ? kImageExtent
                                      : kSequenceExtent,
                   &known, &symbols);
  }
  for (const LoweredValue& value : lowered.values)
    for (const SymbolicDim& dim : value.dims)
      for (const std::string& name : dim.symbols())
        add_symbol(lowered, name, kSequenceExtent, &known, &symbols);
  return symbols;
}

Bindings first_candidates(const LoweredProgram& lowered, const std::vector<Symbol>& symbols) {
  Bindings bindings;
  for (const Symbol& symbol : symbols) bindings[symbol.name] = symbol.candidates[0];
  bind_data_dependent(lowered, &bindings);
  return bindings;
}

/// Counts through the candidates, the last symbol fastest.
bool find_typical(const LoweredProgram& lowered, const std::vector<Symbol>& symbols,
                  Bindings* typical) {
  std::vector<size_t> at(symbols.size(), 0);
  Place refuses;  // most combinations fail where the one before failed
  uint64_t contracts = 0;
  for (size_t tries = 0; tries < kMaxCombinations && contracts < kMaxContracts; tries++) {
    for (size_t i = 0; i < symbols.size(); i++)
      (*typical)[symbols[i].name] = symbols[i].candidates[at[i]];
    bind_data_dependent(lowered, typical);
    if (contracts_hold(lowered, *typical, &refuses, &contracts)) return true;
    size_t i = symbols.size();
    while (i > 0 && ++at[i - 1] == symbols[i - 1].candidates.size()) at[--i] = 0;
    if (i == 0) break;
  }
  *typical = first_candidates(lowered, symbols);
  return false;
}

}  // namespace

bool choose_trials(LoweredProgram* lowered) {
  const std::vector<Symbol> symbols = symbols_of(*lowered);
  Bindings typical;
  const bool found = find_typical(*lowered, symbols, &typical);
  lowered->trials = {typical};
  // without symbols check_lowered() says what is wrong
  lowered->has_sound_extents = found || symbols.empty();
  if (symbols.empty() || !found) return lowered->has_sound_extents;
  const auto add = [&](Bindings bindings) {
    bind_data_dependent(*lowered, &bindings);
    auto& trials = lowered->trials;
    if (std::find(trials.begin(), trials.end(), bindings) == trials.end() &&
        contracts_hold(*lowered, bindings))
      trials.push_back(bindings);
  };
  Bindings low = typical, high = typical;
  size_t doubled = 0;
  for (const auto& [name, extent] : typical) {
    if (lowered->data_dependent.count(name)) continue;
    if (doubled++ < kMaxDoubled) {
      Bindings twice = typical;
      twice[name] = clamp_to(*lowered, name, extent * 2);
      add(twice);
    }
    const auto bounds = lowered->symbols.find(name);
    if (bounds == lowered->symbols.end()) continue;
    if (bounds->second.high > 0) high[name] = bounds->second.high;
    if (bounds->second.high > 0 || bounds->second.low > 1) low[name] = bounds->second.low;
  }
  add(low);
  add(high);
  // Choices must hold for every binding, and typical extents are often 1 or equal: all at their
  // least, and all different and odd, in either order.
  constexpr int64_t kDifferent[] = {3, 5, 7, 11, 13, 17};
  Bindings least = typical, up = typical, down = typical;
  size_t at = 0;
  for (const Symbol& symbol : symbols) {
    least[symbol.name] = clamp_to(*lowered, symbol.name, 1);
    up[symbol.name] = clamp_to(*lowered, symbol.name, kDifferent[at % std::size(kDifferent)]);
    down[symbol.name] = clamp_to(
        *lowered, symbol.name, kDifferent[std::size(kDifferent) - 1 - at % std::size(kDifferent)]);
    at++;
  }
  for (const Bindings& bindings : {least, up, down}) add(bindings);
  return found;
}

std::vector<Bindings> trial_bindings(const LoweredProgram& lowered) {
  return lowered.trials.empty()
             ? std::vector<Bindings>{first_candidates(lowered, symbols_of(lowered))}
             : lowered.trials;
}

}  // namespace ingot::convert
