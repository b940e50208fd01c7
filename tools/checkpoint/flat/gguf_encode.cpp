// SPDX-License-Identifier: Apache-2.0
// Sums go in eight lanes in one order, for vectors and with the same bytes on every machine.
#include "tools/checkpoint/flat/gguf_encode.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tools/files/half.h"

namespace ingot::checkpoint {
namespace {

constexpr int kLanes = 8;
/// As a file keeps it.
float in_half(float x) { return host::widen_f16(host::narrow_f16(x)); }
float in_half(double x) { return in_half(float(x)); }
/// Never 0 where it was not: all of a block would be its minimum.
template <class T>
float scale_in_half(T x) {
  const float half = in_half(x);
  return half == 0 && x != 0 ? std::copysign(0x1p-24f, float(x)) : half;
}

/// Nearest code, ties to even. @pre |x| < 2^22
inline float rounded(float x) {
  constexpr float kShift = 12582912;  // 1.5 * 2^23: behind it there are no fractions
  return (x + kShift) - kShift;
}
inline float code_of(float x, float low, float high) {
  x = x < low ? low : x;
  return rounded(x > high ? high : x);
}

/// w = scale * code + minimum, codes from `low` to `high`.
struct CodeRange {
  float low, high;
};
struct Fit {
  float scale = 0, minimum = 0;
};

template <int N>
double sum(const float (&lanes)[N]) {
  double all = 0;
  for (const float lane : lanes) all += double(lane);
  return all;
}

/// The nearest codes, and the squared error that is left.
template <int N>
double choose_codes(const float* x, const Fit& fit, const CodeRange& range, float* codes) {
  const float inverse = fit.scale != 0 ? 1 / fit.scale : 0;
  float error[kLanes] = {};
  for (int i = 0; i < N; i += kLanes)
    for (int l = 0; l < kLanes; l++) {
      const float code = code_of((x[i + l] - fit.minimum) * inverse, range.low, range.high);
      const float apart = x[i + l] - (fit.scale * code + fit.minimum);
      codes[i + l] = code;
      error[l] += apart * apart;
    }
  return sum(error);
}

/// Sums over the codes that (x - offset) * inverse gives.
struct Sums {
  double codes, squares, products, values;  // c, c c, c x, x: of x - offset
};
template <int N>
Sums sums_of(const float* x, float offset, float inverse, const CodeRange& range) {
  float c[kLanes] = {}, cc[kLanes] = {}, cx[kLanes] = {}, v[kLanes] = {};
  for (int i = 0; i < N; i += kLanes)
    for (int l = 0; l < kLanes; l++) {
      const float value = x[i + l] - offset, code = code_of(value * inverse, range.low, range.high);
      c[l] += code;
      cc[l] += code * code;
      cx[l] += code * value;
      v[l] += value;
    }
  return {sum(c), sum(cc), sum(cx), sum(v)};
}

template <int N>
float largest(const float* x) {
  float most = x[0];
  for (int i = 1; i < N; i++)
    if (std::fabs(x[i]) > std::fabs(most)) most = x[i];
  return most;
}

constexpr int kSteps = 9;  // of a tenth of a code, to each side of the usual choice

/// The scale of the least error, of codes around zero. Where one side has a code more than the
/// other, the largest number may take either.
template <int N>
float fit_scale(const float* x, const CodeRange& range) {
  const float most = largest<N>(x);
  if (most == 0) return 0;
  double best = 0, scale = 0;
  for (const float end : {range.low, range.high}) {
    if (end == range.high && range.high == -range.low) break;
    for (int step = -kSteps; step <= kSteps; step++) {
      const float inverse = (end + (end < 0 ? -.1f : .1f) * float(step)) / most;
      const Sums s = sums_of<N>(x, 0, inverse, range);
      if (s.squares > 0 && s.products * s.products > best * s.squares)
        best = s.products * s.products / s.squares, scale = s.products / s.squares;
    }
  }
  return float(scale);
}

/// The same with a minimum; `below_zero`: which is not above it.
template <int N>
Fit fit_range(const float* x, const CodeRange& range, bool below_zero) {
  float low = x[0], high = x[0];
  for (int i = 1; i < N; i++) low = std::min(low, x[i]), high = std::max(high, x[i]);
  if (below_zero) low = std::min(low, 0.f);
  if (high <= low) return {0, low};
  Fit best{(high - low) / range.high, low};
  double least = 0;
  for (int step = -kSteps; step <= kSteps; step++) {
    const Sums s = sums_of<N>(x, low, (range.high + .1f * float(step)) / (high - low), range);
    const double spread = N * s.squares - s.codes * s.codes;
    if (spread <= 0) continue;
    double scale = (N * s.products - s.values * s.codes) / spread;
    double minimum = (s.squares * s.values - s.codes * s.products) / spread;
    if (below_zero && minimum + double(low) > 0) {
      minimum = -double(low);
      scale = (s.products - minimum * s.codes) / s.squares;
    }
    // less the sum of x x, which is the same for all
    const double error = scale * (scale * s.squares - 2 * s.products + 2 * minimum * s.codes) +
                         minimum * (N * minimum - 2 * s.values);
    if (error < least) least = error, best = {float(scale), float(minimum + double(low))};
  }
  return best;
}

struct Blocks32 {
  Fit fit;
  float codes[32];
};

/// With the scale and the minimum as 16 bits: from each start on, codes and fits in turns.
template <size_t kStarts>
Blocks32 settle(const float* x, const CodeRange& range, bool has_minimum,
                const Fit (&starts)[kStarts]) {
  Blocks32 best;
  double least = INFINITY;
  for (const Fit& start : starts) {
    Fit fit = {scale_in_half(start.scale), in_half(start.minimum)};
    float codes[32];
    for (int turn = 0; turn < 4; turn++) {
      const double error = choose_codes<32>(x, fit, range, codes);
      if (turn == 0 && least == INFINITY) std::copy_n(codes, 32, best.codes), best.fit = fit;
      if (error >= least) break;
      least = error, best.fit = fit;
      std::copy_n(codes, 32, best.codes);
      double c = 0, cc = 0, cx = 0, v = 0;
      for (int i = 0; i < 32; i++) {
        const double code = double(codes[i]), value = double(x[i]);
        c += code, cc += code * code, cx += code * value, v += value;
      }
      const double spread = 32 * cc - c * c;
      if (has_minimum && spread > 0) fit.minimum = in_half((cc * v - c * cx) / spread);
      if (cc > 0) fit.scale = scale_in_half((cx - double(fit.minimum) * c) / cc);
    }
  }
  return best;
}

void put_half(float x, uint8_t* at) {
  const uint16_t bits = host::narrow_f16(x);
  at[0] = uint8_t(bits), at[1] = uint8_t(bits >> 8);
}
/// Low four bits of 32 codes; the fifth ones are bits of a word in front of them.
void put_codes(const Blocks32& b, const CodeRange& range, bool has_fifth, uint8_t* at) {
  uint32_t fifths = 0;
  uint8_t* const low = at + (has_fifth ? 4 : 0);
  for (int i = 0; i < 32; i++) {
    const int code = int(b.codes[i] - range.low);
    fifths |= uint32_t(code >> 4) << i;
    low[i % 16] = uint8_t(i < 16 ? code & 15 : low[i % 16] | (code & 15) << 4);
  }
  for (int i = 0; has_fifth && i < 4; i++) at[i] = uint8_t(fifths >> 8 * i);
}

Blocks32 around_zero(const float* x, const CodeRange& range) {
  const Fit starts[] = {{fit_scale<32>(x, range)}, {largest<32>(x) / range.low}};
  return settle(x, range, false, starts);
}
Blocks32 with_minimum(const float* x, const CodeRange& range) {
  float low = x[0], high = x[0];
  for (int i = 1; i < 32; i++) low = std::min(low, x[i]), high = std::max(high, x[i]);
  const Fit starts[] = {fit_range<32>(x, range, false), {(high - low) / range.high, low}};
  return settle(x, range, true, starts);
}
void put_around_zero(const float* x, const CodeRange& range, bool has_fifth, uint8_t* block) {
  const Blocks32 b = around_zero(x, range);
  put_half(b.fit.scale, block);
  put_codes(b, range, has_fifth, block + 2);
}
void put_with_minimum(const float* x, const CodeRange& range, bool has_fifth, uint8_t* block) {
  const Blocks32 b = with_minimum(x, range);
  put_half(b.fit.scale, block);
  put_half(b.fit.minimum, block + 2);
  put_codes(b, range, has_fifth, block + 4);
}

/// 256 weights: parts of N with a whole factor each of one scale, and of one minimum.
template <int N>
struct Super {
  static constexpr int kParts = 256 / N;
  Fit fit;  // the minimum is taken away
  int scales[kParts], minima[kParts];
  float codes[256];
};
struct Factors {
  int low, high;
  bool has_minimum;
};

/// Of one part: the whole factors near the real ones that leave the least error.
template <int N>
double choose_factors(const float* x, const Fit& wanted, const Fit& of, const CodeRange& range,
                      const Factors& factors, int* scale, int* minimum, float* codes) {
  const auto whole = [](float part, float unit) {
    return unit != 0 ? int(std::clamp(std::nearbyint(part / unit), -128.f, 127.f)) : 0;
  };
  const int s0 = whole(wanted.scale, of.scale), m0 = whole(-wanted.minimum, of.minimum);
  const int reach = factors.has_minimum ? 1 : 0;
  double least = INFINITY;
  for (int s = s0 - 1; s <= s0 + 1; s++)
    for (int m = m0 - reach; m <= m0 + reach; m++) {
      const int at = std::clamp(s, factors.low, factors.high);
      const int below = std::clamp(m, 0, factors.high);
      float found[N];
      const double error =
          choose_codes<N>(x, {of.scale * float(at), -of.minimum * float(below)}, range, found);
      if (error >= least) continue;
      least = error, *scale = at, *minimum = factors.has_minimum ? below : 0;
      std::copy_n(found, N, codes);
    }
  return least;
}

/// The scale and the minimum that fit the codes and factors best, as 16 bits.
template <int N>
Fit refit(const float* x, const Super<N>& s, bool has_minimum) {
  double aa = 0, ab = 0, bb = 0, ax = 0, bx = 0;
  for (int i = 0; i < 256; i++) {
    const double a = double(s.codes[i]) * s.scales[i / N], b = -s.minima[i / N];
    aa += a * a, ab += a * b, bb += b * b;
    ax += a * double(x[i]), bx += b * double(x[i]);
  }
  const double spread = aa * bb - ab * ab;
  Fit fit = s.fit;
  if (has_minimum && spread > 0) fit.minimum = in_half((aa * bx - ab * ax) / spread);
  if (aa > 0) fit.scale = scale_in_half((ax - double(fit.minimum) * ab) / aa);
  return fit;
}

template <int N>
Super<N> fit_super(const float* x, const CodeRange& range, const Factors& factors) {
  Super<N> best{}, s{};
  Fit parts[Super<N>::kParts];
  float most = 0, deepest = 0;
  for (int p = 0; p < s.kParts; p++) {
    parts[p] = factors.has_minimum ? fit_range<N>(x + N * p, range, true)
                                   : Fit{fit_scale<N>(x + N * p, range)};
    if (std::fabs(parts[p].scale) > std::fabs(most)) most = parts[p].scale;
    deepest = std::max(deepest, -parts[p].minimum);
  }
  // the side with a factor more, where there are two
  const int end = factors.low < 0 ? factors.low : factors.high;
  s.fit = {scale_in_half(most / float(end)), scale_in_half(deepest / float(factors.high))};
  double least = INFINITY;
  for (int turn = 0; turn < 4; turn++) {
    double error = 0;
    for (int p = 0; p < s.kParts; p++)
      error += choose_factors<N>(x + N * p, parts[p], s.fit, range, factors, &s.scales[p],
                                 &s.minima[p], s.codes + N * p);
    if (turn && error >= least) break;
    least = error, best = s;
    s.fit = refit(x, s, factors.has_minimum);
    if (s.fit.scale == best.fit.scale && s.fit.minimum == best.fit.minimum) break;
  }
  return best;
}

/// Scales and minima of eight parts, six bits each, in twelve bytes.
Super<32> put_eights(const float* x, const CodeRange& range, uint8_t* block) {
  const Super<32> s = fit_super<32>(x, range, {0, 63, true});
  put_half(s.fit.scale, block);
  put_half(s.fit.minimum, block + 2);
  for (int j = 0; j < 4; j++) {
    block[4 + j] = uint8_t(s.scales[j] | s.scales[j + 4] >> 4 << 6);
    block[8 + j] = uint8_t(s.minima[j] | s.minima[j + 4] >> 4 << 6);
    block[12 + j] = uint8_t((s.scales[j + 4] & 15) | (s.minima[j + 4] & 15) << 4);
  }
  return s;
}
/// Nibbles of pairs of 32, which share 32 bytes.
void put_nibbles(const float* codes, uint8_t* at) {
  for (int i = 0; i < 128; i++) {
    const float* const pair = codes + i / 32 * 64 + i % 32;
    at[i] = uint8_t((int(pair[0]) & 15) | (int(pair[32]) & 15) << 4);
  }
}

constexpr CodeRange k4{-8, 7}, k5{-16, 15}, k8{-127, 127}, kFifteen{0, 15}, kThirtyOne{0, 31},
    k6{-32, 31};

}  // namespace

void encode_q4_0(const float* x, uint8_t* block) { put_around_zero(x, k4, false, block); }
void encode_q5_0(const float* x, uint8_t* block) { put_around_zero(x, k5, true, block); }
void encode_q4_1(const float* x, uint8_t* block) { put_with_minimum(x, kFifteen, false, block); }
void encode_q5_1(const float* x, uint8_t* block) { put_with_minimum(x, kThirtyOne, true, block); }
void encode_q8_0(const float* x, uint8_t* block) {
  const Blocks32 b = around_zero(x, k8);
  put_half(b.fit.scale, block);
  for (int i = 0; i < 32; i++) block[2 + i] = uint8_t(int8_t(b.codes[i]));
}

void encode_q4_k(const float* x, uint8_t* block) {
  put_nibbles(put_eights(x, kFifteen, block).codes, block + 16);
}
void encode_q5_k(const float* x, uint8_t* block) {
  const Super<32> s = put_eights(x, kThirtyOne, block);
  std::fill_n(block + 16, 32, uint8_t(0));
  for (int i = 0; i < 256; i++) block[16 + i % 32] |= uint8_t(int(s.codes[i]) >> 4 << i / 32);
  put_nibbles(s.codes, block + 48);
}
void encode_q6_k(const float* x, uint8_t* block) {
  const Super<16> s = fit_super<16>(x, k6, {-128, 127, false});
  std::fill_n(block, 192, uint8_t(0));
  for (int i = 0; i < 256; i++) {
    const int code = int(s.codes[i] - k6.low), outer = i / 128, part = i % 128 / 32;
    block[outer * 64 + part % 2 * 32 + i % 32] |= uint8_t((code & 15) << part / 2 * 4);
    block[128 + outer * 32 + i % 32] |= uint8_t(code >> 4 << part * 2);
  }
  for (int p = 0; p < 16; p++) block[192 + p] = uint8_t(int8_t(s.scales[p]));
  put_half(s.fit.scale, block + 208);
}

}  // namespace ingot::checkpoint
