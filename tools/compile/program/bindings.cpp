// tools/compile/program/bindings.cpp - extents of symbolic dims under which a draft is tried and
// for which choices are made.
#include <algorithm>
#include <iterator>
#include <set>

#include "tools/compile/program/draft.h"

namespace ingot::cast {
namespace {

constexpr int64_t kPictureExtent = 320;  // a multiple of 64, as strided networks want
constexpr int64_t kSequenceExtent = 64;
constexpr size_t kMostCombinations = 2000;
constexpr size_t kMostDoubled = 16;                     // symbols that a trial of its own doubles
constexpr uint64_t kMostContracts = uint64_t{1} << 21;  // asked in search of extents
/// What networks are made for: heights of text lines, crops, windows of samples.
constexpr int64_t kUsualExtents[] = {48, 32, 64, 128, 224, 256, 320, 512, 640,  16,   80,   96,
                                     8,  1,  2,  3,   4,   160, 384, 576, 1024, 4096, 16000};

struct Symbol {
  std::string name;
  std::vector<int64_t> candidates;
};

int64_t clamp_to(const Draft& draft, const std::string& name, int64_t extent) {
  const auto found = draft.symbols.find(name);
  if (found == draft.symbols.end()) return extent;
  if (found->second.high > 0) extent = std::min(extent, found->second.high);
  return std::max(extent, found->second.low);
}

void add_symbol(const Draft& draft, const std::string& name, int64_t usual,
                std::set<std::string>* known, std::vector<Symbol>* symbols) {
  if (draft.measured.count(name)) return;  // bound by bind_measured()
  if (!known->insert(name).second) return;
  Symbol symbol{name, {clamp_to(draft, name, usual)}};
  for (const int64_t extent : kUsualExtents) {
    const int64_t n = clamp_to(draft, name, extent);
    if (std::find(symbol.candidates.begin(), symbol.candidates.end(), n) == symbol.candidates.end())
      symbol.candidates.push_back(n);
  }
  symbols->push_back(std::move(symbol));
}

/// In the order of the ports that mention them.
std::vector<Symbol> symbols_of(const Draft& draft) {
  std::vector<Symbol> symbols;
  std::set<std::string> known;
  for (const PortSpec& port : draft.inputs) {
    const Dims& dims = draft.at(port.value).dims;
    for (size_t i = 0; i < dims.size(); i++)
      for (const std::string& name : dims[i].symbols())
        add_symbol(draft, name,
                   i == 0             ? 1
                   : dims.size() >= 4 ? kPictureExtent
                                      : kSequenceExtent,
                   &known, &symbols);
  }
  for (const DraftValue& value : draft.values)
    for (const SymbolicDim& dim : value.dims)
      for (const std::string& name : dim.symbols())
        add_symbol(draft, name, kSequenceExtent, &known, &symbols);
  return symbols;
}

Bindings first_candidates(const Draft& draft, const std::vector<Symbol>& symbols) {
  Bindings bindings;
  for (const Symbol& symbol : symbols) bindings[symbol.name] = symbol.candidates[0];
  bind_measured(draft, &bindings);
  return bindings;
}

/// Counts through the candidates, the last symbol fastest.
bool find_typical(const Draft& draft, const std::vector<Symbol>& symbols, Bindings* typical) {
  std::vector<size_t> at(symbols.size(), 0);
  Place refuses;  // most combinations fail where the one before failed
  uint64_t contracts = 0;
  for (size_t tries = 0; tries < kMostCombinations && contracts < kMostContracts; tries++) {
    for (size_t i = 0; i < symbols.size(); i++)
      (*typical)[symbols[i].name] = symbols[i].candidates[at[i]];
    bind_measured(draft, typical);
    if (contracts_hold(draft, *typical, &refuses, &contracts)) return true;
    size_t i = symbols.size();
    while (i > 0 && ++at[i - 1] == symbols[i - 1].candidates.size()) at[--i] = 0;
    if (i == 0) break;
  }
  *typical = first_candidates(draft, symbols);
  return false;
}

}  // namespace

bool choose_trials(Draft* draft) {
  const std::vector<Symbol> symbols = symbols_of(*draft);
  Bindings typical;
  const bool found = find_typical(*draft, symbols, &typical);
  draft->trials = {typical};
  // without symbols check_draft() says what is wrong
  draft->has_sound_extents = found || symbols.empty();
  if (symbols.empty() || !found) return draft->has_sound_extents;
  const auto add = [&](Bindings bindings) {
    bind_measured(*draft, &bindings);
    auto& trials = draft->trials;
    if (std::find(trials.begin(), trials.end(), bindings) == trials.end() &&
        contracts_hold(*draft, bindings))
      trials.push_back(bindings);
  };
  Bindings low = typical, high = typical;
  size_t doubled = 0;
  for (const auto& [name, extent] : typical) {
    if (draft->measured.count(name)) continue;
    if (doubled++ < kMostDoubled) {
      Bindings twice = typical;
      twice[name] = clamp_to(*draft, name, extent * 2);
      add(twice);
    }
    const auto bounds = draft->symbols.find(name);
    if (bounds == draft->symbols.end()) continue;
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
    least[symbol.name] = clamp_to(*draft, symbol.name, 1);
    up[symbol.name] = clamp_to(*draft, symbol.name, kDifferent[at % std::size(kDifferent)]);
    down[symbol.name] = clamp_to(
        *draft, symbol.name, kDifferent[std::size(kDifferent) - 1 - at % std::size(kDifferent)]);
    at++;
  }
  for (const Bindings& bindings : {least, up, down}) add(bindings);
  return found;
}

std::vector<Bindings> trial_bindings(const Draft& draft) {
  return draft.trials.empty() ? std::vector<Bindings>{first_candidates(draft, symbols_of(draft))}
                              : draft.trials;
}

}  // namespace ingot::cast
