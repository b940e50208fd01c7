// SPDX-License-Identifier: Apache-2.0
// What a tensor held, and the ranges that bytes cover.
#include "tools/compile/quantize/histogram.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tools/graph/graph.h"

using namespace ingot;
using namespace ingot::quantize;

namespace {

/// Normal numbers, with `far` as one that lies outside.
std::vector<float> bell(size_t count, float far, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> all(count);
  for (float& x : all) x = normal(random);
  all[count / 2] = far;
  return all;
}

/// The mean square error of bytes with this range, computed number by number.
double error_of(const std::vector<float>& numbers, const Range& range) {
  const ByteScale scale = scale_of(range);
  double sum = 0;
  for (const float x : numbers) {
    const double q =
        std::fmin(std::fmax(std::nearbyint(double(x / scale.scale)) + scale.zero, 0.0), 255.0);
    const double error = (q - scale.zero) * double(scale.scale) - double(x);
    sum += error * error;
  }
  return sum / double(numbers.size());
}

}  // namespace

TEST_CASE("minmax is exact, whatever the order and the size of the numbers") {
  for (const float far : {0.001f, 3.0f, -1e6f, 1e30f}) {
    Histogram seen;
    const std::vector<float> first = bell(1000, far), second = bell(500, 0.5f, 2);
    seen.add(second.data(), second.size());
    seen.add(first.data(), first.size());
    float low = 0, high = 0;
    for (const auto* all : {&first, &second})
      for (const float x : *all) low = std::fmin(low, x), high = std::fmax(high, x);
    const Range range = seen.range({RangeMethod::kMinMax});
    CHECK(range.low == double(low));
    CHECK(range.high == double(high));
    CHECK(seen.count() == 1500);
    CHECK(seen.clipped(range) == 0);
  }
}

TEST_CASE("zero is in every range, and is a byte of its own") {
  Histogram above, below;
  const float up[] = {3, 4, 5}, down[] = {-2, -7, -3};
  above.add(up, 3);
  below.add(down, 3);
  for (const RangeMethod method :
       {RangeMethod::kMinMax, RangeMethod::kPercentile, RangeMethod::kMse}) {
    const Range a = above.range({method, 100}), b = below.range({method, 100});
    CHECK(a.low == 0);
    CHECK(b.high == 0);
    CHECK(scale_of(a).zero == 0);
    CHECK(scale_of(b).zero == 255);
  }
  CHECK(scale_of({-1, 3}).zero == 64);
}

TEST_CASE("mse leaves out what is far and rare, and has less error than the whole range") {
  const std::vector<float> numbers = bell(size_t(1) << 21, 40);
  Histogram seen;
  for (size_t i = 0; i < numbers.size(); i += 1024) seen.add(&numbers[i], 1024);
  const Range whole = seen.range({RangeMethod::kMinMax}), best = seen.range({RangeMethod::kMse});
  CHECK(best.high < 20);
  CHECK(error_of(numbers, best) < 0.8 * error_of(numbers, whole));
  CHECK(seen.clipped(best) > 0);
  CHECK(seen.clipped(best) < 0.01);
  // No range near it is better by more than the bins blur.
  for (const double by : {0.7, 0.85, 1.15, 1.3})
    CHECK(error_of(numbers, {best.low * by, best.high * by}) > 0.98 * error_of(numbers, best));
}

TEST_CASE("a percentile leaves out its share") {
  const std::vector<float> numbers = bell(100000, 500);
  Histogram seen;
  seen.add(numbers.data(), numbers.size());
  for (const double percentile : {90.0, 99.0, 99.9}) {
    const Range range = seen.range({RangeMethod::kPercentile, percentile});
    size_t outside = 0;
    for (const float x : numbers) outside += double(x) < range.low || double(x) > range.high;
    const double share = double(outside) / double(numbers.size());
    CHECK(share <= 1 - percentile / 100 + 1e-9);
    // One number is at 500, so that a bin is 1/8 wide.
    CHECK(share > (1 - percentile / 100) / 4);
  }
  CHECK(seen.range({RangeMethod::kPercentile, 100}).high == 500);
}

TEST_CASE("what is no number is counted and in no range; zeros alone have none") {
  Histogram seen;
  const float odd[] = {1, NAN, INFINITY, -INFINITY, 0, -2};
  seen.add(odd, 6);
  CHECK(seen.not_finite() == 3);
  CHECK(seen.range({RangeMethod::kMinMax}).high == 1);
  CHECK(seen.range({RangeMethod::kMinMax}).low == -2);
  CHECK(!seen.is_zero());
  Histogram zeros;
  const std::vector<float> nothing(100, 0.0f);
  zeros.add(nothing.data(), nothing.size());
  CHECK(zeros.is_zero());
  for (const RangeMethod method :
       {RangeMethod::kMinMax, RangeMethod::kPercentile, RangeMethod::kMse}) {
    const ByteScale scale = scale_of(zeros.range({method, 99}));
    CHECK(std::isnormal(scale.scale));
    CHECK(scale.zero == 0);
  }
  Histogram none;
  CHECK(none.range({RangeMethod::kMse}).high == 0);
  CHECK(none.clipped({0, 1}) == 0);
}

TEST_CASE("a scale is a normal number, of the smallest range too") {
  for (const double high : {1e-45, 1e-38, 1e-20, 1.0, 1e38})
    CHECK(std::isnormal(scale_of({0, high}).scale));
}

TEST_CASE("methods by name") {
  CHECK(parse_range_rule("minmax").method == RangeMethod::kMinMax);
  CHECK(parse_range_rule("mse").method == RangeMethod::kMse);
  CHECK(parse_range_rule("percentile").percentile == 99.99);
  CHECK(parse_range_rule("percentile=99.5").percentile == 99.5);
  for (const char* wrong : {"", "max", "percentile=", "percentile=x", "percentile=101", "entropy"})
    CHECK_THROWS_AS(parse_range_rule(wrong), graph::ConversionError);
}
