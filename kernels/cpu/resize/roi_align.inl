// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/resize/roi_align.inl - RoiAlign. Contract: runtime/op/roi_align.h. The elements and
// weights of a bin's places are listed, some places at a time, and its channels are mixed in
// vectors.
#pragma once
#include "kernels/cpu/resize/roi_taps.inl"
#include "kernels/cpu/simd/share.inl"

namespace ingot::cpu {
namespace {
namespace tensors {

constexpr int kRoiList = 128;
struct RoiList {
  int count = 0;
  int64_t at[kRoiList];  // elements from the start of the image
  float weight[kRoiList];
};

template <class V, bool largest>
INGOT_INLINE typename V::F roi_step(typename V::F x, typename V::F weight, typename V::F so_far) {
  if (!largest) return V::fma(x, weight, so_far);
  const typename V::F product = V::mul(x, weight);
  const typename V::M wins = V::mask_or(V::gt(product, so_far), V::unordered(product, product));
  return V::select(wins, product, so_far);
}
/// Goes on with what y has so far: `vectors` at a time, so that a weight is spread over them once.
template <class V, bool largest, int vectors>
INGOT_INLINE void roi_vectors(const RoiList& list, const float* x, float* y) {
  typename V::F sum[vectors];
  INGOT_UNROLL for (int v = 0; v < vectors; v++) sum[v] = V::load(y + v * V::kLanes);
  for (int k = 0; k < list.count; k++) {
    const typename V::F weight = V::splat(list.weight[k]);
    const float* from = x + list.at[k];
    INGOT_UNROLL for (int v = 0; v < vectors; v++) sum[v] =
        roi_step<V, largest>(V::load(from + v * V::kLanes), weight, sum[v]);
  }
  INGOT_UNROLL for (int v = 0; v < vectors; v++) V::store(y + v * V::kLanes, sum[v]);
}
template <class V, bool largest>
void roi_channels(RoiList* list, const float* x, float* y, int64_t channels) {
  int64_t c = 0;
  for (; c + 4 * V::kLanes <= channels; c += 4 * V::kLanes)
    roi_vectors<V, largest, 4>(*list, x + c, y + c);
  for (; c + V::kLanes <= channels; c += V::kLanes) roi_vectors<V, largest, 1>(*list, x + c, y + c);
  if (c < channels) {
    typename V::F sum = V::load_partial(y + c, channels - c);
    for (int k = 0; k < list->count; k++)
      sum = roi_step<V, largest>(V::load_partial(x + c + list->at[k], channels - c),
                                 V::splat(list->weight[k]), sum);
    V::store_partial(y + c, sum, channels - c);
  }
  list->count = 0;
}

template <class V>
void roi_fill(float* y, int64_t channels, float value) {
  for (int64_t c = 0; c < channels; c += V::kLanes)
    V::store_partial(y + c, V::splat(value), least_of(channels - c, V::kLanes));
}

/// Places of a bin that lie inside x.
inline int64_t roi_inside(const RoiBin& bin, const RoiRange& range, int64_t extent) {
  int64_t n = 0;
  for (int32_t k = range.begin; k < range.end; k++) n += roi_tap(bin, k, extent).inside;
  return n;
}

template <class V, bool largest>
void roi_mix(const RoiBin& down, const RoiBin& across, const TensorView& x, const float* image,
             float* y) {
  const int64_t lines = x.dims[1], columns = x.dims[2], channels = x.dims[3];
  const int64_t places = int64_t(down.places) * across.places;
  const RoiRange i_range = roi_range(down, lines), j_range = roi_range(across, columns);
  const int64_t inside = roi_inside(down, i_range, lines) * roi_inside(across, j_range, columns);
  roi_fill<V>(y, channels, largest && inside == places && places > 0 ? -__builtin_inff() : 0.0f);
  if (inside == 0) return;
  RoiList list;
  for (int32_t i = i_range.begin; i < i_range.end; i++) {
    const RoiTap line = roi_tap(down, i, lines);
    if (!line.inside) continue;
    const int64_t upper = line.low * columns, lower = line.high * columns;
    for (int32_t j = j_range.begin; j < j_range.end; j++) {
      const RoiTap column = roi_tap(across, j, columns);
      if (!column.inside) continue;
      int64_t* const at = list.at + list.count;
      float* const weight = list.weight + list.count;
      at[0] = (upper + column.low) * x.row_stride, at[1] = (upper + column.high) * x.row_stride;
      at[2] = (lower + column.low) * x.row_stride, at[3] = (lower + column.high) * x.row_stride;
      weight[0] = (1 - line.weight) * (1 - column.weight);
      weight[1] = (1 - line.weight) * column.weight;
      weight[2] = line.weight * (1 - column.weight);
      weight[3] = line.weight * column.weight;
      list.count += 4;
      if (list.count == kRoiList) roi_channels<V, largest>(&list, image, y, channels);
    }
  }
  if (list.count) roi_channels<V, largest>(&list, image, y, channels);
  if (largest) return;
  const typename V::F count = V::splat(float(places));
  for (int64_t c = 0; c < channels; c += V::kLanes) {
    const int64_t n = least_of(channels - c, V::kLanes);
    V::store_partial(y + c, V::div(V::load_partial(y + c, n), count), n);
  }
}

template <class V>
Status roi_align(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &boxes = a.inputs[1], &y = a.outputs[0];
  const int64_t* const images = a.inputs[2].as<const int64_t>();
  if (y.elements() == 0) return {};
  const RoiAlignAttributes& t = a.as<RoiAlignAttributes>();
  const int64_t lines = y.dims[1], columns = y.dims[2];
  const int64_t image = x.dims[1] * x.dims[2] * x.row_stride;
  bool good = true;
  const Part mine = part_of(team, y.rows(), 1, most_of(1, 1024 / (y.dims[3] + 16)));
  for (int64_t row = mine.begin; row < mine.end; row++) {
    const int64_t n = row / (lines * columns), bin = row % (lines * columns);
    if (images[n] < 0 || images[n] >= x.dims[0]) {
      good = false;
      continue;
    }
    const float* const box = boxes.as<const float>() + n * boxes.row_stride;
    const RoiBin down = roi_bin(t, box[1], box[3], lines, bin / columns),
                 across = roi_bin(t, box[0], box[2], columns, bin % columns);
    const float* const from = x.as<const float>() + images[n] * image;
    float* const to = y.as<float>() + row * y.row_stride;
    if (t.mode == RoiMode::kMax)
      roi_mix<V, true>(down, across, x, from, to);
    else
      roi_mix<V, false>(down, across, x, from, to);
  }
  return good ? Status() : Status(Code::kBadIndexValue);
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
