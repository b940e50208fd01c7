// SPDX-License-Identifier: Apache-2.0
// tools/serve/options/serve_options.h - the options of `ingot serve`, declared once for the command
// line, which shows and completes them, and for the program ingot-serve, which it starts.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::serve {

struct ServeOptions {
  std::string repository, tag, device = "auto", map = "share";
  std::string address = "127.0.0.1", certificate, key, token_file;
  std::string max_body = "64M", max_bodies = "1G";
  uint32_t http_port = 8000, grpc_port = 8001;
  uint32_t max_batch = 8, batch_delay_us = 0, instances = 0, threads = 0, max_queue = 256;
  uint32_t max_sequences = 256, sequence_idle_seconds = 60;
  uint32_t max_connections = 16000, idle_seconds = 300, request_seconds = 30, drain_seconds = 30;
  uint32_t io_threads = 1, max_run_seconds = 30;
  uint32_t slots = 1, lookup = 63, max_queued_answers = 64, max_answer_seconds = 600;
  uint64_t max_run_steps = 0;
  std::vector<std::string> allowed_hosts;
  bool shared_memory = false, no_joining = false, no_grpc = false, insecure = false;
  bool access_log = false;
};

extern const char* const kServeSummary;
extern const char* const kServeExamples;
void declare_serve_options(CLI::App* command, ServeOptions* options);

}  // namespace ingot::serve
