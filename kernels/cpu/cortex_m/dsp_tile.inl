// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/cortex_m/dsp_tile.inl - two pixels by sixteen outputs with SMLAD, two outputs at a
// time: of four bytes of a pixel the even and the odd ones are widened to halves of a word
// (UXTB16), once for all outputs; so are four weights (SXTB16), and two SMLAD add four products.
//
//   sums[p][o] = bias[o] + sum over segments and k of pixel p's byte k times weight [k / 4][o][k % 4]
//
// Exact modulo 2^32. Runs are whole groups of four bytes, and their weights follow each other.
#pragma once
#include "kernels/cpu/quantized/tile.inl"

namespace ingot::cpu {
namespace {

// Loops of their own: among other code they would not keep their sums in registers.
#define INGOT_APART __attribute__((noinline))

struct CortexM {
  /// Even bytes of a word as halves of a word, and odd ones.
  static INGOT_INLINE uint32_t even_bytes(uint32_t x) {
    uint32_t y;
    asm("uxtb16 %0, %1" : "=r"(y) : "r"(x));
    return y;
  }
  static INGOT_INLINE uint32_t odd_bytes(uint32_t x) {
    uint32_t y;
    asm("uxtb16 %0, %1, ror #8" : "=r"(y) : "r"(x));
    return y;
  }
  static INGOT_INLINE uint32_t even_weights(uint32_t x) {
    uint32_t y;
    asm("sxtb16 %0, %1" : "=r"(y) : "r"(x));
    return y;
  }
  static INGOT_INLINE uint32_t odd_weights(uint32_t x) {
    uint32_t y;
    asm("sxtb16 %0, %1, ror #8" : "=r"(y) : "r"(x));
    return y;
  }
  /// sum + the products of both halves, modulo 2^32.
  static INGOT_INLINE int32_t dot_halves(uint32_t a, uint32_t b, int32_t sum) {
    int32_t y;
    asm("smlad %0, %1, %2, %3" : "=r"(y) : "r"(a), "r"(b), "r"(sum));
    return y;
  }
  static INGOT_INLINE uint32_t word(const void* p) {
    uint32_t w;
    std::memcpy(&w, p, sizeof w);
    return w;
  }

  static constexpr int kPixels = 2;

  /// Two pixels, and their sums with panel after panel.
  class Tile {
   public:
    /// @pre begin() once, then sums() of panels
    INGOT_APART void begin(const Segment* segments, int32_t segment_count, int32_t length,
                           const uint8_t* const (&pixel)[kPixels]) {
      segments_ = segments, length_ = length, total_ = segment_count * length;
      pixel_[0] = pixel[0], pixel_[1] = pixel[1];
      segment_ = segments, in_segment_ = 0;
      if (total_ <= kWidened) widen(total_);
    }
    /// `outputs`: how many of the sixteen are wanted, from the first on.
    INGOT_APART void sums(const int8_t* w, const int32_t* bias, int32_t outputs,
                          int32_t (&sums)[kPixels][kPanel]) {
      if (total_ <= kWidened) return add(total_, w, outputs, bias, bias, sums);
      segment_ = segments_, in_segment_ = 0;
      for (int32_t at = 0; at < total_; at += kWidened, w += kWidened * kPanel) {
        const int32_t n = total_ - at < kWidened ? total_ - at : kWidened;
        widen(n);
        add(n, w, outputs, at ? sums[0] : bias, at ? sums[1] : bias, sums);
      }
    }

   private:
    static constexpr int32_t kWidened = 144;  // bytes of a pixel: a 3 x 3 window of 16 channels

    /// The next n bytes of both pixels.
    void widen(int32_t n) {
      uint32_t* to = halves_;
      for (int32_t left = n; left > 0;) {
        if (in_segment_ == length_) segment_++, in_segment_ = 0;
        const int32_t at = int32_t(segment_->a) + in_segment_,
                      run = left < length_ - in_segment_ ? left : length_ - in_segment_;
        const uint8_t *p = pixel_[0] + at, *q = pixel_[1] + at;
        in_segment_ += run, left -= run;
        for (const uint8_t* const end = p + run; p != end; p += 4, q += 4, to += 4) {
          const uint32_t x = word(p), y = word(q);
          to[0] = even_bytes(x), to[1] = odd_bytes(x), to[2] = even_bytes(y), to[3] = odd_bytes(y);
        }
      }
    }
    void add(int32_t n, const int8_t* w, int32_t outputs, const int32_t* first,
             const int32_t* second, int32_t (&sums)[kPixels][kPanel]) const {
      if (n) return add_pairs({halves_, w, first, second, halves_ + n, sums[0], outputs});
      for (int32_t o = 0; o < outputs; o++) sums[0][o] = first[o], sums[1][o] = second[o];
    }

    const uint8_t* pixel_[kPixels];
    const Segment *segments_, *segment_;
    int32_t length_, total_, in_segment_;
    // of four bytes the even and the odd ones of the first pixel, then of the second
    alignas(8) uint32_t halves_[kWidened];
  };

  /// One pixel; four outputs at a time, whose weights are read once anyway.
  static INGOT_APART void row(const uint8_t* pixel, int32_t length, const int8_t* w,
                              const int32_t* bias, int32_t outputs, int32_t (&sums)[kPanel]) {
    for (int32_t o = 0; o < outputs; o += 4) {
      int32_t a0 = bias[o], a1 = bias[o + 1], a2 = bias[o + 2], a3 = bias[o + 3];
      if (length) add_row(pixel, length, w + 4 * o, a0, a1, a2, a3);
      sums[o] = a0, sums[o + 1] = a1, sums[o + 2] = a2, sums[o + 3] = a3;
    }
  }

  /// Sixteen channels of one pixel of a depthwise convolution: taps two by two, `pairs` as
  /// pair_taps() makes them.
  static INGOT_APART void depthwise(const uint8_t* at, const int32_t* offsets, int32_t taps,
                                    const int16_t* pairs, const int32_t* bias, int32_t channels,
                                    int32_t (&sums)[kPanel]) {
    // one byte before the places of the last pair, or two where a single tap follows
    const char* const last =
        reinterpret_cast<const char*>(offsets + (taps == 1 ? 2 : taps / 2 * 2)) -
        (taps % 2 != 0 && taps != 1 ? 2 : 1);
    for (int32_t c = 0; c < channels; c += 4) {
      int32_t a0 = bias[c], a1 = bias[c + 1], a2 = bias[c + 2], a3 = bias[c + 3];
      add_taps(at + c, offsets, last, pairs + 2 * c, a0, a1, a2, a3);
      sums[c] = a0, sums[c + 1] = a1, sums[c + 2] = a2, sums[c + 3] = a3;
    }
  }

 private:
// Four bytes of two pixels, widened, times those of two outputs.
#define INGOT_FOUR_OF_FOUR          \
  "  ldmia r0!, {r2, r3, r4, r5}\n" \
  "  ldrd r6, r7, [r1], #64\n"      \
  "  sxtb16 r12, r6\n"              \
  "  smlad r8, r2, r12, r8\n"       \
  "  smlad r10, r4, r12, r10\n"     \
  "  sxtb16 r6, r6, ror #8\n"       \
  "  smlad r8, r3, r6, r8\n"        \
  "  smlad r10, r5, r6, r10\n"      \
  "  sxtb16 r12, r7\n"              \
  "  smlad r9, r2, r12, r9\n"       \
  "  smlad r11, r4, r12, r11\n"     \
  "  sxtb16 r7, r7, ror #8\n"       \
  "  smlad r9, r3, r7, r9\n"        \
  "  smlad r11, r5, r7, r11\n"

  /// What add_pairs() goes through, in the order in which it loads them.
  struct Pairs {
    const uint32_t* halves;
    const int8_t* w;
    const int32_t *first, *second;  // what the sums of each pixel begin with
    const uint32_t* end;            // of the halves
    int32_t* sums;                  // of the first pixel; those of the second are a panel behind
    int32_t outputs;
  };
  /// Two pixels by two outputs at a time, eight bytes of each. In assembly, the loop over outputs
  /// too, because all fourteen registers are in use. @pre halves != end, outputs > 0
  static INGOT_INLINE void add_pairs(Pairs pairs) {
    register Pairs* at asm("r0") = &pairs;
    asm volatile(
        "  push {r0}\n"
        "  mov r12, r0\n"
        "2:\n"
        "  ldmia r12, {r0, r1, r2, r3, lr}\n"
        "  ldrd r8, r9, [r2], #8\n"
        "  ldrd r10, r11, [r3], #8\n"
        "  add r4, r1, #8\n"
        "  str r4, [r12, #4]\n"
        "  strd r2, r3, [r12, #8]\n"
        "  sub r6, lr, r0\n"
        "  lsls r6, r6, #27\n"  // a group of four that has no second one comes first
        "  bmi 1f\n"
        "0:\n" INGOT_FOUR_OF_FOUR "1:\n" INGOT_FOUR_OF_FOUR
        "  cmp r0, lr\n"
        "  bne 0b\n"
        "  ldr r12, [sp]\n"
        "  ldrd r2, r3, [r12, #20]\n"
        "  strd r8, r9, [r2], #8\n"
        "  strd r10, r11, [r2, #56]\n"
        "  subs r3, #2\n"
        "  strd r2, r3, [r12, #20]\n"
        "  bgt 2b\n"
        "  pop {r0}\n"
        : "+r"(at)
        :
        : "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "lr", "cc",
          "memory");
  }
#undef INGOT_FOUR_OF_FOUR

// Four bytes of a pixel times those of four outputs.
#define INGOT_FOUR_OF_ROW               \
  "  ldr %[x], [%[p]], #4\n"            \
  "  ldrd %[v0], %[v1], [%[v]], #8\n"   \
  "  uxtb16 %[t], %[x]\n"               \
  "  uxtb16 %[x], %[x], ror #8\n"       \
  "  sxtb16 %[u], %[v0]\n"              \
  "  sxtb16 %[v0], %[v0], ror #8\n"     \
  "  smlad %[a0], %[t], %[u], %[a0]\n"  \
  "  smlad %[a0], %[x], %[v0], %[a0]\n" \
  "  sxtb16 %[u], %[v1]\n"              \
  "  sxtb16 %[v1], %[v1], ror #8\n"     \
  "  smlad %[a1], %[t], %[u], %[a1]\n"  \
  "  smlad %[a1], %[x], %[v1], %[a1]\n" \
  "  ldrd %[v0], %[v1], [%[v]], #56\n"  \
  "  sxtb16 %[u], %[v0]\n"              \
  "  sxtb16 %[v0], %[v0], ror #8\n"     \
  "  smlad %[a2], %[t], %[u], %[a2]\n"  \
  "  smlad %[a2], %[x], %[v0], %[a2]\n" \
  "  sxtb16 %[u], %[v1]\n"              \
  "  sxtb16 %[v1], %[v1], ror #8\n"     \
  "  smlad %[a3], %[t], %[u], %[a3]\n"  \
  "  smlad %[a3], %[x], %[v1], %[a3]\n"

  /// One pixel by four outputs of `length` bytes, eight at a time. @pre length > 0
  static INGOT_INLINE void add_row(const uint8_t* p, int32_t length, const int8_t* v, int32_t& a0,
                                   int32_t& a1, int32_t& a2, int32_t& a3) {
    uint32_t x, t, u, v0, v1;
    asm volatile(
        "  lsls %[x], %[end], #29\n"
        "  add %[end], %[p]\n"
        "  bmi 1f\n"
        "0:\n" INGOT_FOUR_OF_ROW "1:\n" INGOT_FOUR_OF_ROW
        "  cmp %[p], %[end]\n"
        "  bne 0b\n"
        : [p] "+r"(p), [v] "+r"(v), [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3),
          [x] "=&r"(x), [t] "=&r"(t), [u] "=&r"(u), [v0] "=&r"(v0), [v1] "=&r"(v1),
          [end] "+r"(length)
        :
        : "cc", "memory");
  }
#undef INGOT_FOUR_OF_ROW

  /// Two taps of four channels at a time: halves of two words become pairs (PKHBT, PKHTB). Then a
  /// single one, whose pair's other weight is not there. @param last as in depthwise(): its lowest
  /// bit is clear where a single tap follows
  static INGOT_INLINE void add_taps(const uint8_t* at, const int32_t* offsets, const char* last,
                                    const int16_t* w, int32_t& a0, int32_t& a1, int32_t& a2,
                                    int32_t& a3) {
    uint32_t x, y, e, f, t, s;
    asm volatile(
        "0:\n"
        "  ldrd %[x], %[y], [%[offsets]], #8\n"
        "  ldr %[x], [%[at], %[x]]\n"
        "  ldr %[y], [%[at], %[y]]\n"
        "  uxtb16 %[e], %[x]\n"
        "  uxtb16 %[f], %[y]\n"
        "  uxtb16 %[x], %[x], ror #8\n"
        "  uxtb16 %[y], %[y], ror #8\n"
        "  pkhbt %[t], %[e], %[f], lsl #16\n"
        "  pkhtb %[f], %[f], %[e], asr #16\n"
        "  ldrd %[e], %[s], [%[w]], #8\n"
        "  smlad %[a0], %[t], %[e], %[a0]\n"
        "  pkhbt %[t], %[x], %[y], lsl #16\n"
        "  pkhtb %[y], %[y], %[x], asr #16\n"
        "  smlad %[a1], %[t], %[s], %[a1]\n"
        "  ldrd %[e], %[s], [%[w]], #56\n"
        "  smlad %[a2], %[f], %[e], %[a2]\n"
        "  smlad %[a3], %[y], %[s], %[a3]\n"
        "  cmp %[offsets], %[last]\n"
        "  blo 0b\n"
        "  lsls %[t], %[last], #31\n"
        "  bne 1f\n"
        "  ldr %[x], [%[offsets]]\n"
        "  ldr %[x], [%[at], %[x]]\n"
        "  ldrd %[e], %[s], [%[w]], #8\n"
        "  uxtb16 %[f], %[x]\n"
        "  uxtb16 %[x], %[x], ror #8\n"
        "  smlabb %[a0], %[f], %[e], %[a0]\n"
        "  smlabb %[a1], %[x], %[s], %[a1]\n"
        "  ldrd %[e], %[s], [%[w]]\n"
        "  smlatb %[a2], %[f], %[e], %[a2]\n"
        "  smlatb %[a3], %[x], %[s], %[a3]\n"
        "1:\n"
        : [offsets] "+r"(offsets), [w] "+r"(w), [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2),
          [a3] "+r"(a3), [x] "=&r"(x), [y] "=&r"(y), [e] "=&r"(e), [f] "=&r"(f), [t] "=&r"(t),
          [s] "=&r"(s)
        : [at] "r"(at), [last] "r"(last)
        : "cc", "memory");
  }
};

}  // namespace
}  // namespace ingot::cpu
