// SPDX-License-Identifier: Apache-2.0
// tools/compile/quantize/histogram.h - the numbers that one tensor held over all samples, in
// bounded memory, and the range that a byte of it covers.
//   Histogram seen;
//   seen.add(floats, count);                      // as often as wanted
//   Range range = seen.range({RangeMethod::kMse});
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::quantize {

/// What is representable: low <= 0 <= high, so that zero is a byte.
struct Range {
  double low = 0, high = 0;
};

enum class RangeMethod { kMinMax, kPercentile, kMse };
struct RangeRule {
  RangeMethod method = RangeMethod::kMse;
  double percentile = 99.99;  // of the numbers that stay inside
};
/// "minmax", "mse", "percentile" or "percentile=99.9". @throws ConversionError(kUsage)
RangeRule parse_range_rule(const std::string& argument);

/// q stands for (q - zero) * scale.
struct ByteScale {
  float scale = 1;
  int32_t zero = 0;
};
/// An empty range has a scale of its own: every byte of it would stand for zero.
ByteScale scale_of(const Range& range);

class Histogram {
 public:
  void add(const float* numbers, size_t count);
  uint64_t count() const { return count_; }
  /// NaN and infinite numbers among them, which are in no bin.
  uint64_t not_finite() const { return not_finite_; }
  bool is_zero() const { return count_ == zeros_ + not_finite_; }
  double low() const { return low_; }
  double high() const { return high_; }
  Range range(const RangeRule& rule) const;
  /// Share of the numbers outside of a range, 0..1.
  double clipped(const Range& range) const;

 private:
  static constexpr size_t kBins = 8192;  // from -limit_ to limit_
  void grow(double largest);
  Range percentile_range(double percentile) const;
  Range mse_range() const;

  std::vector<uint64_t> bins_;
  double limit_ = 0;  // a power of two; 0: nothing but zeros so far
  double low_ = 0, high_ = 0;
  uint64_t count_ = 0, zeros_ = 0, not_finite_ = 0;
};

}  // namespace ingot::quantize
