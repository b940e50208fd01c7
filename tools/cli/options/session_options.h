// SPDX-License-Identifier: Apache-2.0
// tools/cli/options/session_options.h - the options that run, bench, check and why share.
#pragma once
#include <string>
#include <vector>

#include "tools/cli/options/command.h"
#include "tools/session/engine.h"

namespace ingot::cli {

struct SessionArguments {
  std::string device = "auto", threads = "0", trust = "none", map = "share", arena_bytes,
              run_seconds = "300";
  std::vector<std::string> dims, places;
  bool strict = false, host_branches = false, blocking_wait = false;

  /// --device, --strict, --host-branches, --blocking-wait, --place, --threads, --dim,
  /// --max-run-seconds; with `memory`
  /// also --arena-bytes, --trust and --map.
  /// @param run_limit what the option is called here; null: there is none
  void declare(CLI::App* command, bool memory, const char* run_limit = "--max-run-seconds");
  OpenSettings open_settings() const;
  SessionSettings session_settings() const;
  std::map<std::string, int64_t> bindings() const { return parse_dims(dims); }
};

/// The option alone, for commands with sessions of other settings.
void declare_run_seconds(CLI::App* command, std::string* seconds,
                         const char* names = "--max-run-seconds");
double parse_run_seconds(const std::string& seconds);

}  // namespace ingot::cli
