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

struct BatchStatistics {
  Duration input, infer, output;
};

struct Statistics {
  Duration success, failure, queue, input, infer, output;
  uint64_t inferences = 0;  // rows of batches
  uint64_t executions = 0;
  uint64_t last_ms = 0;  // since 1970
  uint64_t refused = 0;  // because the queue was full
  uint64_t late = 0;     // because the deadline passed
  std::map<int64_t, BatchStatistics> batches;
};

}  // namespace ingot::serve
