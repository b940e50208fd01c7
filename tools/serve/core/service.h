// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/service.h - what every protocol of the server works with.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/serve/core/access_log.h"
#include "tools/serve/core/host_names.h"
#include "tools/serve/core/job_pool.h"
#include "tools/serve/core/repository.h"
#include "tools/serve/core/shared_regions.h"

namespace ingot::serve {

struct Service {
  Service(std::string root, std::string tag, const ModelSettings& settings, uint64_t body_bytes)
      : repository(std::move(root), std::move(tag), settings), jobs(body_bytes) {}

  Repository repository;
  JobPool jobs;
  SharedRegions regions;
  bool has_shared_memory = false;
  std::string token;      // of "Authorization: Bearer"; "": none is asked for
  uint64_t max_body = 0;  // of one request
  HostNames hosts;
  std::unique_ptr<AccessLog> access_log;  // null: none is kept
  uint64_t began_ns = ingot_clock_ns();
  std::atomic<uint64_t> connections{0}, refused_connections{0};
  std::atomic<uint64_t> answering{0};  // connections from a whole header to the end of its answer

  /// Of the protocol, by its names.
  std::vector<const char*> extensions() const {
    std::vector<const char*> names = {"binary_tensor_data", "model_configuration",
                                      "model_repository", "statistics"};
    if (has_shared_memory) names.push_back("system_shared_memory");
    return names;
  }
  const SharedRegions* shared() const { return has_shared_memory ? &regions : nullptr; }
  /// In time that does not depend on where the two differ. @throws ServeError kUnauthorized
  /// @param key Anthropic's clients send it in the place of the other
  void check_token(std::string_view authorization, std::string_view key = {}) const {
    if (token.empty()) return;
    const std::string_view kind = "Bearer ";
    const bool has_kind = authorization.substr(0, kind.size()) == kind;
    std::string_view given = authorization.empty() ? key : "";
    if (has_kind) given = authorization.substr(kind.size());
    unsigned differs = given.size() != token.size();
    for (size_t i = 0; i < token.size(); i++)
      differs |= unsigned(uint8_t(token[i]) ^ (i < given.size() ? uint8_t(given[i]) : 0));
    if (differs)
      refuse(Refusal::kUnauthorized,
             authorization.empty() && key.empty()
                 ? "no token: expected the header 'Authorization: Bearer TOKEN'"
                 : "the token is another");
  }
};

}  // namespace ingot::serve
