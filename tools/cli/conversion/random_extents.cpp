// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/conversion/random_extents.h"

#include <algorithm>
#include <random>

#include "tools/session/engine.h"

namespace ingot::cli {
namespace {

/// Between half and twice of what is typical; small ones up to 8 apart. Within the bounds.
int64_t draw_one(const ingot_symbol& symbol, int64_t typical, std::mt19937* random) {
  const int64_t high = symbol.high > 0 ? symbol.high : INT64_MAX;
  const int64_t wide = typical > INT64_MAX / 4 ? typical : std::max<int64_t>(typical * 2, 8);
  const int64_t from = std::clamp(std::max<int64_t>(typical / 2, 1), symbol.low, high);
  const uint64_t span = uint64_t(std::clamp(wide, from, high) - from) + 1;
  return from + int64_t((*random)() % span);  // the same on every machine, unlike distributions
}

}  // namespace

std::string extents_text(const std::map<std::string, int64_t>& extents) {
  std::string text;
  for (const auto& [name, extent] : extents)
    text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(extent);
  return text;
}

RandomExtents try_random_extents(const std::string& path,
                                 const std::map<std::string, int64_t>& typical, size_t count) {
  RandomExtents drawn;
  std::mt19937 random(20261122);
  for (size_t i = 0; i < count; i++) {
    Engine engine(path);
    std::map<std::string, int64_t> extents;
    for (uint32_t s = 0; s < engine.summary().symbol_count; s++) {
      ingot_symbol symbol{};
      if (ingot_model_symbol(engine.model().get(), s, &symbol) != INGOT_OK) continue;
      const auto known = typical.find(symbol.name);
      const int64_t usual = known == typical.end() ? symbol.low : known->second;
      extents[symbol.name] = draw_one(symbol, std::max<int64_t>(usual, 1), &random);
    }
    if (extents.empty()) return drawn;
    engine.bind_dims(extents);
    try {
      SessionSettings settings;
      settings.device = "cpu";
      const ingot_requirements need = engine.would_need(settings);
      drawn.sound.push_back({std::move(extents), need.arena_bytes - need.weights_mapped});
    } catch (const host::Failure&) {
      if (drawn.refused++ == 0) drawn.first_refusal = extents_text(extents);
    }
  }
  return drawn;
}

}  // namespace ingot::cli
