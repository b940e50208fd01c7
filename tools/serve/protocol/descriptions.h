// SPDX-License-Identifier: Apache-2.0
// tools/serve/protocol/descriptions.h - what the server says of itself and of its models: metadata,
// configuration, statistics, index, as JSON, and metrics in Prometheus' text.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "tools/serve/core/repository.h"
#include "tools/serve/core/shared_regions.h"

namespace ingot::serve {

using Json = nlohmann::ordered_json;

Json server_metadata(const std::vector<const char*>& extensions);
Json model_metadata(const ServedModel& model, const std::vector<std::string>& versions);
Json model_configuration(const ServedModel& model);
Json statistics_json(const ServedModel& model);
Json index_json(const std::vector<ModelState>& states, bool ready_alone);
Json regions_json(const std::vector<std::shared_ptr<Region>>& regions);

/// Counts of the front ends, for the metrics.
struct ServerCounts {
  uint64_t connections = 0, refused_connections = 0, request_bytes_held = 0;
  uint64_t dropped_log_lines = 0;
  double uptime_seconds = 0;
};
std::string metrics_text(const Repository& repository, const ServerCounts& counts);

}  // namespace ingot::serve
