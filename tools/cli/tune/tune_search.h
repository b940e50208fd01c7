// SPDX-License-Identifier: Apache-2.0
// tools/cli/tune/tune_search.h - which of several kernel variants is the quickest, by samples of
// each in turn. Knows no GPU: samples come through a function.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

namespace ingot::cli {

/// One variant's samples, and what they say.
struct VariantTimes {
  std::vector<double> samples;  // nanoseconds
  bool dropped = false;         // so much slower than others that it was not sampled to the end
  double median() const;        // 0: no sample
  double quartile(double part) const;
};

struct SearchLimits {
  uint64_t until_ns = 0;      // of clock()
  uint32_t least_rounds = 5;  // whatever the clock says
  uint32_t most_rounds = 101;
  double worth = 0.02;  // by how much a variant must beat the model's to be taken
};

/// Samples every variant once a round, in turn, so that what slows the GPU for a while slows all of
/// them. Variant 0 is the model's. After three rounds variants half as slow again as the best so
/// far are dropped (never the model's). Ends when the clock says so, or when the best variant's
/// upper quartile lies below the lower quartile of every other. Returns the way to take: the one of
/// the least median where that is `worth` better than variant 0, else 0.
size_t find_quickest(size_t variants, const std::function<double(size_t variant)>& sample,
                     const std::function<uint64_t()>& clock, const SearchLimits& limits,
                     std::vector<VariantTimes>* times);

}  // namespace ingot::cli
