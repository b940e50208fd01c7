// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/cortex_m/helium_tile.inl - four pixels by sixteen outputs with Helium: sixteen
// weights of one output are gathered out of the panel (four groups of four, a panel row apart) and
// multiplied with sixteen bytes of each pixel. VMLADAV takes bytes of one signedness: pixels have
// 128 taken off by turning their upper bit over, and 128 times the sum of the weights is added.
//
//   sums[p][o] += sum over segments and k of pixel p's byte k times weight [k / 4][o][k % 4]
//
// Exact modulo 2^32. Lanes past the end of a run are neither read nor counted.
#pragma once
#include <arm_mve.h>

#include "kernels/cpu/quantized/tile.inl"

namespace ingot::cpu {
namespace {

// Loops of their own: among other code they would not keep their sums in registers.
#define INGOT_APART __attribute__((noinline))

struct CortexM {
  static constexpr int kPixels = 4;

  static INGOT_INLINE int8x16_t signed_bytes(const uint8_t* p, mve_pred16_t lanes) {
    return vreinterpretq_s8_u8(veorq_u8(vldrbq_z_u8(p, lanes), vdupq_n_u8(0x80)));
  }
  /// Sixteen weights of one output, zeros past the end.
  static INGOT_INLINE int8x16_t weights(const int8_t* v, uint32x4_t rows, mve_pred16_t lanes) {
    return vreinterpretq_s8_u32(
        vldrwq_gather_offset_z_u32(reinterpret_cast<const uint32_t*>(v), rows, lanes));
  }
  static INGOT_INLINE uint32x4_t panel_rows() {
    return vmulq_n_u32(vidupq_n_u32(0, 1), 4 * kPanel);
  }

  /// Four pixels, and their sums with panel after panel.
  class Tile {
   public:
    void begin(const Segment* segments, int32_t segment_count, int32_t length,
               const uint8_t* const (&pixel)[kPixels]) {
      segments_ = segments, segment_count_ = segment_count, length_ = length;
      for (int i = 0; i < kPixels; i++) pixel_[i] = pixel[i];
    }
    INGOT_APART void sums(const int8_t* w, const int32_t* bias, int32_t outputs,
                          int32_t (&sums)[kPixels][kPanel]) const {
      const uint32x4_t rows = panel_rows();
      for (int32_t o = 0; o < outputs; o++) {
        int32_t a = 0, b = 0, c = 0, d = 0, weight_sum = 0;
        for (int32_t s = 0; s < segment_count_; s++) {
          const int32_t from = int32_t(segments_[s].a);
          const int8_t* v = w + int32_t(segments_[s].b) + 4 * o;
          for (int32_t k = 0; k < length_; k += 16, v += 16 * kPanel) {
            const mve_pred16_t lanes = vctp8q(uint32_t(length_ - k));
            const int8x16_t ws = weights(v, rows, lanes);
            weight_sum = vaddvaq_s8(weight_sum, ws);
            a = vmladavaq_s8(a, signed_bytes(pixel_[0] + from + k, lanes), ws);
            b = vmladavaq_s8(b, signed_bytes(pixel_[1] + from + k, lanes), ws);
            c = vmladavaq_s8(c, signed_bytes(pixel_[2] + from + k, lanes), ws);
            d = vmladavaq_s8(d, signed_bytes(pixel_[3] + from + k, lanes), ws);
          }
        }
        const uint32_t start = uint32_t(bias[o]) + uint32_t(weight_sum) * 128;
        sums[0][o] = int32_t(start + uint32_t(a)), sums[1][o] = int32_t(start + uint32_t(b));
        sums[2][o] = int32_t(start + uint32_t(c)), sums[3][o] = int32_t(start + uint32_t(d));
      }
    }

   private:
    const uint8_t* pixel_[kPixels];
    const Segment* segments_;
    int32_t segment_count_, length_;
  };

  static INGOT_APART void row(const uint8_t* pixel, int32_t length, const int8_t* w,
                              const int32_t* bias, int32_t outputs, int32_t (&sums)[kPanel]) {
    const uint32x4_t rows = panel_rows();
    for (int32_t o = 0; o < outputs; o++) {
      int32_t a = 0, weight_sum = 0;
      const int8_t* v = w + 4 * o;
      for (int32_t k = 0; k < length; k += 16, v += 16 * kPanel) {
        const mve_pred16_t lanes = vctp8q(uint32_t(length - k));
        const int8x16_t ws = weights(v, rows, lanes);
        weight_sum = vaddvaq_s8(weight_sum, ws);
        a = vmladavaq_s8(a, signed_bytes(pixel + k, lanes), ws);
      }
      sums[o] = int32_t(uint32_t(bias[o]) + uint32_t(weight_sum) * 128 + uint32_t(a));
    }
  }

  /// Four channels in the lanes of a vector.
  static INGOT_APART void depthwise(const uint8_t* at, const int32_t* offsets, int32_t taps,
                                    const int16_t* pairs, const int32_t* bias, int32_t channels,
                                    int32_t (&sums)[kPanel]) {
    for (int32_t c = 0; c < channels; c += 4) {
      int32x4_t sum = vldrwq_s32(bias + c);
      const int16_t* w = pairs + 2 * c;
      for (int32_t k = 0; k < taps; k += 2, w += 2 * kPanel) {
        const int32x4_t both = vldrwq_s32(reinterpret_cast<const int32_t*>(w));
        const int32x4_t first = vmovlbq_s16(vreinterpretq_s16_s32(both)),
                        second = vmovltq_s16(vreinterpretq_s16_s32(both));
        sum = add_product(sum, bytes_of(at + c + offsets[k]), first);
        sum = add_product(sum, bytes_of(at + c + offsets[k + 1]), second);
      }
      vstrwq_s32(&sums[c], sum);
    }
  }

 private:
  static INGOT_INLINE int32x4_t bytes_of(const uint8_t* p) {
    return vreinterpretq_s32_u32(vldrbq_u32(p));
  }
  static INGOT_INLINE int32x4_t add_product(int32x4_t sum, int32x4_t a, int32x4_t b) {
    return vaddq_s32(sum, vmulq_s32(a, b));
  }
};

}  // namespace
}  // namespace ingot::cpu
