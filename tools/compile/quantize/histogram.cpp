// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/quantize/histogram.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "tools/graph/graph.h"

namespace ingot::quantize {
namespace {

constexpr double kSteps = 255;  // between the bytes of a tensor
constexpr int kTried = 96;      // ends of a range, on each side of zero

}  // namespace

RangeRule parse_range_rule(const std::string& argument) {
  if (argument == "minmax") return {RangeMethod::kMinMax};
  if (argument == "mse") return {RangeMethod::kMse};
  if (argument == "percentile") return {RangeMethod::kPercentile};
  const std::string with_number = "percentile=";
  if (argument.rfind(with_number, 0) == 0) {
    const std::string text = argument.substr(with_number.size());
    char* end = nullptr;
    const double percentile = std::strtod(text.c_str(), &end);
    if (!text.empty() && *end == '\0' && percentile >= 50 && percentile <= 100)
      return {RangeMethod::kPercentile, percentile};
    graph::fail_usage("--calibrate-method " + argument + ": '" + text +
                      "' is no percentage from 50 to 100, as in percentile=99.99");
  }
  graph::fail_usage("--calibrate-method: '" + argument +
                    "' is unknown; expected auto, minmax, mse, percentile or "
                    "percentile=NUMBER");
}

ByteScale scale_of(const Range& range) {
  // Below the smallest normal number a scale has lost bits, or is none.
  const double width = std::max(range.high - range.low, 256.0 * std::numeric_limits<float>::min());
  if (range.high == range.low) return {float(1 / kSteps), 0};
  ByteScale made;
  made.scale = float(width / kSteps);
  made.zero = int32_t(std::clamp(std::nearbyint(-range.low / double(made.scale)), 0.0, kSteps));
  return made;
}

void Histogram::grow(double largest) {
  if (bins_.empty()) bins_.assign(kBins, 0);
  if (limit_ == 0) {  // nothing is in a bin yet
    int exponent = 0;
    std::frexp(largest, &exponent);
    limit_ = std::ldexp(1.0, exponent);  // above `largest`
    return;
  }
  while (largest >= limit_) {  // two bins become one
    std::vector<uint64_t> wider(kBins, 0);
    for (size_t i = 0; i < kBins; i++) wider[kBins / 4 + i / 2] += bins_[i];
    bins_.swap(wider);
    limit_ *= 2;
  }
}

void Histogram::add(const float* numbers, size_t count) {
  float low = 0, high = 0;
  for (size_t i = 0; i < count; i++) {
    if (!std::isfinite(numbers[i])) continue;
    low = std::min(low, numbers[i]), high = std::max(high, numbers[i]);
  }
  low_ = std::min(low_, double(low)), high_ = std::max(high_, double(high));
  count_ += count;
  const double largest = std::max(-double(low), double(high));
  if (largest > 0 && largest >= limit_) grow(largest);
  const double step = limit_ > 0 ? double(kBins) / (2 * limit_) : 0;
  for (size_t i = 0; i < count; i++) {
    const float x = numbers[i];
    if (x == 0)
      zeros_++;
    else if (!std::isfinite(x))
      not_finite_++;
    else
      bins_[std::min(size_t((double(x) + limit_) * step), kBins - 1)]++;
  }
}

Range Histogram::range(const RangeRule& rule) const {
  if (bins_.empty()) return {};
  switch (rule.method) {
    case RangeMethod::kMinMax: return {low_, high_};
    case RangeMethod::kPercentile: return percentile_range(rule.percentile);
    case RangeMethod::kMse: return mse_range();
  }
  return {low_, high_};
}

/// As many may be outside on both sides together; of them each side loses what lies farthest out.
Range Histogram::percentile_range(double percentile) const {
  const double width = 2 * limit_ / double(kBins);
  double left = double(count_ - not_finite_) * (1 - percentile / 100);
  size_t first = 0, last = kBins;
  while (first < last) {
    const double below = limit_ - width * double(first), above = width * double(last) - limit_;
    const uint64_t lost = below > above ? bins_[first] : bins_[last - 1];
    if (double(lost) > left) break;
    left -= double(lost);
    below > above ? first++ : last--;
  }
  const double low = width * double(first) - limit_, high = width * double(last) - limit_;
  return {std::min(0.0, std::max(low, low_)), std::max(0.0, std::min(high, high_))};
}

/// The range of the least sum of squares: of rounding inside, of the distance outside.
Range Histogram::mse_range() const {
  const double width = 2 * limit_ / double(kBins);
  // Sums over the bins before each: how many, of the numbers, of their squares.
  std::vector<double> many(kBins + 1), sum(kBins + 1), squares(kBins + 1);
  for (size_t i = 0; i < kBins; i++) {
    const double x = width * (double(i) + 0.5) - limit_, n = double(bins_[i]);
    many[i + 1] = many[i] + n;
    sum[i + 1] = sum[i] + n * x;
    squares[i + 1] = squares[i] + n * x * x;
  }
  const auto bin_of = [&](double x) {
    return std::min(size_t(std::max(0.0, std::nearbyint((x + limit_) / width))), kBins);
  };
  const auto cost = [&](double low, double high) {
    const size_t a = bin_of(low), b = std::max(a, bin_of(high));
    const double step = (high - low) / kSteps;
    const double below = squares[a] - 2 * low * sum[a] + low * low * many[a];
    const double n = many[kBins] - many[b], s = sum[kBins] - sum[b];
    const double above = squares[kBins] - squares[b] - 2 * high * s + high * high * n;
    return std::max(below, 0.0) + std::max(above, 0.0) + step * step / 12 * (many[b] - many[a]);
  };
  Range best{low_, high_};
  double least = cost(low_, high_);
  for (int i = 0; i < (low_ < 0 ? kTried : 1); i++)
    for (int j = 0; j < (high_ > 0 ? kTried : 1); j++) {
      const double low = low_ * (1 - double(i) / kTried), high = high_ * (1 - double(j) / kTried);
      const double found = cost(low, high);
      if (found < least) least = found, best = {low, high};
    }
  return best;
}

double Histogram::clipped(const Range& range) const {
  if (bins_.empty()) return 0;
  const double width = 2 * limit_ / double(kBins);
  uint64_t outside = 0;
  for (size_t i = 0; i < kBins; i++) {
    const double x = width * (double(i) + 0.5) - limit_;
    // Half a bin is within what a bin knows.
    if (x < range.low - width / 2 || x > range.high + width / 2) outside += bins_[i];
  }
  return double(outside) / double(std::max<uint64_t>(count_, 1));
}

}  // namespace ingot::quantize
