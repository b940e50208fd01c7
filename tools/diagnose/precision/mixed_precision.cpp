// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/precision/mixed_precision.h"

#include <algorithm>
#include <cmath>

namespace ingot::precision {
namespace {

constexpr double kMixingWork = 4e11;   // of all runs that round one product alone
constexpr size_t kMixingRuns = 2;      // of each of those
constexpr double kLeastReduced = 0.5;  // of the multiply-adds, for which a bf16 file is worth it

struct Candidate {
  PrecisionCheck::Product product;
  double error = 0;  // of the outputs where it alone is rounded
  /// Errors of products add up as squares.
  double cost() const { return error * error / std::max(product.multiply_adds, 1.0); }
};

}  // namespace

std::optional<MixedPrecision> mix_precisions(PrecisionCheck* check,
                                             const std::function<void(double)>& show) {
  constexpr GpuPrecision kPrecision = GpuPrecision::kBf16;
  std::vector<Candidate> candidates;
  double total = 0;
  for (const PrecisionCheck::Product& product : check->products(kPrecision)) {
    candidates.push_back({product});
    total += product.multiply_adds;
  }
  const size_t runs = size_t(
      std::min(double(kMixingRuns), kMixingWork / (check->work() * double(candidates.size()) + 1)));
  if (candidates.size() < 2 || runs == 0) return std::nullopt;
  for (size_t i = 0; i < candidates.size(); i++) {
    show(double(i) / double(candidates.size()));
    std::vector<bool> exact(check->steps(), true);
    exact[candidates[i].product.step] = false;
    const std::optional<PrecisionLoss> loss = check->loss_in(kPrecision, exact, runs);
    if (!loss) return std::nullopt;
    candidates[i].error = std::isfinite(loss->error) ? loss->error : INFINITY;
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost() > b.cost(); });

  const auto loss_of = [&](size_t count) {
    std::vector<bool> exact(check->steps());
    for (size_t i = 0; i < count; i++) exact[candidates[i].product.step] = true;
    return check->loss_in(kPrecision, exact, SIZE_MAX);
  };
  size_t most = 0;
  for (double kept = 0; most < candidates.size(); most++) {
    kept += candidates[most].product.multiply_adds;
    if (total - kept < kLeastReduced * total) break;
  }
  MixedPrecision found;
  found.products = candidates.size();
  std::optional<PrecisionLoss> loss = most ? loss_of(most) : std::nullopt;
  if (!loss || !loss->holds()) return std::nullopt;
  found.loss = *loss;
  for (size_t fails = 0; most - fails > 1;) {  // `most` holds
    const size_t middle = fails + (most - fails) / 2;
    loss = loss_of(middle);
    if (loss && loss->holds())
      most = middle, found.loss = *loss;
    else
      fails = middle;
  }
  for (size_t i = 0; i < most; i++) found.exact.push_back(candidates[i].product.instruction);
  return found;
}

}  // namespace ingot::precision
