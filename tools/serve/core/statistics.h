// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/statistics.h - what a version of a model did, as the statistics extension and
// the metrics tell it.
// Threads  any.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>

namespace ingot::serve {

struct Duration {
  uint64_t count = 0, ns = 0;
  void add(uint64_t more_ns) { count++, ns += more_ns; }
};

/// How many took at most as long as each bound, as Prometheus' histograms count.
struct Histogram {
  static constexpr double kBounds[] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                       0.01,   0.025,   0.05,   0.1,   0.25,   0.5,
                                       1,      2.5,     5,      10,    30,     60};  // seconds
  static constexpr size_t kBoundCount = sizeof kBounds / sizeof kBounds[0];
  uint64_t counts[kBoundCount + 1] = {};  // each bound's own; the last: beyond all
  void add(uint64_t ns) {
    size_t at = 0;
    while (at<kBoundCount&& double(ns)> kBounds[at] * 1e9) at++;
    counts[at]++;
  }
};

struct BatchStatistics {
  Duration input, infer, output;
};

struct Statistics {
  Duration success, queue, input, infer, output;
  Duration failure;         // of the server: a full queue, a deadline, a run that failed
  Histogram latencies;      // from arrival to answer, of requests that went well
  uint64_t inferences = 0;  // rows of batches
  uint64_t executions = 0;
  uint64_t last_ms = 0;    // since 1970
  uint64_t refused = 0;    // because the queue was full
  uint64_t late = 0;       // because the deadline passed
  uint64_t invalid = 0;    // the client's error; no failure
  uint64_t cancelled = 0;  // the client went away; no failure
  std::map<int64_t, BatchStatistics> batches;
};

}  // namespace ingot::serve
