// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/image/image.cuh - a pixel of an image a thread, all its channels, from the bytes of
// a frame. Contract and arithmetic  runtime/op/image_input.h; sampling in the order of the CPU
// (down, then across), conversion by its own function.
#pragma once
#include "kernels/cpu/image/color.inl"
#include "kernels/cuda/device/lane.h"
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/image/image_kernels.h"

namespace ingot::cuda {

struct FrameRow {
  const uint8_t* plane;  // of the frame, at the component's origin
  int64_t pitch;
  int step;
  INGOT_INLINE float at(int32_t row, int32_t sample) const {
    return float(plane[row * pitch + int64_t(sample) * step]);
  }
};

template <PixelInterpolation how>
GPU_FN float frame_sample(const FrameRow& from, const ImageAxis& down, const ImageAxis& across,
                          uint32_t row, uint32_t column) {
  if (how == PixelInterpolation::kNearest)
    return from.at(nearest_sample(down, row), nearest_sample(across, column));
  if (how == PixelInterpolation::kBilinear) {
    const ImageTap v = bilinear_tap(down, row), h = bilinear_tap(across, column);
    const int32_t below = v.at + (v.weight != 0),
                  right = h.at + (h.weight != 0);  // weight 0: there may be none
    const auto mixed = [&](int32_t sample) {
      const float a = from.at(v.at, sample);
      return V::fma(V::sub(from.at(below, sample), a), v.weight, a);
    };
    const float a = mixed(h.at);
    return V::fma(V::sub(mixed(right), a), h.weight, a);
  }
  const ImageRun v = area_run(down, row), h = area_run(across, column);
  float sum = 0;
  GPU_ROLLED
  for (int32_t k = h.begin; k < h.end; k++) {
    float mixed = 0;
    GPU_ROLLED
    for (int32_t r = v.begin; r < v.end; r++)
      mixed = V::fma(from.at(r, k), area_weight(down, row, r), mixed);
    sum = V::fma(mixed, area_weight(across, column, k), sum);
  }
  return sum;
}

template <PixelInterpolation how>
GPU_FN void convert_frame(const FrameParams& p) {
  const ImageInputAttributes& t = p.attributes;
  const int64_t area = int64_t(p.width) * p.height;
  for (int64_t i = grid_thread(); i < p.pixels; i += grid_threads()) {
    const int64_t n = i / area;
    const uint32_t place = uint32_t(i - n * area), row = place / p.width,
                   column = place - row * p.width;
    const uint32_t y = row - t.target.top,
                   x = column - t.target.left;  // before the target they wrap, and lie behind it
    float rgb[3] = {};
    const bool is_shown = y < t.target.height && x < t.target.width;
    if (is_shown) {
      float samples[3] = {};
      INGOT_UNROLL
      for (int c = 0; c < 3; c++) {
        if (c >= p.layout.components) continue;
        const PixelComponent& at = p.layout.at[c];
        const ImagePlane& plane = at.plane == 0   ? p.planes[0]
                                  : at.plane == 1 ? p.planes[1]
                                                  : p.planes[2];
        const FrameRow from = {plane.data + n * plane.frame_bytes + at.origin, plane.pitch,
                               at.step};
        samples[c] = frame_sample<how>(from, image_down(t, at), image_across(t, at), y, x);
      }
      cpu::tensors::image_rgb<V>(t, p.layout, p.color, samples, rgb);
    }
    float* const to = p.y + (t.planar ? n * area * t.channels + place : i * t.channels);
    const int64_t step = t.planar ? area : 1;
    INGOT_UNROLL
    for (int c = 0; c < 3; c++) {
      if (c >= int(t.channels)) continue;
      const float value = !is_shown ? t.pad[c] : t.bgr && t.channels == 3 ? rgb[2 - c] : rgb[c];
      to[c * step] = V::fma(value, t.scale[c], t.bias[c]);
    }
  }
}

INGOT_GPU_KERNEL(frame_bilinear, FrameParams, 256) {
  convert_frame<PixelInterpolation::kBilinear>(p);
}
INGOT_GPU_KERNEL(frame_nearest, FrameParams, 256) {
  convert_frame<PixelInterpolation::kNearest>(p);
}
INGOT_GPU_KERNEL(frame_area, FrameParams, 256) { convert_frame<PixelInterpolation::kArea>(p); }

}  // namespace ingot::cuda
