// SPDX-License-Identifier: Apache-2.0
// log.h: what the library chose reaches the function that the application handed in, and nothing
// else does.
#include <doctest/doctest.h>

#include <algorithm>

#include "ingot/cpu.h"
#include "ingot/pipeline.hpp"
#include "tests/session/session_models.h"
#include "tests/support/log_lines.h"

using namespace ingot;
using namespace ingot::test;

TEST_CASE("log: each session and pipeline is one line with its device, kernels and threads") {
  LogLines log;
  FileBytes bytes(lookup_network());
  Model model = log.open(bytes, ingot_cpu_kernels("scalar"));
  CHECK(log.lines.empty());
  ingot_session_options options = session_options();
  options.device = "cpu";
  options.threads = 2;
  Session session = std::move(model.session(options)).value();
  REQUIRE(log.lines.size() == 1);
  CHECK(log.lines[0].first == INGOT_LOG_INFO);
  CHECK(log.lines[0].second == "session on cpu: asked for; kernels scalar, 2 threads (asked for)");
  CHECK(session.run().ok());
  CHECK(model.requirements(options).ok());
  CHECK(log.lines.size() == 1);  // neither makes a session
  options.device = nullptr;
  options.threads = 0;
  CHECK(model.session(options).ok());
  REQUIRE(log.lines.size() == 2);
  // why there is no GPU depends on the machine
  const std::string& line = log.lines[1].second;
  const std::string end =
      "; kernels scalar, 1 thread (the program is too short to share; ask for a number to have it)";
  CHECK(line.rfind("session on cpu: ", 0) == 0);
  CHECK(line.size() > end.size() + 20);
  CHECK(line.substr(line.size() - std::min(line.size(), end.size())) == end);
  ingot_pipeline_options items = INGOT_INIT(ingot_pipeline_options);
  CHECK(Pipeline::create(model, items).ok());
  CHECK(log.lines.size() == 3);
  CHECK(log.warnings().empty());
}

TEST_CASE("log: errors are returned, not written") {
  LogLines log;
  FileBytes bytes(lookup_network());
  Model model = log.open(bytes, ingot_cpu_kernels("scalar"));
  ingot_session_options options = session_options();
  options.device = "cuda:7";
  CHECK(model.session(options).error().code == INGOT_NO_SUCH_DEVICE);
  CHECK(log.lines.empty());
}

TEST_CASE("log: without write it is refused, and null ends it") {
  LogLines log;
  FileBytes bytes(lookup_network());
  Model model = log.open(bytes, ingot_cpu_kernels("scalar"));
  const ingot_log none = {nullptr, nullptr};
  CHECK(ingot_model_set_log(model.get(), &none) == INGOT_INVALID_ARGUMENT);
  CHECK(ingot_model_set_log(nullptr, &log.log) == INGOT_INVALID_ARGUMENT);
  CHECK(model.session().ok());
  CHECK(log.lines.size() == 1);  // the one that was set is still there
  CHECK(ingot_model_set_log(model.get(), nullptr) == INGOT_OK);
  CHECK(model.session().ok());
  CHECK(log.lines.size() == 1);
}
