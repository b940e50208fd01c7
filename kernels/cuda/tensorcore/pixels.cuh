// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/pixels.cuh - from x into shared memory: a tile of kRows pixels x 16 words
// of k, a row 64 bytes. The 16-byte piece c of row r lies at c ^ (r >> 1 & 3): reads of fragments
// (two neighbouring rows, four pieces) and writes of single words (many rows, one piece) both
// spread over the banks.
#pragma once
#include "kernels/cpu/simd/inline.h"
#include "kernels/cuda/device/async_copy.cuh"
#include "kernels/cuda/device/computed_once.cuh"
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/tensorcore/weights.cuh"

namespace ingot::cuda {

GPU_FN int pixel_offset(int row, int piece) {
  return row * 64 + ((piece ^ (row >> 1 & 3)) << 4);  // eight rows on: 512 bytes
}
/// Rounds four words to tf32 where they lie.
GPU_FN void round_piece(char* at) {
  uint32_t x[4];
  load_shared(x, at);
  *reinterpret_cast<FourOf<uint32_t>*>(at) = {{near_tf32(float_of(x[0])), near_tf32(float_of(x[1])),
                                               near_tf32(float_of(x[2])),
                                               near_tf32(float_of(x[3]))}};
}
GPU_FN char* pixel_piece(char* tile, int row, int piece) { return tile + pixel_offset(row, piece); }

/// Rows of k neighbouring words: Linear, MatMul, 1x1 convolutions. k and the strides are multiples
/// of 4, x is 16-byte aligned. Rows that the tile has beyond the last are another one: their sums
/// are not stored.
template <int kRows, int kStepsPerStage, int kThreads>
struct RowPixels {
  static constexpr bool kRoundsOnce = false;  // see product.cuh
  static constexpr int kTable = 0, kPieces = kRows * 4 / kThreads, kApart = kThreads / 4;
  using From = PieceFrom<has_whole_steps(kThreads)>;
  From from[kPieces];
  int to, steps;  // steps: that have this thread's piece, from `from` on
  GPU_FN RowPixels make(const ProductParams& p, const float* x, int first, int k) {
    RowPixels s;
    const int piece = int(threadIdx.x) % 4, row = int(threadIdx.x) / 4;
    s.steps = steps_with(p.k - k - piece * 4), s.to = pixel_offset(row, piece);
    INGOT_UNROLL for (int i = 0; i < kPieces; i++) {
      const int m = first + row + i * kApart;
      s.from[i] = From::make(p.x, x + int64_t(m < p.m ? m : 0) * p.pixel_stride + k + piece * 4);
    }
    return s;
  }
  GPU_MEMBER void load(const ProductParams& p, int step, char* tile) {
    INGOT_UNROLL for (int half = 0; half < kStepsPerStage; half++)
        INGOT_UNROLL for (int i = 0; i < kPieces; i++) copy_async16(
            tile + to + (half * kRows + i * kApart) * 64, from[i].pieces_on(p.x, (step + half) * 4),
            has_whole_steps(kThreads) || step + half < steps);
  }
  /// Of a stage what this thread has copied.
  GPU_MEMBER void round(Tf32, char* tile) const {
    INGOT_UNROLL for (int half = 0; half < kStepsPerStage; half++)
        INGOT_UNROLL for (int i = 0; i < kPieces; i++)
            round_piece(tile + to + (half * kRows + i * kApart) * 64);
  }
  /// What `step` counts from.
  GPU_MEMBER void skip(int count) {
    INGOT_UNROLL for (int i = 0; i < kPieces; i++) from[i].skip(count * 4);
    steps -= count;
  }
};

/// What lies outside of an image: zeros.
struct ZeroBorder {
  GPU_FN ZeroBorder make(const ProductParams&, int) { return {}; }
  /// 16 bytes of a tap. `exists`: the window has it; else it is not inside.
  GPU_MEMBER void copy(void* to, const void* from, bool, bool is_inside) const {
    copy_async16(to, from, is_inside);
  }
};

/// Windows of images with neighbouring channels, four at a time: c and the strides are multiples
/// of 4, x is 16-byte aligned, kernels are at most kMaxTapRows x 16. Which taps of a pixel lie
/// outside of the image are bits that are found once; where a tap lies is one offset for all.
template <int kRows, int kStepsPerStage, int kThreads, class Border>
struct BorderedWindows {
  static constexpr bool kRoundsOnce = false;
  static constexpr int kTable = 0, kPieces = kRows * 4 * kStepsPerStage / kThreads,
                       kApart = kThreads / 4 / kStepsPerStage;
  const char* from[kPieces];  // this thread's piece of tap (0, 0); may lie outside
  uint32_t outside[kPieces];  // bit ky, and bit 16 + kx
  Border border[kPieces];
  // In pieces: of the tap and its channels; what comes to it from the last channel of a tap to the
  // next tap, and at the end of a row of taps besides. A window is below 2^31 of them.
  uint32_t offset, next_tap, next_row;
  uint32_t tap_x, tap_y, end_x, end_y;  // the tap's bits; those behind a row and behind the last
  int to, channel;
  template <class Params>
  GPU_FN BorderedWindows make(const Params& p, const float* x, int first, int k) {
    BorderedWindows s;
    const int piece = int(threadIdx.x) % 4, row = int(threadIdx.x) / 4 % kApart,
              half = int(threadIdx.x) / 4 / kApart;
    s.to = half * kRows * 64 + pixel_offset(row, piece);
    INGOT_UNROLL for (int i = 0; i < kPieces; i++) {
      const int wanted = first + row + i * kApart, m = wanted < p.m ? wanted : 0;
      const int line = m / p.ow, ox = m - line * p.ow, n = line / p.oh, oy = line - n * p.oh;
      const int y0 = oy * p.stride_h - p.pad_top, x0 = ox * p.stride_w - p.pad_left;
      s.from[i] = computed_once(reinterpret_cast<const char*>(x) +
                                int64_t((n * p.h + y0) * p.width + x0) * p.pixel_stride * 4);
      s.border[i] = Border::make(p, n);
      uint32_t bits = 1u << p.kernel_h;
      GPU_ROLLED for (int t = 0; t < p.kernel_h; t++) bits |=
          uint32_t(unsigned(y0 + t * p.dilation_h) >= unsigned(p.h)) << t;
      GPU_ROLLED for (int t = 0; t < p.kernel_w; t++) bits |=
          uint32_t(unsigned(x0 + t * p.dilation_w) >= unsigned(p.width)) << (16 + t);
      s.outside[i] = wanted < p.m ? bits : ~0u;
    }
    k += half * 16 + piece * 4;
    const int tap = k / p.c, ky = tap / p.kernel_w, kx = tap - ky * p.kernel_w;
    s.channel = k - tap * p.c;
    s.tap_x = 0x10000u << kx, s.end_x = computed_once(0x8000u << p.kernel_w << 1);
    s.tap_y = 1u << (ky < p.kernel_h ? ky : p.kernel_h), s.end_y = computed_once(1u << p.kernel_h);
    const uint32_t step_x = p.dilation_w * uint32_t(p.pixel_stride / 4),
                   step_y = p.dilation_h * p.width * uint32_t(p.pixel_stride / 4);
    s.channel -= kStepsPerStage * 16;  // load() begins with a step
    s.offset = ky * step_y + kx * step_x + uint32_t(s.channel / 4);
    s.next_tap = computed_once(step_x - uint32_t(p.c / 4));
    s.next_row = computed_once(step_y - p.kernel_w * step_x);
    return s;
  }
  GPU_MEMBER void load(const ProductParams& p, int, char* tile) {
    channel += kStepsPerStage * 16, offset += kStepsPerStage * 4;
    GPU_ROLLED while (channel >= p.c) {
      channel -= p.c, offset += next_tap, tap_x <<= 1;
      if (tap_x != end_x) continue;
      tap_x = 0x10000u, offset += next_row;
      tap_y = tap_y << 1 < end_y ? tap_y << 1 : end_y;
    }
    const bool exists = tap_y != end_y;
    INGOT_UNROLL for (int i = 0; i < kPieces; i++) border[i].copy(
        tile + to + i * kApart * 64, piece_at(from[i], offset), exists,
        (outside[i] & (tap_x | tap_y)) == 0);
  }
  GPU_MEMBER void skip(int) {}
  GPU_MEMBER void round(Tf32, char* tile) const {
    INGOT_UNROLL for (int i = 0; i < kPieces; i++) round_piece(tile + to + i * kApart * 64);
  }
};
template <int kRows, int kStepsPerStage, int kThreads>
using WindowPixels = BorderedWindows<kRows, kStepsPerStage, kThreads, ZeroBorder>;

/// The pixel whose words a thread copies one at a time. Neighbouring threads take neighbouring
/// pixels.
template <int kRows, int kStepsPerStage>
struct SinglePixel {
  // words of a thread, neighbours in k
  static constexpr int kWords = 16 * kStepsPerStage, kEach = kRows * kWords / kProductThreads;
  int row, first;     // of the tile: its pixel and its first word of k
  int image, y0, x0;  // tap (0, 0); may lie outside
  bool exists;
  template <class Params>
  GPU_FN SinglePixel make(const Params& p, int first) {
    SinglePixel s;
    s.row = int(threadIdx.x) % kRows, s.first = int(threadIdx.x) / kRows * kEach;
    const int wanted = first + s.row, m = wanted < p.m ? wanted : 0;
    const int line = m / p.ow, ox = m - line * p.ow;
    s.image = line / p.oh, s.x0 = ox * p.stride_w - p.pad_left;
    s.y0 = (line - s.image * p.oh) * p.stride_h - p.pad_top;
    s.exists = wanted < p.m;
    return s;
  }
  /// Where word k of the step goes.
  GPU_MEMBER char* place(char* tile, int k) const {
    return pixel_piece(tile + (k >> 4) * kRows * 64, row, k >> 2 & 3) + (k & 3) * 4;
  }
};

/// Where words of k are, found once for a block: how far they are behind tap (0, 0), in words, and
/// which bits of a pixel's say that they lie outside.
struct TapTable {
  static constexpr uint32_t kBehind = 1 << 15;  // no row of taps has it
  struct Word {
    uint32_t offset, bits;
  };
  static_assert(sizeof(Word) == kTableWord, "what plans count with");
  struct Tap {
    int channel, y, x;
  };
  GPU_FN Tap tap_of(const ProductParams& p, int k) {
    const int tap = int(unsigned(k) / unsigned(p.c)),
              ky = int(unsigned(tap) / unsigned(p.kernel_w));
    return {k - tap * p.c, ky, tap - ky * p.kernel_w};
  }
  /// bit << n, 0 from 32 on (bits of large kernels, which are not used): so GPUs shift, C++ does
  /// not say.
  GPU_FN uint32_t moved(uint32_t bit, int n) {
#if defined(__CUDA_ARCH__)
    return bit << n;
#else
    return n < 32 ? bit << n : 0;
#endif
  }
  GPU_FN Word word_of(const ProductParams& p, int k) {
    if (k >= p.k) return {0, kBehind};
    const Tap t = tap_of(p, k);
    return {uint32_t(t.y * p.dilation_h * p.row_stride + t.x * p.dilation_w * p.pixel_stride +
                     t.channel * p.channel_stride),
            moved(1u, t.y) | moved(0x10000u, t.x)};
  }
};
/// The corner of a pixel's window, tap (0, 0), which may lie outside, and the taps that do: bit ky,
/// bit 16 + kx.
struct Corner {
  int image, y, x;
  GPU_FN Corner of(const ProductParams& p, int m) {
    const int line = m / p.ow, image = line / p.oh;
    return {image, (line - image * p.oh) * p.stride_h - p.pad_top,
            (m - line * p.ow) * p.stride_w - p.pad_left};
  }
  GPU_MEMBER const char* in(const ProductParams& p, const float* x_data) const {
    return computed_once(reinterpret_cast<const char*>(x_data) +
                         (image * p.image_stride + y * p.row_stride + x * p.pixel_stride) * 4);
  }
  GPU_MEMBER uint32_t outside(const ProductParams& p) const {
    uint32_t bits = 0;
    GPU_ROLLED for (int t = 0; t < p.kernel_h; t++) bits |=
        uint32_t(unsigned(y + t * p.dilation_h) >= unsigned(p.h)) << t;
    GPU_ROLLED for (int t = 0; t < p.kernel_w; t++) bits |=
        uint32_t(unsigned(x + t * p.dilation_w) >= unsigned(p.width)) << (16 + t);
    return bits;
  }
};

/// Anything, a word at a time: few channels (the first layer of a network), planes, a transposed
/// matrix, unaligned rows. A thread copies four neighbouring words, a piece, of pixels A, A + 8 and
/// so on.
template <int kRows, int kStepsPerStage, int kThreads>
struct SinglePixels {
  static_assert(kThreads == kProductThreads, "tiles that are not large");
  static constexpr bool kRoundsOnce = true;
  static constexpr int kTable = kTableWords / 16;  // steps
  static constexpr int kEach = 4, kWords = 16 * kStepsPerStage;
  static constexpr int kOwn = kRows * kWords / kEach / kProductThreads, kGroups = kRows / kOwn;
  const char* from[kOwn];
  uint32_t outside[kOwn];  // of large kernels: words of this thread that the table has
  const char* table;       // of this thread's words of step 0
  int to, pixel, k;        // pixel: A; k: the first word that the table does not have
  /// More taps than there are bits for: a table has a ring of stages, and the bits its words.
  GPU_FN bool is_large(const ProductParams& p) {
    return p.kernel_h > kMaxTapRows || p.kernel_w > 16;
  }
  GPU_FN SinglePixels make(const ProductParams& p, const float* x, int first, int k) {
    SinglePixels s;
    const int group = int(threadIdx.x) % kGroups, piece = int(threadIdx.x) / kGroups;
    const int row = group / 8 * 8 * kOwn + group % 8;
    s.to = piece / 4 * kRows * 64 + pixel_offset(row, piece % 4);
    s.pixel = first + row, s.k = k, s.table = nullptr;
    INGOT_UNROLL for (int i = 0; i < kOwn; i++) {
      const int m = s.pixel + 8 * i;
      const Corner at = Corner::of(p, m < p.m ? m : 0);
      s.from[i] = at.in(p, x);
      s.outside[i] = m >= p.m ? ~0u : is_large(p) ? 0 : at.outside(p) | TapTable::kBehind;
    }
    return s;
  }
  /// The table of the next `steps` steps, the first of which load() will call `first`; of a large
  /// kernel at most kSteps.
  template <int kSteps>
  GPU_MEMBER void fill(const ProductParams& p, char* shared, int first, int steps) {
    const int own = int(threadIdx.x) / kGroups * kEach;
    const bool large = is_large(p);
    __syncthreads();  // nobody reads the old one
    GPU_ROLLED for (int e = int(threadIdx.x); e < steps * 16; e += kProductThreads) {
      TapTable::Word word = TapTable::word_of(p, k + e);
      if (large) word.bits = 1u << (e / kWords * kEach + e % kEach);
      reinterpret_cast<TapTable::Word*>(shared)[e] = word;
    }
    if (large) INGOT_UNROLL for (int i = 0; i < kOwn; i++) {
        constexpr int kBits = kSteps / kStepsPerStage * kEach;
        static_assert(kBits <= 32, "bits");
        const int m = pixel + 8 * i;
        if (m >= p.m) continue;
        const Corner at = Corner::of(p, m);
        uint32_t bits = 0;
        GPU_ROLLED for (int e = 0; e < kBits; e++) {
          const int word = k + e / kEach * kWords + own + e % kEach;
          const TapTable::Tap t = TapTable::tap_of(p, word);
          const bool is_inside = unsigned(at.y + t.y * p.dilation_h) < unsigned(p.h) &&
                                 unsigned(at.x + t.x * p.dilation_w) < unsigned(p.width);
          bits |= uint32_t(word >= p.k || !is_inside) << e;
        }
        outside[i] = bits;
      }
    k += steps * 16, table = shared + (own - first * 16) * kTableWord;
    __syncthreads();
  }
  GPU_MEMBER void load(const ProductParams&, int step, char* tile) {
    uint32_t words[2][4];  // all before the first copy: each change costs three more instructions
    INGOT_UNROLL for (int e = 0; e < 2; e++)
        load_shared(words[e], table + (step * 16 + 2 * e) * kTableWord);
    INGOT_UNROLL for (int e = 0; e < kEach; e++) INGOT_UNROLL for (int i = 0; i < kOwn; i++)
        copy_async4(tile + to + i * 512 + e * 4,
                    from[i] + int64_t(int32_t(words[e / 2][e % 2 * 2])) * 4,
                    (outside[i] & words[e / 2][e % 2 * 2 + 1]) == 0);
  }
  GPU_MEMBER void skip(int count) { table += count * 16 * kTableWord; }
  GPU_MEMBER void round(Tf32, char* tile) const {
    INGOT_UNROLL for (int i = 0; i < kOwn; i++) round_piece(tile + to + i * 512);
  }
  /// The piece of a pixel becomes two words of it and two of the pixel eight on.
  GPU_MEMBER void round(F16, char* tile) const {
    INGOT_UNROLL for (int i = 0; i < kOwn; i += 2) {
      char* const at = tile + to + i * 512;
      uint32_t a[4], b[4];
      load_shared(a, at), load_shared(b, at + 512);
      *reinterpret_cast<FourOf<uint32_t>*>(at) = {{pack(F16{}, float_of(a[0]), float_of(a[1])),
                                                   pack(F16{}, float_of(a[2]), float_of(a[3])),
                                                   pack(F16{}, float_of(b[0]), float_of(b[1])),
                                                   pack(F16{}, float_of(b[2]), float_of(b[3]))}};
    }
  }
};

}  // namespace ingot::cuda
