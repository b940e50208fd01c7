// SPDX-License-Identifier: Apache-2.0
// runtime/op/fft.h - Fft: discrete Fourier transforms of rows. x [.., m], table [t], window? [n]
// -> y [.., b], all f32 or all f64. A complex number is two elements, the real part first; what a
// row lacks of its n numbers is zero.
//
//   kind        a row of x                     a row of y
//   kForward    up to n complex numbers        n complex numbers
//   kInverse    up to n complex numbers        n complex numbers, divided by n
//   kFromReal   up to n numbers                n/2 + 1 complex numbers, or all n
//   kToReal     up to n/2 + 1 complex ones     n numbers, divided by n: the inverse of kFromReal.
//                                              Imaginary parts of bin 0 and, where n is even, of
//                                              bin n/2 count as zero
//
// kFromReal with `step` > 0: a row of x is a signal of at least n numbers; y [.., frames, b] has a
// transform of the n numbers from every step-th place on, frames = (m - n) / step + 1. `window`
// (kFromReal) multiplies the numbers before they are transformed.
//
// The order of operations is fixed, and none is contracted, so all instruction sets and numbers of
// threads give the same bits. fft_plan() says how many complex points are transformed: of an even
// number of real numbers, two make a point. Points whose only factors are 2, 3 and 5 go through
// Stockham's passes, radix 4 first, then 2, 3, 5 (fft_radix()). All others are a convolution with
// a chirp (Bluestein) of `padded` points, which are. The table has in this order, in pairs (real,
// imaginary), w(i, n) = exp(-2 pi i j / n):
//   of each pass over n points of radix r: for p < n/r, for k = 1 .. r-1: w(p * k, n)
//   where two numbers make a point: w(k, n), k = 0 .. points/2
//   with a chirp: c(k) = w(k * k, 2 * points), k < points; then the transform of 1/c, where k and
//   padded - k have the same factor and others are 0, divided by padded
// tools/graph/fourier_table.h makes it. No word of it is an index: nothing trusts it.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

enum class FftKind : uint8_t { kForward = 0, kInverse = 1, kFromReal = 2, kToReal = 3 };
struct FftAttributes {
  FftKind kind = FftKind::kForward;
  uint32_t length = 1;  // n
  uint32_t step = 0;    // 0: a row is one transform
};
constexpr uint32_t kMaxFftLength = 1u << 22;

struct FftPlan {
  int64_t points;  // of the complex transform
  int64_t padded;  // points, or those of the convolution with a chirp
  bool halves;     // two real numbers make a point
  bool chirp() const { return padded != points; }
};
/// @pre 1 <= length <= kMaxFftLength
FftPlan fft_plan(const FftAttributes& attributes);
/// The radix of the pass over n points that comes next. @pre n > 1
constexpr int fft_radix(int64_t n) { return n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : n % 3 == 0 ? 3 : 5; }
int64_t fft_table_elements(const FftAttributes& attributes);

/// Rows that are transformed side by side, an element of each in a lane, and elements of one row of
/// one of their four planes.
constexpr int kFftLanes = 16;
constexpr int64_t kMaxFftSideBySide = 4096;
int64_t fft_plane(const FftAttributes& attributes, int64_t row_of_y);

extern const OpContract kFftContract;

}  // namespace ingot
