// SPDX-License-Identifier: Apache-2.0
// tests/cuda/branch_runs.h - runs of branching_networks.h over the fake driver, with what it
// counted and what the session states.
#pragma once
#include <doctest/doctest.h>

#include "tests/cuda/branch_inputs.h"
#include "tests/cuda/chain_items.h"

namespace ingot::test {

/// On the GPU, the host deciding.
inline ingot_session_options by_host(uint32_t flags = 0) {
  return on("cuda", flags | INGOT_HOST_BRANCHES);
}
/// Whether the driver's graphs decide where nobody asks for the host: tests are registered with
/// older drivers too (CMakeLists.txt).
inline bool driver_decides() {
  const char* version = std::getenv("FAKE_CUDA_VERSION");
  return !version || !*version || std::atoi(version) >= 12040;
}

struct Counts {
  uint64_t launches = 0, waits = 0;
  bool operator==(const Counts& other) const {
    return launches == other.launches && waits == other.waits;
  }
};
inline doctest::String toString(const Counts& c) {
  return (std::to_string(c.launches) + " launches, " + std::to_string(c.waits) + " waits").c_str();
}

/// What the session states of its last run.
inline Counts stated(const Session& session, uint32_t share) {
  Counts sum = {session.share(share).launches, session.share(share).waits};
  for (uint32_t i = 0; session.branch(i).name; i++) {
    sum.launches += session.branch(i).launches * session.branch(i).taken;
    sum.waits += session.branch(i).waits * session.branch(i).taken;
  }
  return sum;
}

/// Runs, and what the driver counted meanwhile; nothing else may have happened.
inline Counts counted_run(Session& session) {
  const FakeCuda before = fake_cuda();
  const auto ran = session.run();
  if (!ran) throw std::runtime_error(ran.error().text());
  const FakeCuda& after = fake_cuda();
  const Counts counts = {after.launches - before.launches, after.waits - before.waits};
  CHECK(deeds(after) - deeds(before) == counts.launches + counts.waits);
  return counts;
}

}  // namespace ingot::test
