// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/fft.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

bool has_small_factors(int64_t n) {
  constexpr int kFactors[] = {2, 3, 5};
  for (const int factor : kFactors)
    while (n % factor == 0) n /= factor;
  return n == 1;
}
int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

bool check_fft_attributes(const FftAttributes& t, Violation* v) {
  if (uint8_t(t.kind) > uint8_t(FftKind::kToReal))
    return rules::refuse(v, "fft.kind is known", Violation::kAttribute, 3, int64_t(t.kind));
  if (t.length < 1 || t.length > kMaxFftLength)
    return rules::refuse(v, "fft.length is 1 .. 2^22", Violation::kAttribute, kMaxFftLength,
                         t.length);
  if (t.step > 0 && t.kind != FftKind::kFromReal)
    return rules::refuse(v, "fft.step is of real numbers", Violation::kAttribute, 0, t.step);
  return true;
}

/// The last dimensions: m of x, b of y.
bool check_row_lengths(const FftAttributes& t, int64_t m, int64_t b, Violation* v) {
  const int64_t n = t.length, half = n / 2 + 1;
  const bool pairs_in = t.kind != FftKind::kFromReal, pairs_out = t.kind != FftKind::kToReal;
  const int64_t most_in = pairs_in ? 2 * (t.kind == FftKind::kToReal ? half : n) : n;
  if (pairs_in && m % 2 != 0) return rules::refuse(v, "complex numbers are pairs", 0, m + 1, m);
  if (t.step > 0 ? m < n : m > most_in)
    return rules::refuse(v, "a row of x has the numbers of a transform", 0, t.step ? n : most_in,
                         m);
  const int64_t all = pairs_out ? 2 * n : n;
  if (b != all && !(t.kind == FftKind::kFromReal && b == 2 * half))
    return rules::refuse(v, "a row of y has the bins", rules::output(0), all, b);
  return true;
}

bool check_fft(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kFftContract, {3}, v)) return false;
  const TensorType &x = a.inputs[0], &table = a.inputs[1], &y = a.outputs[0];
  const FftAttributes& t = a.as<FftAttributes>();
  if (!check_fft_attributes(t, v)) return false;
  if (x.dtype != DType::kF32 && x.dtype != DType::kF64)
    return rules::refuse(v, "fft takes f32 and f64", 0, int64_t(DType::kF32), int64_t(x.dtype));
  if (!rules::check_same_dtype(x, table, 1, v) ||
      !rules::check_same_dtype(x, y, rules::output(0), v))
    return false;
  if (x.rank < 1) return rules::refuse(v, "fft takes rows", 0, 1, 0);
  const int frames = t.step > 0;
  if (y.rank != x.rank + frames)
    return rules::refuse(v, "fft keeps the rows", rules::output(0), x.rank + frames, y.rank);
  for (int i = 0; i + 1 < x.rank; i++)
    if (y.dims[i] != x.dims[i])
      return rules::refuse(v, "fft keeps the rows", rules::output(0), x.dims[i], y.dims[i]);
  const int64_t m = x.dims[x.rank - 1], n = t.length;
  if (!check_row_lengths(t, m, y.dims[y.rank - 1], v)) return false;
  if (frames && y.dims[y.rank - 2] != (m - n) / t.step + 1)
    return rules::refuse(v, "y has a row for each frame", rules::output(0), (m - n) / t.step + 1,
                         y.dims[y.rank - 2]);
  if (table.rank != 1 || table.dims[0] != fft_table_elements(t))
    return rules::refuse(v, "the table is of the length", 1, fft_table_elements(t),
                         table.elements());
  const TensorView* const window = a.optional(2);
  if (!window) return true;
  if (t.kind != FftKind::kFromReal || window->rank != 1 || window->dims[0] != n)
    return rules::refuse(v, "a window is of n real numbers", 2, n, window->elements());
  return rules::check_same_dtype(x, *window, 2, v);
}

ScratchNeed fft_scratch(const OpArguments& a, int) {
  const TensorType& y = a.outputs[0];
  const FftAttributes& t = a.as<FftAttributes>();
  const int64_t plane = fft_plane(t, y.row_length());
  const bool side_by_side = y.dtype == DType::kF32 && y.rows() > 1 && plane <= kMaxFftSideBySide;
  const int64_t lanes = side_by_side ? kFftLanes : 1;
  return {uint64_t(4 * plane * lanes * dtype_bytes(y.dtype)), 0};
}

}  // namespace

FftPlan fft_plan(const FftAttributes& t) {
  const bool real = t.kind == FftKind::kFromReal || t.kind == FftKind::kToReal;
  const bool halves = real && t.length % 2 == 0;
  const int64_t points = halves ? t.length / 2 : t.length;
  if (has_small_factors(points)) return {points, points, halves};
  constexpr int64_t kOdd[] = {1, 3, 5, 9, 15};
  int64_t padded = INT64_MAX;
  for (const int64_t odd : kOdd) {
    int64_t n = odd;
    while (n < 2 * points - 1) n *= 2;
    if (n < padded) padded = n;
  }
  return {points, padded, halves};
}

int64_t fft_table_elements(const FftAttributes& t) {
  const FftPlan plan = fft_plan(t);
  int64_t pairs = 0;
  for (int64_t n = plan.padded; n > 1;) {
    const int radix = fft_radix(n);
    n /= radix;
    pairs += n * (radix - 1);
  }
  if (plan.halves) pairs += plan.points / 2 + 1;
  if (plan.chirp()) pairs += plan.points + plan.padded;
  return 2 * pairs;
}

int64_t fft_plane(const FftAttributes& t, int64_t row_of_y) {
  const FftPlan plan = fft_plan(t);
  const int64_t bins = t.kind == FftKind::kToReal ? plan.points + 1 : row_of_y / 2;
  // planes begin at cache lines, and one lies not a power of two behind the other
  return (most(plan.padded, most(bins, plan.points + 1)) + 15) / 16 * 16 + 16;
}

const OpContract kFftContract = {OpCode::kFft, 1,       2,           3, 1, 1,
                                 check_fft,    nullptr, fft_scratch, 1, 1};

}  // namespace ingot
