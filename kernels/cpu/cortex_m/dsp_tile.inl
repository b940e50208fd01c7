// kernels/cpu/cortex_m/dsp_tile.inl - two pixels by sixteen outputs with SMLAD, two outputs at a
// time: of four bytes of a pixel the even and the odd ones are widened to halves of a word
// (UXTB16), so are four weights (SXTB16), and two SMLAD add four products.
//
//   sums[p][o] += sum over segments and k of pixel p's byte k times weight [k / 4][o][k % 4]
//
// Exact modulo 2^32. Runs are whole groups of four bytes.
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

  /// Panel `w` of all segments; `pixel[1]` may be `pixel[0]`, whose sums are then there twice.
  /// `outputs`: how many of the sixteen are wanted, from the first on.
  static INGOT_APART void tile(const Segment* segments, int32_t segment_count, int32_t length,
                               const uint8_t* const (&pixel)[kPixels], const int8_t* w,
                               const int32_t* bias, int32_t outputs,
                               int32_t (&sums)[kPixels][kPanel]) {
    if (length == 0) segment_count = 0;
    for (int32_t o = 0; o < outputs; o += 2) {
      int32_t a0 = bias[o], a1 = bias[o + 1], b0 = a0, b1 = a1;
      const Segment* const end = segments + segment_count;
      for (const Segment* s = segments; s != end; s++) {
        const int32_t at = int32_t(s->a);
        add_runs(pixel[0] + at, pixel[1] + at, w + int32_t(s->b) + 4 * o, length, a0, a1, b0, b1);
      }
      sums[0][o] = a0, sums[0][o + 1] = a1, sums[1][o] = b0, sums[1][o + 1] = b1;
    }
  }

  /// One pixel; four outputs at a time, whose weights are read once anyway.
  static INGOT_APART void row(const uint8_t* pixel, int32_t length, const int8_t* w,
                              const int32_t* bias, int32_t outputs, int32_t (&sums)[kPanel]) {
    for (int32_t o = 0; o < outputs; o += 4) {
      int32_t a0 = bias[o], a1 = bias[o + 1], a2 = bias[o + 2], a3 = bias[o + 3];
      const int8_t* v = w + 4 * o;
      const uint8_t* p = pixel;
      for (const uint8_t* const end = p + length; p != end; p += 4, v += 4 * kPanel) {
        const uint32_t x = word(p), even = even_bytes(x), odd = odd_bytes(x);
        const uint32_t v0 = word(v), v1 = word(v + 4), v2 = word(v + 8), v3 = word(v + 12);
        a0 = dot_halves(even, even_weights(v0), a0), a0 = dot_halves(odd, odd_weights(v0), a0);
        a1 = dot_halves(even, even_weights(v1), a1), a1 = dot_halves(odd, odd_weights(v1), a1);
        a2 = dot_halves(even, even_weights(v2), a2), a2 = dot_halves(odd, odd_weights(v2), a2);
        a3 = dot_halves(even, even_weights(v3), a3), a3 = dot_halves(odd, odd_weights(v3), a3);
      }
      sums[o] = a0, sums[o + 1] = a1, sums[o + 2] = a2, sums[o + 3] = a3;
    }
  }

  /// Sixteen channels of one pixel of a depthwise convolution: taps two by two, `pairs` as
  /// pair_taps() makes them, `offsets` of an even number of taps.
  static INGOT_APART void depthwise(const uint8_t* at, const int32_t* offsets, int32_t taps,
                                    const int16_t* pairs, const int32_t* bias, int32_t channels,
                                    int32_t (&sums)[kPanel]) {
    for (int32_t c = 0; c < channels; c += 4) {
      int32_t a0 = bias[c], a1 = bias[c + 1], a2 = bias[c + 2], a3 = bias[c + 3];
      add_taps(at + c, offsets, offsets + (taps + 1) / 2 * 2, pairs + 2 * c, a0, a1, a2, a3);
      sums[c] = a0, sums[c + 1] = a1, sums[c + 2] = a2, sums[c + 3] = a3;
    }
  }

 private:
// Four bytes of two pixels times those of two outputs.
#define INGOT_FOUR_OF_FOUR              \
  "  ldr %[x], [%[p]], #4\n"            \
  "  ldrd %[v0], %[v1], [%[v]], #64\n"  \
  "  uxtb16 %[t], %[x]\n"               \
  "  uxtb16 %[x], %[x], ror #8\n"       \
  "  sxtb16 %[u], %[v0]\n"              \
  "  sxtb16 %[v0], %[v0], ror #8\n"     \
  "  smlad %[a0], %[t], %[u], %[a0]\n"  \
  "  smlad %[a0], %[x], %[v0], %[a0]\n" \
  "  sxtb16 %[s], %[v1]\n"              \
  "  sxtb16 %[v1], %[v1], ror #8\n"     \
  "  smlad %[a1], %[t], %[s], %[a1]\n"  \
  "  smlad %[a1], %[x], %[v1], %[a1]\n" \
  "  ldr %[x], [%[q]], #4\n"            \
  "  uxtb16 %[t], %[x]\n"               \
  "  uxtb16 %[x], %[x], ror #8\n"       \
  "  smlad %[b0], %[t], %[u], %[b0]\n"  \
  "  smlad %[b0], %[x], %[v0], %[b0]\n" \
  "  smlad %[b1], %[t], %[s], %[b1]\n"  \
  "  smlad %[b1], %[x], %[v1], %[b1]\n"

  /// Two pixels by two outputs of a run of `length` bytes, eight at a time. In assembly because GCC
  /// 12 keeps three of these sums on the stack; all fourteen registers are in use.
  static INGOT_INLINE void add_runs(const uint8_t* p, const uint8_t* q, const int8_t* v,
                                    int32_t length, int32_t& a0, int32_t& a1, int32_t& b0,
                                    int32_t& b1) {
    uint32_t x, t, u, s, v0, v1;
    asm volatile(
        "  lsls %[x], %[end], #29\n"  // a group of four that has no second one comes first
        "  add %[end], %[p]\n"
        "  bmi 1f\n"
        "0:\n" INGOT_FOUR_OF_FOUR "1:\n" INGOT_FOUR_OF_FOUR
        "  cmp %[p], %[end]\n"
        "  bne 0b\n"
        : [p] "+r"(p), [q] "+r"(q), [v] "+r"(v), [a0] "+r"(a0), [a1] "+r"(a1), [b0] "+r"(b0),
          [b1] "+r"(b1), [x] "=&r"(x), [t] "=&r"(t), [u] "=&r"(u), [s] "=&r"(s), [v0] "=&r"(v0),
          [v1] "=&r"(v1), [end] "+r"(length)
        :
        : "cc", "memory");
  }
#undef INGOT_FOUR_OF_FOUR

  /// Two taps of four channels at a time: halves of two words become pairs (PKHBT, PKHTB).
  /// @pre end != offsets
  static INGOT_INLINE void add_taps(const uint8_t* at, const int32_t* offsets, const int32_t* end,
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
        "  cmp %[offsets], %[end]\n"
        "  bne 0b\n"
        : [offsets] "+r"(offsets), [w] "+r"(w), [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2),
          [a3] "+r"(a3), [x] "=&r"(x), [y] "=&r"(y), [e] "=&r"(e), [f] "=&r"(f), [t] "=&r"(t),
          [s] "=&r"(s)
        : [at] "r"(at), [end] "r"(end)
        : "cc", "memory");
  }
};

}  // namespace
}  // namespace ingot::cpu
