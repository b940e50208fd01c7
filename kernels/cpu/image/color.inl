// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/image/color.inl - from sampled components to the channels of y, by whole vectors.
// Device code runs it with one lane.
#pragma once
#include "kernels/cpu/simd/inline.h"
#include "runtime/op/image_input.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// Components of a pixel -> R, G, B in 0..255, or gray in rgb[0] where y has one channel.
template <class V, class F>
INGOT_INLINE void image_rgb(const ImageInputAttributes& t, const PixelLayout& layout,
                            const ImageColor& k, const F (&x)[3], F (&rgb)[3]) {
  const auto limited = [](F v) { return V::min(V::max(v, V::zero()), V::splat(255.0f)); };
  if (layout.is_yuv) {
    const F l = V::mul(V::sub(x[0], V::splat(k.offset)), V::splat(k.luma));
    if (t.channels == 1) {
      rgb[0] = limited(l);
      return;
    }
    const F u = V::sub(x[1], V::splat(128.0f)), v = V::sub(x[2], V::splat(128.0f));
    rgb[0] = limited(V::fma(V::splat(k.red_v), v, l));
    rgb[1] = limited(V::fma(V::splat(k.green_v), v, V::fma(V::splat(k.green_u), u, l)));
    rgb[2] = limited(V::fma(V::splat(k.blue_u), u, l));
  } else if (layout.components == 1) {
    rgb[0] = rgb[1] = rgb[2] = x[0];
  } else if (t.channels == 1) {
    rgb[0] = V::fma(V::splat(k.gray_b), x[2],
                    V::fma(V::splat(k.gray_g), x[1], V::mul(V::splat(k.gray_r), x[0])));
  } else {
    for (int i = 0; i < 3; i++) rgb[i] = x[i];
  }
}

template <class V>
struct ImageConverter {
  using F = typename V::F;
  const ImageInputAttributes& t;
  const PixelLayout layout;
  const ImageColor color;

  explicit ImageConverter(const ImageInputAttributes& attributes)
      : t(attributes),
        layout(pixel_layout(attributes.format)),
        color(image_color(attributes.matrix, attributes.full_range)) {}

  float padding(int c) const { return fused(t.pad[c], t.scale[c], t.bias[c]); }

  /// Channels of kLanes pixels from j on; past `channels` nothing is meant.
  INGOT_INLINE void run(const float* const (&samples)[3], int64_t j, F (&y)[3]) const {
    const F x[3] = {V::load(samples[0] + j), V::load(samples[1] + j), V::load(samples[2] + j)};
    F rgb[3];
    image_rgb<V>(t, layout, color, x, rgb);
    const int last = int(t.channels) - 1;
    for (int c = 0; c <= last; c++)
      y[c] = V::fma(rgb[t.bgr ? last - c : c], V::splat(t.scale[c]), V::splat(t.bias[c]));
  }
};

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
