// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/cortex_m/bands.inl - bands of convolutions and rows of linear layers over CortexM's
// tiles, in 32-bit arithmetic: a microcontroller has no larger memory. What is rare on one (16-bit
// numbers, weights with zero points, sums in floating point) goes through the templates.
#pragma once
#include "kernels/cpu/quantized/depthwise.inl"
#include "kernels/cpu/quantized/linear.inl"

namespace ingot::cpu {
namespace {

/// V by another name: the templates that are specialized below, as they are.
struct Plain : V {};

/// How sums become bytes here.
enum class StepForm : uint8_t {
  kTemplate,  // as everywhere
  kFloat,  // float_even whose multipliers are numbers, so that limits may be taken after rounding
  kUp,     // fixed point whose shifts all go right, and whose sums stay below 2^30
  kAway,
  kEach  // fixed point where some do not: channels that are always 0 have odd numbers
};

/// Multipliers of outputs 0 .. n - 1 are numbers.
inline bool are_numbers(const float* multipliers, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    uint32_t bits;
    std::memcpy(&bits, multipliers + i, sizeof bits);
    if ((bits >> 23 & 0xff) == 0xff) return false;
  }
  return true;
}
/// Shifts that fixed_pair() takes: to the right by more than 31 is by 31, all of it gone.
INGOT_INLINE bool goes_right(int32_t shift) { return uint32_t(shift) - 1 < 255; }

/// `products`: of one sum.
inline bool are_short(const Requantization& r, int32_t n, int64_t products) {
  constexpr int64_t kMaxSum = (int64_t{1} << 30) - 1, kMaxProduct = 255 * 255;
  if (products > kMaxSum / 2 / kMaxProduct) return false;
  for (int32_t i = 0; i < n; i++)
    if (!goes_right(r.shifts()[i]) || r.bias()[i] > kMaxSum / 2 || r.bias()[i] < -kMaxSum / 2)
      return false;
  return true;
}
inline StepForm step_form(const Requantization& r, int64_t outputs, int64_t products) {
  const int32_t n = int32_t(outputs);
#if defined(__ARM_FP) && (__ARM_FP & 4)
  if (r.mode == RequantMode::kFloatEven)
    return are_numbers(r.floats(1), n) ? StepForm::kFloat : StepForm::kTemplate;
#endif
  const bool is_fixed = r.mode == RequantMode::kFixedUp || r.mode == RequantMode::kFixedAway;
  if (!is_fixed) return StepForm::kTemplate;
  if (!are_short(r, n, products)) return StepForm::kEach;
  return r.mode == RequantMode::kFixedAway ? StepForm::kAway : StepForm::kUp;
}
inline bool takes_fast_rows(const Requantization& r) {
  return !r.to_float() && !r.wants_sums() && !r.words && !is_wide(r.mode);
}

/// Zero point and limits of a step; most networks' upper limit is 255, which one instruction takes.
struct ByteLimits {
  int32_t zero, low, high;
  explicit ByteLimits(const Requantization& r) : zero(r.zero), low(r.low), high(r.high) {}
  INGOT_INLINE uint8_t operator()(int32_t step) const {
    asm("qadd %0, %1, %2" : "=r"(step) : "r"(step), "r"(zero));
    step = step < low ? low : step;
    return uint8_t(step > high ? high : step);
  }
};

#if defined(__ARM_FP) && (__ARM_FP & 4)
/// round(sum * multiplier), ties to even, saturated.
INGOT_INLINE int32_t step_of(int32_t sum, float multiplier) {
  float scaled = float(sum) * multiplier;
  int32_t step;
  asm("vcvtr.s32.f32 %0, %0\n vmov %1, %0" : "+t"(scaled), "=r"(step));
  return step;
}
#endif

/// What fixed_pair() goes through: numbers of one channel after the other.
struct FixedRows {
  const int32_t *sums, *multipliers, *shifts;
  int32_t zero;  // 2 * the zero point + 1: the last bit of a shift rounds
};

/// Of two channels, twice the step and a half that is cut off: (sum * multiplier + 2^30) >> 31 as
/// the upper half of a product twice as large, then the shift, ties upwards; of kAway those of
/// negative numbers go down.
template <bool kIsAway>
INGOT_INLINE void fixed_pair(FixedRows* rows, int32_t (&twice)[2]) {
  int32_t d0, d1, m0, m1;
  asm("ldrd %0, %1, [%4], #8\n"
      "  ldrd %2, %3, [%5], #8\n"
      "  lsl %0, %0, #1\n"
      "  lsl %1, %1, #1\n"
      "  smmulr %0, %0, %2\n"
      "  smmulr %1, %1, %3\n"
      "  ldrd %2, %3, [%6], #8\n"
      : "=&r"(d0), "=&r"(d1), "=&r"(m0), "=&r"(m1), "+r"(rows->sums), "+r"(rows->multipliers),
        "+r"(rows->shifts)
      :
      : "memory");
  if (kIsAway) d0 += d0 >> 31, d1 += d1 >> 31;
  asm("asr %0, %0, %1" : "+r"(d0) : "r"(m0 - 1));  // by up to 254, which C++ does not have
  asm("asr %0, %0, %1" : "+r"(d1) : "r"(m1 - 1));
  twice[0] = d0 + rows->zero, twice[1] = d1 + rows->zero;
}

/// The same two by two; of an odd number the last one twice.
template <bool kIsAway>
INGOT_INLINE void store_fixed(const Requantization& r, const int32_t* sums, int32_t o, uint8_t* out,
                              int32_t n) {
  FixedRows rows = {sums, r.rows[1] + o, r.rows[2] + o, 2 * r.zero + 1};
  int32_t twice[2];
  if (r.low == 0 && r.high == 255) {
    const auto limited = [](int32_t x) {
      asm("usat %0, #8, %0, asr #1" : "+r"(x));
      return uint8_t(x);
    };
    for (; n > 1; n -= 2) {
      fixed_pair<kIsAway>(&rows, twice);
      *out++ = limited(twice[0]), *out++ = limited(twice[1]);
    }
  } else {
    const int32_t low = r.low, high = r.high;
    const auto limited = [&](int32_t x) {
      x >>= 1, x = x < low ? low : x;
      return uint8_t(x > high ? high : x);
    };
    for (; n > 1; n -= 2) {
      fixed_pair<kIsAway>(&rows, twice);
      *out++ = limited(twice[0]), *out++ = limited(twice[1]);
    }
  }
  if (n == 0) return;
  const int32_t step = requantize_fixed(r.mode, *rows.sums, *rows.multipliers, *rows.shifts);
  *out = ByteLimits(r)(step);
}
/// Each by itself, with the whole product.
INGOT_APART void store_each(const Requantization& r, const int32_t* sums, int32_t o, uint8_t* out,
                            int32_t n) {
  const ByteLimits limited(r);
  const int32_t *multipliers = r.rows[1] + o, *shifts = r.rows[2] + o;
  const int32_t away = r.mode == RequantMode::kFixedAway ? -1 : 0;
  for (const int32_t* const end = sums + n; sums != end; sums++) {
    const int32_t multiplier = *multipliers++, shift = *shifts++;
    int32_t d = int32_t((int64_t(*sums) * multiplier + (int64_t{1} << 30)) >> 31);
    if (__builtin_expect(shift > 0 && multiplier > 0, 1)) {
      d += d >> 31 & away;
      d >>= (shift > 31 ? 31 : shift) - 1;
      d = (d >> 1) + (d & 1);
    } else {
      d = requantize_fixed(r.mode, *sums, multiplier, shift);
    }
    *out++ = limited(d);
  }
}

/// Sums of channels o .. o + 15 -> n <= 16 bytes.
INGOT_APART void store_steps(const Requantization& r, StepForm form, int32_t (&sums)[kPanel],
                             int32_t o, uint8_t* out, int32_t n) {
  switch (form) {
#if defined(__ARM_FP) && (__ARM_FP & 4)
    case StepForm::kFloat: {
      const ByteLimits limited(r);
      for (int32_t i = 0; i < n; i++) out[i] = limited(step_of(sums[i], r.floats(1)[o + i]));
      return;
    }
#endif
    case StepForm::kUp: return store_fixed<false>(r, sums, o, out, n);
    case StepForm::kAway: return store_fixed<true>(r, sums, o, out, n);
    case StepForm::kEach: return store_each(r, sums, o, out, n);
    default: return requantize<Plain>(r, RowQuantParams(), sums, o, out, n);
  }
}

/// Runs of a band's windows, as segments of one pixel's.
struct BandRuns {
  const Segment* segments;
  int32_t count, length;
};
/// Apart from what calls it, so that the pixels' room is on the stack here alone.
INGOT_APART void convolve_band(const Int8ConvJob& j, const Int8Band& band, Range rows, Range cols,
                               Range panels, const BandRuns& runs) {
  const Requantization& r = *j.requantization;
  const int32_t panel_bytes = runs.count * runs.length * kPanel, pixels = int32_t(cols.count()),
                stride = int32_t(j.t->stride_w * band.pixel_stride),
                out_stride = int32_t(j.out.pixel_stride);
  const StepForm form = step_form(r, j.out.c, runs.count * runs.length);
  CortexM::Tile tile;
  for (int32_t y = int32_t(rows.begin); y < int32_t(rows.end); y++) {
    const uint8_t* const at =
        band.at + (y - int32_t(rows.begin)) * int32_t(j.t->stride_h * band.row_stride);
    uint8_t* const out = j.out.row(y) + int32_t(cols.begin) * out_stride;
    for (int32_t x = 0; x < pixels; x += CortexM::kPixels) {
      const uint8_t* from[CortexM::kPixels];
      for (int32_t i = 0; i < CortexM::kPixels; i++)  // the last one again where there are fewer
        from[i] = at + (x + i < pixels ? x + i : pixels - 1) * stride;
      tile.begin(runs.segments, runs.count, runs.length, from);
      for (int32_t p = int32_t(panels.begin); p < int32_t(panels.end); p++) {
        const int32_t o = p * kPanel, left = int32_t(j.out.c) - o,
                      outputs = left < kPanel ? left : kPanel;
        int32_t sums[CortexM::kPixels][kPanel];
        tile.sums(j.weights + p * panel_bytes, r.starts(o), outputs, sums);
        for (int32_t i = 0; i < CortexM::kPixels && x + i < pixels; i++)
          store_steps(r, form, sums[i], o, out + (x + i) * out_stride + o, outputs);
      }
    }
  }
}

template <>
void int8_conv_band<V>(const Int8ConvJob& j, const Int8Band& band, Range rows, Range cols,
                       Range panels) {
  if (j.scratch->plane || !takes_fast_rows(*j.requantization))
    return int8_conv_band<Plain>(j, band, rows, cols, panels);
  Segment* const segments = reinterpret_cast<Segment*>(j.memory);
  int64_t length = 0;
  const int64_t count = fill_int8_segments(*j.t, j.in.c, band, segments, &length);
  convolve_band(j, band, rows, cols, panels, {segments, int32_t(count), int32_t(length)});
}

/// Most taps whose places fit the local table; larger windows go through the template.
constexpr int32_t kMaxTaps = 32;

template <>
void depthwise_bytes_band<V>(const Int8ConvJob& j, const Int8Band& band, Range rows, Range cols,
                             int64_t c, const int16_t* pairs) {
  const QuantizedConv2dAttributes& t = *j.t;
  const Requantization& r = *j.requantization;
  const uint64_t all = uint64_t(t.kernel_h) * t.kernel_w;
  // four channels are read at a time: those past the last are inside the band or its slack, or of
  // the next pixel
  if (j.scratch->plane || all > uint64_t(kMaxTaps) || !takes_fast_rows(r) ||
      (!j.scratch->copies && j.in.c % 4 != 0))
    return depthwise_bytes_band<Plain>(j, band, rows, cols, c, pairs);
  const Segment* const segments = reinterpret_cast<const Segment*>(j.memory);
  const int32_t taps = int32_t(all);
  const StepForm form = step_form(r, j.in.c, taps);
  int32_t offsets[kMaxTaps + 1];
  for (int32_t k = 0; k < taps; k++) offsets[k] = int32_t(segments[k].a);
  offsets[taps] = offsets[taps - 1];  // its weight is zero
  const int32_t left = int32_t(j.in.c - c), channels = left < kPanel ? left : kPanel;
  for (int32_t y = 0; y < int32_t(rows.count()); y++) {
    const uint8_t* at = band.at + y * int32_t(t.stride_h * band.row_stride) + int32_t(c);
    uint8_t* out = j.out.row(rows.begin + y) + cols.begin * j.out.pixel_stride + c;
    for (int32_t x = 0; x < int32_t(cols.count()); x++) {
      int32_t sums[kPanel];
      CortexM::depthwise(at, offsets, taps, pairs, r.starts(c), channels, sums);
      store_steps(r, form, sums, int32_t(c), out, channels);
      at += int32_t(t.stride_w * band.pixel_stride), out += int32_t(j.out.pixel_stride);
    }
  }
}

template <>
void multiply_int8_rows<V>(Int8TileShape shape, const TensorView& x, const TensorView* steps,
                           Range rows, Range panels, const int8_t* w, uint8_t* out, int64_t o,
                           void* scratch) {
  const Requantization& r = *shape.requantization;
  const int64_t k = x.row_length();
  if (x.dtype != DType::kU8 || k % 4 != 0 || !takes_fast_rows(r))
    return multiply_int8_rows<Plain>(shape, x, steps, rows, panels, w, out, o, scratch);
  const StepForm form = step_form(r, o, k);
  for (int64_t i = rows.begin; i < rows.end; i++)
    for (int32_t p = int32_t(panels.begin); p < int32_t(panels.end); p++) {
      const int32_t from = p * kPanel, left = int32_t(o) - from,
                    outputs = left < kPanel ? left : kPanel;
      int32_t sums[kPanel];
      CortexM::row(x.as<const uint8_t>() + i * x.row_stride, int32_t(k),
                   w + p * int32_t(shape.panel_stride), r.starts(from), outputs, sums);
      store_steps(r, form, sums, from, out + i * shape.out_stride + from, outputs);
    }
}

/// Words where four bytes are left: a firmware's own memcpy goes byte by byte.
template <>
INGOT_INLINE void copy_bytes<V>(uint8_t* to, const uint8_t* from, int64_t n) {
  int32_t left = int32_t(n);
  for (; left >= 4; left -= 4, to += 4, from += 4) {
    uint32_t word;
    std::memcpy(&word, from, sizeof word);
    std::memcpy(to, &word, sizeof word);
  }
  for (; left > 0; left--) *to++ = *from++;
}
template <>
INGOT_INLINE void fill_bytes<V>(uint8_t* to, uint8_t byte, int64_t n) {
  const uint32_t word = byte * 0x01010101u;
  int32_t left = int32_t(n);
  for (; left >= 4; left -= 4, to += 4) std::memcpy(to, &word, sizeof word);
  for (; left > 0; left--) *to++ = byte;
}

}  // namespace
}  // namespace ingot::cpu
