// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/data_dependent/box.inl - boxes of non-maximum suppression in f32, one rounding an
// operation, in the order below: the CPU's and the GPU's.
//   area = width * height     shared = max(0, right - left) * max(0, bottom - top)
//   overlap = shared / ((area a + area b) - shared)
#pragma once
#include "kernels/cpu/simd/inline.h"

namespace ingot::cpu {
namespace {
namespace tensors {

struct Box {
  float top, left, bottom, right, area;
};

INGOT_INLINE Box box_at(const float* p, bool is_center) {
  Box b;
  if (is_center) {
    const float half_width = p[2] * 0.5f, half_height = p[3] * 0.5f;
    b = {p[1] - half_height, p[0] - half_width, p[1] + half_height, p[0] + half_width, 0};
  } else {
    b = {p[0] < p[2] ? p[0] : p[2], p[1] < p[3] ? p[1] : p[3], p[0] < p[2] ? p[2] : p[0],
         p[1] < p[3] ? p[3] : p[1], 0};
  }
  b.area = (b.right - b.left) * (b.bottom - b.top);
  return b;
}

INGOT_INLINE bool overlaps(const Box& a, const Box& b, float threshold) {
  const float top = a.top > b.top ? a.top : b.top, left = a.left > b.left ? a.left : b.left;
  const float bottom = a.bottom < b.bottom ? a.bottom : b.bottom,
              right = a.right < b.right ? a.right : b.right;
  const float height = bottom - top, width = right - left;
  if (!(height > 0) || !(width > 0)) return false;
  const float shared = width * height;
  if (!(shared > 0) || !(a.area > 0) || !(b.area > 0)) return false;
  return shared / ((a.area + b.area) - shared) > threshold;
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
