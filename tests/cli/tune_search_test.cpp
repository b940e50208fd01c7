// SPDX-License-Identifier: Apache-2.0
// Which variant is taken, by samples that a test makes up.
#include "tools/cli/tune/tune_search.h"

#include <doctest/doctest.h>

using namespace ingot;

TEST_CASE(
    "tune: the search takes the least median, the model's where that is hardly worse, and drops "
    "what is hopeless") {
  using cli::find_quickest;
  std::vector<cli::VariantTimes> times;
  uint64_t now = 0;
  const auto clock = [&] { return now; };
  cli::SearchLimits limits;
  limits.until_ns = 1000;
  const auto search = [&](std::vector<double> reference_values, int spike_every) {
    now = 0;
    int samples = 0;
    return find_quickest(
        reference_values.size(),
        [&](size_t variant) {
          now += 1;
          return reference_values[variant] *
                 (spike_every && ++samples % spike_every == 0 ? 20 : 1) *
                 (1 + 0.004 * double(now % 3));
        },
        clock, limits, &times);
  };
  CHECK(search({100, 90, 80, 95}, 0) == 2);
  CHECK(search({100, 90, 80, 95}, 7) == 2);
  CHECK(search({100, 99, 101}, 0) == 0);  // within what is worth a change
  CHECK(search({100, 100, 100}, 0) == 0);
  CHECK(search({100}, 0) == 0);
  CHECK(search({50, 100, 300}, 0) == 0);
  CHECK(times[2].dropped);
  CHECK(times[2].samples.size() == 3);
  CHECK(search({300, 100}, 0) == 1);
  CHECK(!times[0].dropped);  // what is compared with is measured to the end
  limits.until_ns = 0;       // no time: five rounds all the same
  CHECK(search({100, 80}, 0) == 1);
  CHECK(times[0].samples.size() == 5);
  limits.until_ns = ~uint64_t{0}, limits.most_rounds = 9;  // never clear: ends all the same
  int calls[2] = {};
  const auto wavering = [&](size_t variant) { return 100.0 + 10 * (calls[variant]++ % 2); };
  CHECK(find_quickest(2, wavering, clock, limits, &times) == 0);
  CHECK(times[0].samples.size() == 9);
}
