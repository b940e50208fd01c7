// tools/cli/options/session_options.h - the options that run, bench, check and why share.
#pragma once
#include <string>
#include <vector>

#include "tools/cli/options/command.h"
#include "tools/session/engine.h"

namespace ingot::cli {

struct SessionArguments {
  std::string device = "auto", threads = "0", trust = "none", map = "share", arena_bytes;
  std::vector<std::string> dims, places;
  bool strict = false, host_branches = false, blocking_wait = false;

  /// --device, --strict, --host-branches, --blocking-wait, --place, --threads, --dim; with `memory`
  /// also --arena-bytes, --trust and --map.
  void declare(CLI::App* command, bool memory);
  OpenSettings open_settings() const;
  SessionSettings session_settings() const;
  std::map<std::string, int64_t> bindings() const { return parse_dims(dims); }
};

}  // namespace ingot::cli
