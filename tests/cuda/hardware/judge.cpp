// SPDX-License-Identifier: Apache-2.0
// tests/cuda/hardware/judge.cpp - see judge.h.
#include "tests/cuda/hardware/judge.h"

#include <cmath>
#include <cstdio>
#include <cstring>

namespace ingot::test {
namespace {

constexpr double kSmallest = 0x1p-126;

double flushed(double x) { return std::fabs(x) < kSmallest ? 0 : x; }

bool has_same_bits(float x, float y) { return std::memcmp(&x, &y, sizeof x) == 0; }

}  // namespace

double sum_bound(size_t k) { return double(2 * (k + 1)) * 0x1p-23; }

double magnitude(const SumElement& e) {
  double sum = std::fabs(e.c);
  for (size_t i = 0; i < e.a.size(); i++) sum += std::fabs(e.a[i] * e.b[i]);
  return sum;
}

Verdict judge(const SumElement& e, float emulated, float got) {
  if (has_same_bits(emulated, got) || (std::isnan(emulated) && std::isnan(got)))
    return Verdict::kSame;
  if (!std::isfinite(emulated) || !std::isfinite(got)) return Verdict::kWrong;
  double exact = e.c, without = flushed(e.c);
  for (size_t i = 0; i < e.a.size(); i++) {
    exact += e.a[i] * e.b[i];
    without += flushed(flushed(e.a[i]) * flushed(e.b[i]));
  }
  // Half of the smallest f32 is what rounding loses where nothing is flushed.
  const double bound = sum_bound(e.a.size()) * magnitude(e) + 0x1p-149;
  if (std::fabs(double(got) - exact) <= bound) return Verdict::kNear;
  const double result = flushed(without);
  return std::fabs(double(got) - without) <= bound || double(got) == result ? Verdict::kFlushed
                                                                            : Verdict::kWrong;
}

Agreement compare_conversion(Conversion to, uint32_t operand, uint32_t emulated, uint32_t got) {
  if (emulated == got) return Agreement::kSame;
  const uint32_t infinity = to == Conversion::kTf32   ? 0x7f800000u
                            : to == Conversion::kBf16 ? 0x7f80u
                                                      : 0x7c00u;
  const uint32_t magnitude = to == Conversion::kTf32 ? 0x7fffffffu : 0x7fffu;
  const bool is_nan = (got & magnitude) > infinity;
  const bool may_be = (emulated & magnitude) > infinity ||
                      (to == Conversion::kTf32 && (operand & 0x7fffffffu) > 0x7f800000u);
  return is_nan && may_be ? Agreement::kOtherNan : Agreement::kWrong;
}

void Tally::add(const SumElement& e, float emulated, float got) {
  const Verdict verdict = judge(e, emulated, got);
  same += verdict == Verdict::kSame, near += verdict == Verdict::kNear;
  flushed += verdict == Verdict::kFlushed, wrong += verdict == Verdict::kWrong;
  const double sum = magnitude(e);
  if (std::isfinite(emulated) && std::isfinite(got) && std::isfinite(sum) && sum > 0)
    largest = std::fmax(largest, std::fabs(double(got) - double(emulated)) / sum);
  if (verdict != Verdict::kWrong || !first_wrong.empty()) return;
  char text[160];
  std::snprintf(text, sizeof text, "emulator %a, GPU %a, sum of magnitudes %g", double(emulated),
                double(got), sum);
  first_wrong = text;
}

std::string Tally::text() const {
  char text[240];
  std::snprintf(text, sizeof text,
                "%5zu the same bits, %5zu within %s, %zu only as flushed to zero, %zu wrong; "
                "largest difference %.1e of the sum",
                same, near, "the bound", flushed, wrong, largest);
  return text;
}

}  // namespace ingot::test
