// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/image/image.inl - ImageInput. Contract and arithmetic: runtime/op/image_input.h. For
// each row of y: the bytes of each plane's source rows are mixed down into one row of floats (whole
// vectors, in order), that row is mixed across at the positions of a table that is made once a run,
// and the samples become channels (whole vectors again).
#pragma once
#include "kernels/cpu/image/color.inl"
#include "kernels/cpu/simd/share.inl"
#include "runtime/op/image_input.h"

namespace ingot::cpu {
namespace {
namespace tensors {

template <class V>
class ImageRows {
  using F = typename V::F;

 public:
  ImageRows(const OpArguments& a, void* scratch)
      : t_(a.as<ImageInputAttributes>()),
        layout_(pixel_layout(t_.format)),
        place_(image_scratch(t_)),
        room_(static_cast<float*>(scratch)),
        converter_(t_),
        y_(a.outputs[0]) {
    image_planes(a, planes_);
    // tails of tables and rows are read, with weight 0
    std::memset(room_, 0, size_t(place_.elements) * 4);
    height_ = y_.dims[t_.planar ? 2 : 1], width_ = y_.dims[t_.planar ? 3 : 2];
    for (int i = 0; i < layout_.components; i++) add_component(i);
    for (int i = 0; i < (layout_.is_yuv ? 2 : 1); i++) make_columns(layout_.at[i], i);
  }

  /// Row r of all rows of all images.
  void run(int64_t r) {
    const int64_t n = r / height_, row = r % height_, shown = row - t_.target.top;
    if (shown < 0 || shown >= t_.target.height) return pad(n, row, 0, width_);
    pad(n, row, 0, t_.target.left);
    pad(n, row, int64_t(t_.target.left) + t_.target.width, width_);
    for (int i = 0; i < layout_.components; i++) sample(i, n, uint32_t(shown));
    convert(n, row);
  }

 private:
  struct Bytes {
    int64_t begin = INT64_MAX, end = 0;  // of the source area in a row
  };

  bool is_chroma(int i) const { return layout_.is_yuv && i > 0; }

  void add_component(int i) {
    const PixelComponent& c = layout_.at[i];
    Bytes& bytes = bytes_[c.plane];
    const int64_t last = int64_t(t_.source.left) + t_.source.width - 1;
    bytes.begin = least_of(bytes.begin, int64_t(t_.source.left) / c.across * c.step);
    bytes.end = most_of(bytes.end, (last / c.across + 1) * c.step);
  }

  int32_t* columns(int of) const { return reinterpret_cast<int32_t*>(room_ + place_.columns[of]); }
  float* weights(int of) const { return room_ + place_.weights[of]; }

  /// Positions are of bytes from the start of the source area, without the component's origin.
  void make_columns(const PixelComponent& c, int of) {
    const ImageAxis axis = image_across(t_, c);
    int32_t *at = columns(of), *end = at + t_.target.width;
    float* weight = weights(of);
    const int32_t begin = int32_t(bytes_[c.plane].begin);
    for (uint32_t o = 0; o < t_.target.width; o++) {
      if (t_.interpolation == PixelInterpolation::kNearest) {
        at[o] = nearest_sample(axis, o) * c.step - begin;
      } else if (t_.interpolation == PixelInterpolation::kBilinear) {
        const ImageTap tap = bilinear_tap(axis, o);
        at[o] = tap.at * c.step - begin;
        weight[o] = tap.weight;
      } else {
        const ImageRun run = area_run(axis, o);
        at[o] = run.begin * c.step - begin;
        end[o] = run.end * c.step - begin;
        for (int32_t k = run.begin; k < run.end; k++) *weight++ = area_weight(axis, o, k);
      }
    }
  }

  const uint8_t* row_bytes(const PixelComponent& c, int64_t n, int64_t row) const {
    const ImagePlane& p = planes_[c.plane];
    return p.data + n * p.frame_bytes + row * p.pitch + bytes_[c.plane].begin;
  }

  void sample(int i, int64_t n, uint32_t row) {
    const PixelComponent& c = layout_.at[i];
    const ImageAxis axis = image_down(t_, c);
    float* to = room_ + place_.samples[i];
    const int of = is_chroma(i);
    if (t_.interpolation == PixelInterpolation::kNearest) {
      const uint8_t* from = row_bytes(c, n, nearest_sample(axis, row)) + c.origin;
      const int32_t* at = columns(of);
      for (uint32_t j = 0; j < t_.target.width; j++) to[j] = float(from[at[j]]);
      return;
    }
    const bool is_first = i == 0 || layout_.at[i - 1].plane != c.plane;
    if (t_.interpolation == PixelInterpolation::kBilinear) {
      if (is_first) mix_down(c, n, bilinear_tap(axis, row));
      mix_across(c, of, to);
    } else {
      if (is_first) sum_down(c, n, axis, row);
      sum_across(c, of, to);
    }
  }

  /// Calls fn(j, load) for every vector of a plane's source area; load(row) gives kLanes bytes as
  /// floats, or those that are left.
  template <class Fn>
  static INGOT_INLINE void each_vector(int64_t length, Fn fn) {
    int64_t j = 0;
    for (; j + V::kLanes <= length; j += V::kLanes)
      fn(j, [&](const uint8_t* row) { return V::load_u8(row + j); });
    if (j < length)
      fn(j, [&](const uint8_t* row) {
        uint8_t rest[V::kLanes] = {};
        std::memcpy(rest, row + j, size_t(length - j));
        return V::load_u8(rest);
      });
  }

  void mix_down(const PixelComponent& c, int64_t n, ImageTap tap) {
    const Bytes& bytes = bytes_[c.plane];
    const uint8_t* upper = row_bytes(c, n, tap.at);
    float* to = room_ + place_.rows[c.plane];
    if (tap.weight == 0)  // the same bits, and there may be no row below
      return each_vector(bytes.end - bytes.begin,
                         [&](int64_t j, auto load) { V::store(to + j, load(upper)); });
    const uint8_t* lower = row_bytes(c, n, tap.at + 1);
    const F weight = V::splat(tap.weight);
    each_vector(bytes.end - bytes.begin, [&](int64_t j, auto load) {
      const F a = load(upper);
      V::store(to + j, V::fma(V::sub(load(lower), a), weight, a));
    });
  }

  void mix_across(const PixelComponent& c, int of, float* to) const {
    const float *from = room_ + place_.rows[c.plane] + c.origin, *next = from + c.step,
                *weight = weights(of);
    const int32_t* at = columns(of);
    for (int64_t j = 0; j < t_.target.width; j += V::kLanes) {
      const typename V::I where = V::iload(at + j);
      const F a = V::gather(from, where), b = V::gather(next, where);
      V::store(to + j, V::fma(V::sub(b, a), V::load(weight + j), a));
    }
  }

  void sum_down(const PixelComponent& c, int64_t n, const ImageAxis& axis, uint32_t row) {
    const Bytes& bytes = bytes_[c.plane];
    float* to = room_ + place_.rows[c.plane];
    const ImageRun run = area_run(axis, row);
    for (int32_t k = run.begin; k < run.end; k++) {
      const uint8_t* from = row_bytes(c, n, k);
      const F weight = V::splat(area_weight(axis, row, k));
      const bool is_first = k == run.begin;
      each_vector(bytes.end - bytes.begin, [&](int64_t j, auto load) {
        V::store(to + j, V::fma(load(from), weight, is_first ? V::zero() : V::load(to + j)));
      });
    }
  }

  void sum_across(const PixelComponent& c, int of, float* to) const {
    const float *from = room_ + place_.rows[c.plane] + c.origin, *weight = weights(of);
    const int32_t *at = columns(of), *end = at + t_.target.width;
    for (uint32_t j = 0; j < t_.target.width; j++) {
      float sum = 0;
      for (int32_t k = at[j]; k < end[j]; k += c.step) sum = fused(from[k], *weight++, sum);
      to[j] = sum;
    }
  }

  float* channel(int64_t n, int64_t row, int c) const {
    const int64_t channels = t_.channels;
    return y_.template as<float>() + (t_.planar ? ((n * channels + c) * height_ + row) * width_
                                                : (n * height_ + row) * width_ * channels + c);
  }

  void pad(int64_t n, int64_t row, int64_t begin, int64_t end) const {
    const int64_t step = t_.planar ? 1 : t_.channels;
    for (int c = 0; c < int(t_.channels); c++) {
      float* to = channel(n, row, c);
      for (int64_t j = begin; j < end; j++) to[j * step] = converter_.padding(c);
    }
  }

  void convert(int64_t n, int64_t row) const {
    const float* samples[3];
    float* to[3];
    for (int i = 0; i < 3; i++) samples[i] = room_ + place_.samples[i];
    const bool is_interleaved = !t_.planar && t_.channels == 3;
    for (int c = 0; c < int(t_.channels); c++)
      to[c] = channel(n, row, c) + t_.target.left * (is_interleaved ? 3 : 1);
    for (int64_t j = 0; j < t_.target.width; j += V::kLanes) {
      const int64_t lanes = least_of(V::kLanes, t_.target.width - j);
      F x[3];
      converter_.run(samples, j, x);
      if (is_interleaved) {
        float apart[3][V::kLanes];
        for (int c = 0; c < 3; c++) V::store(apart[c], x[c]);
        for (int64_t k = 0; k < lanes; k++)
          for (int c = 0; c < 3; c++) to[0][(j + k) * 3 + c] = apart[c][k];
      } else if (lanes == V::kLanes) {
        for (int c = 0; c < int(t_.channels); c++) V::store(to[c] + j, x[c]);
      } else {
        for (int c = 0; c < int(t_.channels); c++) V::store_partial(to[c] + j, x[c], lanes);
      }
    }
  }

  const ImageInputAttributes& t_;
  const PixelLayout layout_;
  const ImageScratch place_;
  float* const room_;
  const ImageConverter<V> converter_;
  const TensorView& y_;
  ImagePlane planes_[kMaxImagePlanes] = {};
  Bytes bytes_[kMaxImagePlanes];
  int64_t height_, width_;
};

template <class V>
Status image_input(const OpArguments& a, const Team& team) {
  const TensorView& y = a.outputs[0];
  const bool planar = a.as<ImageInputAttributes>().planar;
  const int64_t width = y.dims[planar ? 3 : 2];
  const Part mine = part_of(team, y.dims[0] * y.dims[planar ? 2 : 1], 1, most_of(1, 2048 / width));
  if (mine.begin >= mine.end) return {};
  ImageRows<V> rows(a, team.scratch);
  for (int64_t r = mine.begin; r < mine.end; r++) rows.run(r);
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
