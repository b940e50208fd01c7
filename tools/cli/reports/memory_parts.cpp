// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/reports/memory_parts.h"

#include "tools/cli/output/terminal.h"

namespace ingot::cli {

std::vector<MemoryPart> arena_parts(const ingot_requirements& need) {
  return {{"weights_mapped", "weights mapped", need.weights_mapped},
          {"weights_copied", "weights copied", need.weights_copied},
          {"weights_widened", "weights converted at load", need.weights_widened},
          {"activations", "activations", need.activations},
          {"state", "state", need.state},
          {"scratch", "scratch", need.scratch},
          {"tables", "tables", need.tables},
          {"rounding", "rounding to pages", need.rounding}};
}

std::vector<MemoryPart> other_parts(const ingot_requirements& need) {
  return {{"weights_in_place", "weights where they lie", need.weights_in_place},
          {"weights_shared", "weights in a GPU's memory", need.weights_shared},
          {"device_bytes", "arenas on other devices", need.device_bytes},
          {"outside_bytes", "thread stacks and the like", need.outside_bytes}};
}

nlohmann::ordered_json memory_json(const ingot_requirements& need) {
  nlohmann::ordered_json json = {{"arena_bytes", need.arena_bytes}};
  for (const MemoryPart& part : arena_parts(need)) json[part.key] = part.bytes;
  for (const MemoryPart& part : other_parts(need)) json[part.key] = part.bytes;
  return json;
}

std::string parts_text(const std::vector<MemoryPart>& parts) {
  std::string text;
  for (const MemoryPart& part : parts)
    if (part.bytes)
      text += (text.empty() ? "" : ", ") + std::string(part.name) + " " + grouped(part.bytes);
  return text;
}

ingot_requirements in_caller_arena(const Engine& engine, int32_t threads) {
  std::vector<ingot_binding> bindings;
  for (const auto& [name, value] : engine.bindings()) bindings.push_back({name.c_str(), value});
  ingot_session_options options = session_options();
  options.device = "cpu";
  options.threads = threads;
  options.arena_kind = INGOT_ARENA_CALLER;
  options.bindings = bindings.data(), options.binding_count = bindings.size();
  const auto need = engine.model().requirements(options);
  if (!need) fail_with(engine.path(), need.error());
  return *need;
}

}  // namespace ingot::cli
