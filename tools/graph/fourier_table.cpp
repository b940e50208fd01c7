// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/fourier_table.h"

#include <cmath>
#include <complex>

namespace ingot::graph {
namespace {

using Number = std::complex<double>;

/// exp(-2 pi i j / n), exact at the eighths of a turn.
Number root(int64_t j, int64_t n) {
  constexpr double kTurn = 6.283185307179586476925286766559;
  j %= n;
  const int64_t octant = 8 * j / n, quarter = (octant + 1) / 2;  // the nearest axis
  const double angle = kTurn * double(4 * j - quarter * n) / double(4 * n);
  const double c = std::cos(angle), s = std::sin(angle);
  switch (quarter) {
    case 1: return {-s, -c};
    case 2: return {-c, s};
    case 3: return {s, c};
    default: return {c, -s};
  }
}

/// The forward transform by its factors. `roots`: of a length that is a multiple of x's.
std::vector<Number> transformed(const std::vector<Number>& x, const std::vector<Number>& roots) {
  const size_t n = x.size();
  if (n == 1) return x;
  const size_t radix = size_t(fft_radix(int64_t(n))), m = n / radix, turn = roots.size() / n;
  std::vector<Number> y(n);
  for (size_t r = 0; r < radix; r++) {
    std::vector<Number> part(m);
    for (size_t i = 0; i < m; i++) part[i] = x[r + i * radix];
    part = transformed(part, roots);
    for (size_t k = 0, j = 0, at = 0; k < n; k++) {
      const double a = part[j].real(), b = part[j].imag();
      const double c = roots[at].real(), d = roots[at].imag();
      y[k] += Number(a * c - b * d, a * d + b * c);
      if (++j == m) j = 0;
      if ((at += r * turn) >= roots.size()) at -= roots.size();
    }
  }
  return y;
}

}  // namespace

std::vector<double> fourier_table(const FftAttributes& attributes) {
  const FftPlan plan = fft_plan(attributes);
  std::vector<double> table;
  const auto add = [&](const Number& z) { table.push_back(z.real()), table.push_back(z.imag()); };
  for (int64_t n = plan.padded; n > 1;) {
    const int radix = fft_radix(n);
    for (int64_t p = 0; p < n / radix; p++)
      for (int k = 1; k < radix; k++) add(root(p * k, n));
    n /= radix;
  }
  if (plan.halves)
    for (int64_t k = 0; k <= plan.points / 2; k++) add(root(k, attributes.length));
  if (!plan.chirp()) return table;
  std::vector<Number> chirp, inverse(size_t(plan.padded), 0.0);
  for (int64_t k = 0; k < plan.points; k++) {
    chirp.push_back(root(k * k, 2 * plan.points));
    inverse[size_t(k)] = inverse[size_t((plan.padded - k) % plan.padded)] = std::conj(chirp.back());
  }
  for (const Number& z : chirp) add(z);
  std::vector<Number> roots;
  for (int64_t j = 0; j < plan.padded; j++) roots.push_back(root(j, plan.padded));
  for (const Number& z : transformed(inverse, roots)) add(z / double(plan.padded));
  return table;
}

}  // namespace ingot::graph
