// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/reports/placement_report.h"

namespace ingot::cli {

using Json = nlohmann::ordered_json;

namespace {

Json share_of(const ingot_share& s) {
  return {{"name", s.device},
          {"reason", s.reason},
          {"instructions", s.instructions},
          {"launches", s.launches},
          {"waits", s.waits},
          {"arena_bytes", s.arena_bytes},
          {"weights_bytes", s.weights_bytes},
          {"uploads", s.uploads},
          {"upload_bytes", s.upload_bytes},
          {"downloads", s.downloads},
          {"download_bytes", s.download_bytes}};
}

}  // namespace

Json shares_of(Engine& engine, const SessionSettings& settings) {
  Json rows = Json::array();
  ingot_share share{};
  share.size = sizeof share;
  for (uint32_t i = 0; engine.find_share(settings, i, &share); i++)
    if (share.arena_bytes) rows.push_back(share_of(share));
  return rows;
}

Json left_to_cpu(const Engine& engine, const Assignment& assignment, const std::string& device) {
  Json rows = Json::array();
  if (device == "cpu") return rows;
  for (uint32_t i = 0; i < engine.summary().instruction_count; i++) {
    ingot_instruction instruction{};
    if (assignment.device_of(i) != 0 ||
        ingot_model_instruction(engine.model().get(), i, &instruction) != INGOT_OK)
      continue;
    rows.push_back({{"instruction", i},
                    {"operator", instruction.op},
                    {"name", instruction.name},
                    {"why", assignment.reason_of(i)}});
  }
  return rows;
}

}  // namespace ingot::cli
