// SPDX-License-Identifier: Apache-2.0
// tests/cuda/hardware/judge.h - whether one element of a product of tensor cores can stand beside
// the emulator's. The emulator sums in f32 over k ascending; a tensor core in an order and a width
// of its own, which the PTX ISA leaves open, and it may take numbers below 2^-126 for zero.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::test {

enum class Verdict {
  kSame,     // the same bits, or both NaN
  kNear,     // within the bound for sums in another order
  kFlushed,  // within it when numbers below the smallest normal f32 are zero
  kWrong
};

/// d = c + sum of a[i] b[i], exact operands.
struct SumElement {
  std::vector<double> a, b;
  double c = 0;
};

/// What any tensor core may be away from the exact sum, relative to the sum of magnitudes: each of
/// k + 1 terms loses less than one unit of 2^-23 of the largest to its alignment, and as much again
/// in rounding.
double sum_bound(size_t k);
/// |c| + sum of |a b|
double magnitude(const SumElement& element);

Verdict judge(const SumElement& element, float emulated, float got);

/// As FragmentConvertParams has them in its words.
enum class Conversion { kF16 = 0, kBf16 = 1, kTf32 = 2 };
enum class Agreement { kSame, kOtherNan, kWrong };

/// One number converted: the emulator's bits and the GPU's. Which NaN becomes of a NaN is nobody's
/// promise; to tf32 the PTX ISA promises one, and ptxas cuts its payload, which may leave an
/// infinity: both pass.
Agreement compare_conversion(Conversion to, uint32_t operand, uint32_t emulated, uint32_t got);

/// Verdicts of a class of operands.
struct Tally {
  size_t same = 0, near = 0, flushed = 0, wrong = 0;
  double largest = 0;  // difference from the emulator over the sum of magnitudes
  std::string first_wrong;

  void add(const SumElement& element, float emulated, float got);
  std::string text() const;
};

}  // namespace ingot::test
