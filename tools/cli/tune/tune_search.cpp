// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/tune/tune_search.h"

#include <algorithm>

namespace ingot::cli {
namespace {

constexpr double kHopeless = 1.5;  // times the best median
constexpr uint32_t kRoundsBeforeDropping = 3;

size_t quickest_of(const std::vector<VariantTimes>& times) {
  size_t best = 0;
  for (size_t variant = 1; variant < times.size(); variant++)
    if (!times[variant].dropped && times[variant].median() < times[best].median()) best = variant;
  return best;
}

bool is_clear(const std::vector<VariantTimes>& times) {
  const size_t best = quickest_of(times);
  for (size_t variant = 0; variant < times.size(); variant++)
    if (variant != best && !times[variant].dropped &&
        times[best].quartile(0.75) >= times[variant].quartile(0.25))
      return false;
  return true;
}

void drop_hopeless(std::vector<VariantTimes>* times) {
  const double best = (*times)[quickest_of(*times)].median();
  for (size_t variant = 1; variant < times->size(); variant++)
    if ((*times)[variant].median() > kHopeless * best) (*times)[variant].dropped = true;
}

}  // namespace

double VariantTimes::quartile(double part) const {
  if (samples.empty()) return 0;
  std::vector<double> sorted = samples;
  const auto at = sorted.begin() + std::ptrdiff_t(part * double(sorted.size() - 1) + 0.5);
  std::nth_element(sorted.begin(), at, sorted.end());
  return *at;
}
double VariantTimes::median() const { return quartile(0.5); }

size_t find_quickest(size_t variants, const std::function<double(size_t)>& sample,
                     const std::function<uint64_t()>& clock, const SearchLimits& limits,
                     std::vector<VariantTimes>* times) {
  times->assign(variants, {});
  for (uint32_t round = 0; round < limits.most_rounds; round++) {
    if (round >= limits.least_rounds && (clock() >= limits.until_ns || is_clear(*times))) break;
    for (size_t i = 0; i < variants; i++) {
      const size_t variant = (i + round) % variants;  // nobody always follows the same one
      if (!(*times)[variant].dropped) (*times)[variant].samples.push_back(sample(variant));
    }
    if (round + 1 == kRoundsBeforeDropping) drop_hopeless(times);
  }
  const size_t best = quickest_of(*times);
  return (*times)[best].median() < (1 - limits.worth) * (*times)[0].median() ? best : 0;
}

}  // namespace ingot::cli
