// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/fft.cpp - Fft by its definition: every number times every root of unity.
#include "runtime/op/fft.h"

#include <cmath>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {
namespace {

constexpr int kFew = 64;
struct Complex {
  double re, im;
};
/// Number j of the row that begins at `start`: what it lacks is zero, and what a real row leaves
/// out are the conjugates.
Complex number_of(const OpArguments& a, int64_t start, int64_t j) {
  const TensorView& x = a.inputs[0];
  const FftAttributes& t = a.as<FftAttributes>();
  const int64_t n = t.length, m = t.step > 0 ? n : x.row_length();
  if (t.kind == FftKind::kFromReal) {
    if (j >= m) return {0, 0};
    const TensorView* const window = a.optional(2);
    return {read(x, start + j) * (window ? read(*window, j) : 1), 0};
  }
  const bool to_real = t.kind == FftKind::kToReal, mirrored = to_real && j > n / 2;
  const int64_t at = mirrored ? n - j : j;
  if (2 * at + 1 >= m) return {0, 0};
  const bool alone = to_real && 2 * at % n == 0;
  return {read(x, start + 2 * at), alone ? 0 : (mirrored ? -1 : 1) * read(x, start + 2 * at + 1)};
}

}  // namespace

Status fft(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const FftAttributes& t = a.as<FftAttributes>();
  const int64_t n = t.length;
  const bool inverse = t.kind == FftKind::kInverse || t.kind == FftKind::kToReal;
  const bool real = t.kind == FftKind::kToReal;
  for (int64_t row = 0; row < y.rows(); row++) {
    const int64_t frames = t.step > 0 ? int64_t{y.dims[y.rank - 2]} : 1;
    const int64_t start = row / frames * x.row_stride + row % frames * t.step;
    // Zeros add nothing: a long row of few numbers is as cheap as a short one.
    Complex few[kFew];
    int64_t at[kFew], count = 0;
    for (int64_t j = 0; j < n && count <= kFew; j++) {
      const Complex z = number_of(a, start, j);
      if (z.re == 0 && z.im == 0) continue;
      if (count < kFew) few[count] = z, at[count] = j;
      count++;
    }
    const bool sparse = count <= kFew;
    for (int64_t b = 0; b < y.row_length(); b++) {
      const int64_t k = real ? b : b / 2;
      Complex sum = {0, 0};
      for (int64_t i = 0; i < (sparse ? count : n); i++) {
        const int64_t j = sparse ? at[i] : i;
        const Complex z = sparse ? few[i] : number_of(a, start, j);
        const double angle = 6.283185307179586476925 * double(j * k % n) / double(n);
        const double cosine = std::cos(angle), sine = inverse ? std::sin(angle) : -std::sin(angle);
        sum.re += z.re * cosine - z.im * sine, sum.im += z.re * sine + z.im * cosine;
      }
      const double value = real || b % 2 == 0 ? sum.re : sum.im;
      write(y, row * y.row_stride + b, inverse ? value / double(n) : value);
    }
  }
  return {};
}

}  // namespace ingot::cpu::oracle
