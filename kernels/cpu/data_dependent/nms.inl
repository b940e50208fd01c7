// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/data_dependent/nms.inl - non-maximum suppression. Contract:
// runtime/op/data_dependent.h. One member works: what a class gives lies behind what the ones
// before gave.
#pragma once
#include "kernels/cpu/data_dependent/box.inl"
#include "kernels/cpu/data_dependent/unique.inl"

namespace ingot::cpu {
namespace {
namespace tensors {

template <class T>
T setting(const OpArguments& a, int at, T otherwise) {
  const TensorView* x = a.optional(at);
  return x ? *x->as<const T>() : otherwise;
}

template <class V>
Status non_max_suppression(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &boxes = a.inputs[0], &scores = a.inputs[1], &y = a.outputs[0];
  const int64_t batches = boxes.dims[0], count = boxes.dims[1], classes = scores.dims[1];
  const int64_t room = batches * classes > 0 ? y.dims[0] / (batches * classes) : 0;
  const int64_t asked = setting<int64_t>(a, 2, 0), most = asked < 0      ? 0
                                                          : asked < room ? asked
                                                                         : room;
  const float threshold = setting<float>(a, 3, 0.0f);
  const float* lowest = a.optional(4) ? a.inputs[4].as<const float>() : nullptr;
  const bool is_center = a.as<NonMaxSuppressionAttributes>().center_point_box;
  int64_t *order = static_cast<int64_t*>(team.shared), *picked = order + count,
          *to = y.as<int64_t>(), found = 0;
  for (int64_t b = 0; b < batches; b++)
    for (int64_t c = 0; c < classes; c++) {
      const float* score = scores.as<const float>() + (b * classes + c) * count;
      const float* corner = boxes.as<const float>() + b * count * 4;
      int64_t candidates = 0, kept = 0;
      for (int64_t i = 0; i < count; i++)
        if (score[i] == score[i] && (!lowest || score[i] > *lowest)) order[candidates++] = i;
      heap_sort(order, candidates, [&](int64_t i, int64_t j) {
        return score[i] < score[j] || (score[i] == score[j] && i > j);
      });
      for (int64_t i = 0; i < candidates && kept < most; i++) {
        const Box box = box_at(corner + order[i] * 4, is_center);
        bool is_free = true;
        for (int64_t k = 0; k < kept && is_free; k++)
          is_free = !overlaps(box, box_at(corner + picked[k] * 4, is_center), threshold);
        if (!is_free) continue;
        picked[kept++] = order[i];
        to[found * 3] = b, to[found * 3 + 1] = c, to[found * 3 + 2] = order[i];
        found++;
      }
    }
  *a.outputs[1].as<int64_t>() = found;
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
