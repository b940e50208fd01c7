// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/options/session_options.h"

#include "tools/cli/options/help.h"
#include "tools/files/failure.h"

namespace ingot::cli {

void SessionArguments::declare(CLI::App* command, bool memory, const char* run_limit) {
  command->add_option("--device", device, device_names())
      ->type_name("DEVICE")
      ->capture_default_str();
  command->add_flag(
      "--strict", strict,
      "an error where the device has no kernel for an instruction; else the CPU runs it");
  command->add_flag("--host-branches", host_branches,
                    "the CPU decides Ifs and Loops of a GPU between launches, although its driver "
                    "could inside one");
  command->add_flag("--blocking-wait", blocking_wait,
                    "sleep instead of spinning while a GPU computes; a run ends a little later");
  command
      ->add_option("--place", places,
                   "device of the weights of that name, * for any letters; 'trained': where they "
                   "were saved (repeatable)")
      ->type_name("PATTERN=DEVICE")
      ->expected(1)
      ->take_all();
  command
      ->add_option(
          "--threads", threads,
          "threads of the team; auto or 0: one for each processor, where some are slower one "
          "for each fast one")
      ->type_name("N|auto")
      ->capture_default_str();
  takes_dims(command, &dims);
  group_options(command, "Session",
                {"device", "strict", "host-branches", "blocking-wait", "place", "threads", "dim"});
  if (run_limit) declare_run_seconds(command, &run_seconds, run_limit);
  if (run_limit) group_options(command, "Session", {"max-run-seconds"});
  if (!memory) return;
  command
      ->add_option("--arena-bytes", arena_bytes,
                   "refuse to take more memory than this (64K, 12M, 2G)")
      ->type_name("N");
  command
      ->add_option("--trust", trust,
                   "none, or hashes: compare the weights with their SHA-256 first")
      ->type_name("none|hashes")
      ->capture_default_str();
  command
      ->add_option("--map", map,
                   "share: map the weights; copy: read them (for files that others may write)")
      ->type_name("share|copy")
      ->capture_default_str();
  group_options(command, "Memory", {"arena-bytes", "trust", "map"});
}

void declare_run_seconds(CLI::App* command, std::string* seconds, const char* names) {
  command
      ->add_option(names, *seconds,
                   "how long one run may take, in seconds; it is stopped then; 0: any time")
      ->type_name("S")
      ->capture_default_str();
}

double parse_run_seconds(const std::string& seconds) {
  return parse_real("--max-run-seconds", seconds, 0, 1e6);
}

OpenSettings SessionArguments::open_settings() const {
  OpenSettings settings;
  settings.trust = parse_choice("--trust", trust, {"none", "hashes"}) == "hashes"
                       ? INGOT_TRUST_HASHES
                       : INGOT_TRUST_NONE;
  settings.map =
      parse_choice("--map", map, {"share", "copy"}) == "copy" ? INGOT_MAP_COPY : INGOT_MAP_SHARE;
  return settings;
}

SessionSettings SessionArguments::session_settings() const {
  SessionSettings settings;
  const std::string kind = device.substr(0, device.find(':'));
  if (kind == "gpu" || kind == "GPU" || kind == "nvidia")  // nearer to cpu by its letters
    host::fail(host::Exit::kUsage,
               "--device: a GPU is cuda, the second cuda:1; found '" + device + "'");
  // "null" and "fake" are devices of tests
  if (kind != "null" && kind != "fake") parse_choice("--device", kind, device_kinds());
  settings.device = device;
  settings.places = parse_places(places);
  if (strict) settings.flags |= INGOT_STRICT;
  if (host_branches) settings.flags |= INGOT_HOST_BRANCHES;
  if (blocking_wait) settings.flags |= INGOT_BLOCKING_WAIT;
  settings.threads = parse_threads(threads);
  settings.run_seconds = parse_run_seconds(run_seconds);
  if (!arena_bytes.empty()) settings.arena_limit = parse_bytes("--arena-bytes", arena_bytes);
  // 0 would mean no limit
  if (!arena_bytes.empty() && settings.arena_limit == 0) settings.arena_limit = 1;
  return settings;
}

}  // namespace ingot::cli
