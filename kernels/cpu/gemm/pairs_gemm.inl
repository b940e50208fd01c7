// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gemm/pairs_gemm.inl - products of bf16 on x86, whose instructions take pairs of k.
// Both operands lie as they are read, in steps of 32 k that zeros fill up:
//
//   rows      tiles of at most 16 rows  [k / 32][row][32]
//   a panel   [k / 32][16 pairs of k][16 outputs][2]
//
// Format (pairs_amx.inl, pairs_avx512.inl) multiplies up to two tiles of rows by one or two panels:
//   Format(), ~Format()  before the first product and behind the last
//   multiply(PairTile)
#pragma once
#include <cstring>

#include "kernels/cpu/gemm/half_job.inl"

namespace ingot::cpu {
namespace {

constexpr int64_t kPairStep = half_products::kStep, kTileRows = 16;
constexpr int64_t kPairColumns = 256;  // whose sums are kept until rows are written
constexpr int64_t kSumStride =
    kPairColumns + kPanel;  // no power of two, which has few places in L1

/// One or two tiles of rows times one or two panels.
struct PairTile {
  const uint16_t* a[2];
  int64_t rows[2];  // 0: there is one
  const uint16_t* b;
  int64_t steps, panels, panel_elements;
  const float* bias;  // what sums begin with
  float* to;
  int64_t stride;       // elements
  const char* ahead;    // what is packed next, fetched from memory meanwhile
  int64_t ahead_bytes;  // of it with each step
};

/// What both formats have.
struct PairFormat {
  static constexpr ReducedPrecision kPrecision = ReducedPrecision::kBf16;
  static bool pays(int64_t taps, int64_t c, int64_t o, int64_t rows) {
    return half_products::pays_in_tiles(taps, c, o, rows);
  }
  static constexpr bool may_run() { return true; }
  static constexpr bool kTakesBf16Weights = true;
};

INGOT_INLINE __m512i round_32(__m512 low, __m512 high) {
  return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/// A row of a tile, whose steps lie `step` elements apart.
class PairRow {
 public:
  PairRow(int64_t step, uint16_t* to) : to_(to), step_(step) {}

  /// c floats, of null zeros, and zeros up to the next multiple of eight.
  INGOT_INLINE void add(const float* from, int64_t c) {
    if (!from) return add_zeros(round_up(c, 8));
    if (at_ == 0)
      for (; c >= kPairStep; c -= kPairStep, from += kPairStep, to_ += step_)
        _mm512_storeu_si512(to_, round_32(V::load(from), V::load(from + 16)));
    for (; c > 0; c -= 16, from += 16)
      if (at_ % 16 == 0 && c > 8) {
        const __m512 some = c >= 16 ? V::load(from) : V::load_partial(from, c);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to_ + at_),
                            (__m256i)_mm512_cvtneps_pbh(some));
        pass(16);
      } else {
        add_eight(from, c);
        if (c > 8) add_eight(from + 8, c - 8);
      }
  }
  /// The rest of a step that has begun.
  INGOT_INLINE void finish() {
    if (at_ > 0) add_zeros(kPairStep - at_);
  }

 private:
  INGOT_INLINE void pass(int64_t count) {
    if ((at_ += count) == kPairStep) at_ = 0, to_ += step_;
  }
  INGOT_INLINE void add_eight(const float* from, int64_t c) {
    const __m256 eight = _mm256_maskz_loadu_ps(__mmask8(c < 8 ? (1 << c) - 1 : 0xff), from);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to_ + at_), (__m128i)_mm256_cvtneps_pbh(eight));
    pass(8);
  }
  INGOT_INLINE void add_zeros(int64_t c) {
    for (; c > 0; c -= 8) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to_ + at_), _mm_setzero_si128());
      pass(8);
    }
  }
  uint16_t* to_;
  int64_t step_, at_ = 0;
};

/// A row of windows: its pixel of the output, which the next row follows without dividing.
struct PairPixel {
  int64_t image, y, x;
  PairPixel(const HalfJob& j, int64_t row) {
    const int64_t line = row / j.ow;
    x = row - line * j.ow, image = line / j.oh, y = line - image * j.oh;
  }
  void pass(const HalfJob& j) {
    if (++x < j.ow) return;
    x = 0;
    if (++y == j.oh) y = 0, image++;
  }
};

/// The window of an output pixel: `run` taps of a line that lie together are packed as one.
INGOT_INLINE void pack_window(const HalfJob& j, const PairPixel& pixel, int64_t run, PairRow* to) {
  const Conv2dAttributes& t = *j.windows;
  const int64_t y = pixel.y * t.stride_h - t.pad_top, x = pixel.x * t.stride_w - t.pad_left;
  if (x < 0 || x + run > j.in.w) run = 1;
  for (int64_t ky = 0; ky < t.kernel_h; ky++) {
    const int64_t iy = y + ky * t.dilation_h;
    const float* const line = iy >= 0 && iy < j.in.h ? j.in.row(pixel.image, iy) : nullptr;
    for (int64_t kx = 0; kx < t.kernel_w; kx += run) {
      const int64_t ix = x + kx * t.dilation_w;
      to->add(line && ix >= 0 && ix < j.in.w ? line + ix * j.in.pixel_stride : nullptr, run * j.c);
    }
  }
}

/// Rows [row, row + n) as one tile.
inline void pack_pair_tile(const HalfJob& j, int64_t row, int64_t n, uint16_t* to) {
  PairPixel pixel(j, row);
  const bool joins = j.windows && j.windows->dilation_w == 1 && j.in.pixel_stride == j.c;
  for (int64_t i = 0; i < n; i++, pixel.pass(j)) {
    PairRow packed(n * kPairStep, to + i * kPairStep);
    if (j.windows)
      pack_window(j, pixel, joins ? j.windows->kernel_w : 1, &packed);
    else
      packed.add(j.a + (row + i - j.first) * j.a_stride, j.c);
    packed.finish();
  }
}

/// Two rows of a panel, or one and zeros, as rounded to bf16.
INGOT_INLINE __m512i two_rows(const float* from, bool is_one) {
  return round_32(V::load(from), is_one ? V::zero() : V::load(from + kPanel));
}
INGOT_INLINE __m512i two_rows(const uint16_t* from, bool is_one) {
  return is_one ? _mm512_zextsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)))
                : _mm512_loadu_si512(from);
}

/// `rows` rows of a panel as pairs, an odd one with zeros; where the next go.
template <class Number>
INGOT_INLINE uint16_t* pack_pairs(const Number* from, int64_t rows, uint16_t* to) {
  alignas(64) static constexpr uint16_t kTurn[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                     21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                     11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i turn = _mm512_load_si512(kTurn);
  for (int64_t i = 0; i + 2 <= rows; i += 2, from += 2 * kPanel, to += 2 * kPanel) {
    V::prefetch(reinterpret_cast<const float*>(from) + kPrefetch);
    if constexpr (sizeof(Number) == sizeof(float)) V::prefetch(from + kPrefetch + kPanel);
    _mm512_storeu_si512(to, _mm512_permutexvar_epi16(turn, two_rows(from, false)));
  }
  if (rows % 2 == 0) return to;
  _mm512_storeu_si512(to, _mm512_permutexvar_epi16(turn, two_rows(from, true)));
  return to + 2 * kPanel;
}

inline void pack_pair_panel(const HalfJob& j, int64_t panel, int64_t k, uint16_t* to) {
  const int64_t rows = j.taps * j.c;
  uint16_t* const end = to + k * kPanel;
  const int64_t first = panel * rows * kPanel;
  to = j.has_bf16_weights ? pack_pairs(static_cast<const uint16_t*>(j.weights) + first, rows, to)
                          : pack_pairs(static_cast<const float*>(j.weights) + first, rows, to);
  for (; to < end; to += 2 * kPanel) _mm512_storeu_si512(to, _mm512_setzero_si512());
}

/// `n` rows of sums to the output, row by row, since that is what prefetchers see.
INGOT_INLINE void finish_pairs(const Epilogue& e, const float* sums, int64_t stride, int64_t n,
                               int64_t cols, float* out, int64_t out_stride,
                               const float* residual) {
  if (!e.in_registers) return finish_tile<V>(e, sums, stride, n, cols, out, out_stride, residual);
  const __m512 low = V::splat(e.low), high = V::splat(e.high);
  for (int64_t i = 0; i < n; i++, sums += stride, out += out_stride)
    for (int64_t p = 0; p < cols; p += kPanel) {
      const __mmask16 mask = cols - p >= kPanel ? __mmask16(0xffff) : V::tail_mask(cols - p);
      __m512 x = V::load(sums + p), r = V::zero();
      if (residual) r = _mm512_maskz_loadu_ps(mask, residual + i * e.residual_stride + p);
      if (residual && e.residual_first) x = V::add(x, r);
      if (e.clamps) x = V::min(high, V::max(low, x));
      if (residual && !e.residual_first) x = V::add(x, r);
      _mm512_mask_storeu_ps(out + p, mask, x);
    }
}

/// Rows of a tile where `n` are cut: an even number of tiles where there are several, so that two
/// are always multiplied together.
inline int64_t pair_tile_rows(int64_t n) {
  const int64_t tiles = ceil_div(n, kTileRows);
  return ceil_div(n, tiles > 1 ? round_up(tiles, 2) : 1);
}

/// Rows that are packed: tiles in turn.
struct PairRows {
  int64_t row, n, k;
  const uint16_t* at;
  int64_t tile() const { return pair_tile_rows(n); }
  /// The tile of row i and the next one.
  PairTile tiles(int64_t i) const {
    PairTile t = {};
    t.steps = k / kPairStep, t.panel_elements = k * kPanel;
    for (int h = 0; h < 2; h++, i += tile())
      t.a[h] = at + i * k, t.rows[h] = max_of(0, min_of(tile(), n - i));
    return t;
  }
};

inline PairRows pack_pair_rows(const HalfJob& j, int64_t row, int64_t n, int64_t k, uint16_t* to) {
  const PairRows rows{row, n, k, to};
  for (int64_t i = 0; i < n; i += rows.tile())
    pack_pair_tile(j, row + i, min_of(rows.tile(), n - i), to + i * k);
  return rows;
}

/// Up to 32 rows times all panels, which are packed: outputs are written row by row.
template <class Format>
void multiply_all(const HalfJob& j, Format* format, const PairRows& rows, Range panels,
                  const uint16_t* b, float* sums) {
  constexpr int64_t kMaxPanels = kPairColumns / kPanel;
  for (int64_t p = panels.begin; p < panels.end; p += kMaxPanels) {
    const int64_t end = min_of(panels.end, p + kMaxPanels);
    for (int64_t q = p; q < end; q += 2) {
      PairTile t = rows.tiles(0);
      t.ahead = reinterpret_cast<const char*>(b);
      t.b = b + (q - panels.begin) * t.panel_elements, t.panels = min_of(2, end - q);
      t.bias = bias_at(j.bias, q), t.to = sums + (q - p) * kPanel, t.stride = kSumStride;
      format->multiply(t);
    }
    finish_pairs(*j.epilogue, sums, kSumStride, rows.n, min_of(end * kPanel, j.o) - p * kPanel,
                 j.out_at(rows.row) + p * kPanel, j.out_stride,
                 j.residual ? j.residual_at(rows.row) + p * kPanel : nullptr);
  }
}

/// A block of rows times two packed panels, or one.
template <class Format>
void multiply_panels(const HalfJob& j, Format* format, const PairRows& rows, int64_t panel,
                     int64_t panels, int64_t next_panels, const uint16_t* b) {
  alignas(64) float sums[2 * kTileRows * 2 * kPanel];
  const Epilogue& e = *j.epilogue;
  const int64_t cols = min_of(panels * kPanel, j.o - panel * kPanel);
  const bool is_direct = !j.residual && !e.clamps && e.in_registers && cols == panels * kPanel;
  const int64_t size = j.has_bf16_weights ? sizeof(uint16_t) : sizeof(float),
                panel_bytes = j.taps * j.c * kPanel * size,
                steps = rows.k / kPairStep * ceil_div(rows.n, 2 * rows.tile()),
                ahead_bytes = round_up(ceil_div(next_panels * panel_bytes, steps), 64);
  const char* ahead = static_cast<const char*>(j.weights) + (panel + panels) * panel_bytes;
  for (int64_t i = 0; i < rows.n; i += 2 * rows.tile()) {
    float* const out = j.out_at(rows.row + i) + panel * kPanel;
    PairTile t = rows.tiles(i);
    t.b = b, t.panels = panels, t.bias = bias_at(j.bias, panel);
    t.to = is_direct ? out : sums, t.stride = is_direct ? j.out_stride : 2 * kPanel;
    t.ahead = ahead, t.ahead_bytes = ahead_bytes, ahead += t.steps * ahead_bytes;
    format->multiply(t);
    if (!is_direct)
      finish_pairs(e, sums, t.stride, t.rows[0] + t.rows[1], cols, out, j.out_stride,
                   j.residual ? j.residual_at(rows.row + i) + panel * kPanel : nullptr);
  }
}

/// The scratch is room for rows of k: for packed ones, panels of 16 and sums.
template <class Format>
void half_gemm(const HalfJob& j, Range rows, Range panels) {
  if (rows.count() <= 0 || panels.count() <= 0) return;
  constexpr int64_t kTiles = 2 * kTileRows;
  const int64_t k = round_up(j.blocks.k, kPairStep), room = j.blocks.rows + 2 * kPanel,
                some = min_of(rows.count(), kTiles), kept = panels.count() * kPanel;
  uint16_t* const b = reinterpret_cast<uint16_t*>(j.scratch);
  const auto pack_panels = [&](int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; i++) pack_pair_panel(j, first + i, k, b + i * kPanel * k);
  };
  Format format;
  if (kept + some + ceil_div(kTiles * kSumStride * 2, k) <= room) {
    uint16_t* const a = b + kept * k;
    float* const sums = reinterpret_cast<float*>(a + some * k);
    pack_panels(panels.begin, panels.count());
    for (int64_t r = rows.begin; r < rows.end; r += kTiles)
      multiply_all(j, &format, pack_pair_rows(j, r, min_of(kTiles, rows.end - r), k, a), panels, b,
                   sums);
    return;
  }
  uint16_t* const a = b + 2 * kPanel * k;
  const int64_t count = ceil_div(rows.count(), j.blocks.rows),
                step = min_of(j.blocks.rows, round_up(ceil_div(rows.count(), count), kTiles));
  for (int64_t r = rows.begin; r < rows.end; r += step) {
    const PairRows packed = pack_pair_rows(j, r, min_of(step, rows.end - r), k, a);
    for (int64_t p = panels.begin; p < panels.end; p += 2) {
      const int64_t n = min_of(2, panels.end - p);
      pack_panels(p, n);
      multiply_panels(j, &format, packed, p, n, min_of(2, panels.end - p - n), b);
    }
  }
}

/// Divided by panels where rounding them takes longer than rounding the rows.
template <class Format>
void half_gemm_team(const HalfJob& j, int64_t rows, const Team& team) {
  const int64_t panels = ceil_div(j.o, kPanel), pairs = ceil_div(panels, 2);
  if (pairs >= 2 * team.size && panels * kPanel > rows) {
    const Range own = part(pairs, team.id, team.size);
    return half_gemm<Format>(j, {0, rows}, {2 * own.begin, min_of(panels, 2 * own.end)});
  }
  const Range tiles = part(ceil_div(rows, kTileRows), team.id, team.size);
  half_gemm<Format>(j, {min_of(rows, tiles.begin * kTileRows), min_of(rows, tiles.end * kTileRows)},
                    {0, panels});
}

}  // namespace
}  // namespace ingot::cpu
