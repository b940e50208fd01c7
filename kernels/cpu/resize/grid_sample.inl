// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/resize/grid_sample.inl - GridSample. Contract: runtime/op/grid_sample.h. Sixteen
// places at a time: their elements and weights are computed in vectors, once for all channels. Then
// the channels of each are mixed; of up to three channels the places are, by gathers.
#pragma once
#include <cstring>

#include "kernels/cpu/resize/grid_taps.inl"
#include "kernels/cpu/simd/share.inl"

namespace ingot::cpu {
namespace {
namespace tensors {

constexpr int kGridBlock = 16;  // places; whole vectors of any instruction set
constexpr int kMaxGridMix = kMaxGridTaps * kMaxGridTaps * kMaxGridTaps;

/// Dimensions that x does not have come first, with one element.
struct GridShape {
  GridSampleAttributes t;
  int spatial, taps[kMaxGridDims];
  int64_t extents[kMaxGridDims];
  int64_t pixel, places;  // elements from one of x to the next; of an image of y
};
struct GridBlock {
  int32_t at[kMaxGridDims][kMaxGridTaps][kGridBlock];
  float weight[kMaxGridDims][kMaxGridTaps][kGridBlock];
};
/// What one place of y is made of.
struct GridMix {
  int count;
  int64_t at[kMaxGridMix];  // elements from the start of the image
  float weight[kMaxGridMix];
};

inline GridShape grid_shape(const OpArguments& a) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  GridShape s = {a.as<GridSampleAttributes>(), x.rank - 2, {1, 1, 1}, {1, 1, 1}, x.row_stride,
                 y.rows() / y.dims[0]};
  for (int i = 0; i < s.spatial; i++) {
    s.extents[kMaxGridDims - s.spatial + i] = x.dims[1 + i];
    s.taps[kMaxGridDims - s.spatial + i] = grid_taps(s.t.mode);
  }
  return s;
}

/// Lanes of a vector past `count` have place 0.
template <class V>
void read_grid(const GridShape& s, const TensorView& grid, int64_t first, int count, GridBlock* b) {
  for (int d = 0; d < kMaxGridDims; d++) {
    if (d < kMaxGridDims - s.spatial) {
      for (int p = 0; p < kGridBlock; p++) b->at[d][0][p] = 0, b->weight[d][0][p] = 1;
      continue;
    }
    const GridAxis axis = grid_axis(s.t.align_corners, s.extents[d]);
    float places[kGridBlock] = {};
    const float* from = grid.as<const float>() + first * grid.row_stride + kMaxGridDims - 1 - d;
    for (int p = 0; p < count; p++) places[p] = from[p * grid.row_stride];
    for (int p = 0; p < count; p += V::kLanes) {
      const GridPlace<V> place = grid_place<V>(s.t, axis, V::load(places + p));
      for (int k = 0; k < s.taps[d]; k++) {
        V::istore(b->at[d][k] + p, grid_index<V>(s.t, axis, place, k));
        V::store(b->weight[d][k] + p, grid_weight<V>(s.t.mode, place, k));
      }
    }
  }
}

/// The taps of place p that do not count as zero, in the order of the contract.
inline void list_taps(const GridShape& s, const GridBlock& b, int p, GridMix* m) {
  int n = 0;
  for (int i = 0; i < s.taps[0]; i++) {
    const int64_t outer = b.at[0][i][p];
    if (outer < 0) continue;
    for (int j = 0; j < s.taps[1]; j++) {
      const int64_t at = b.at[1][j][p], row = (outer * s.extents[1] + at) * s.extents[2];
      if (at < 0) continue;
      const float weight = b.weight[0][i][p] * b.weight[1][j][p];
      for (int k = 0; k < s.taps[2]; k++) {
        m->at[n] = (row + b.at[2][k][p]) * s.pixel;
        m->weight[n] = weight * b.weight[2][k][p];
        n += b.at[2][k][p] >= 0;
      }
    }
  }
  m->count = n;
}

/// Channels of one place: `vectors` at a time, so that a weight is spread over them once.
template <class V, int vectors>
INGOT_INLINE void mix_vectors(const GridMix& m, const float* x, float* y) {
  typename V::F sum[vectors];
  INGOT_UNROLL for (int v = 0; v < vectors; v++) sum[v] = V::zero();
  for (int k = 0; k < m.count; k++) {
    const typename V::F weight = V::splat(m.weight[k]);
    const float* from = x + m.at[k];
    INGOT_UNROLL for (int v = 0; v < vectors; v++) sum[v] =
        V::fma(V::load(from + v * V::kLanes), weight, sum[v]);
  }
  INGOT_UNROLL for (int v = 0; v < vectors; v++) V::store(y + v * V::kLanes, sum[v]);
}
template <class V>
void grid_channels(const GridMix& m, const float* x, float* y, int64_t channels) {
  int64_t c = 0;
  for (; c + 4 * V::kLanes <= channels; c += 4 * V::kLanes) mix_vectors<V, 4>(m, x + c, y + c);
  for (; c + V::kLanes <= channels; c += V::kLanes) mix_vectors<V, 1>(m, x + c, y + c);
  if (c == channels) return;
  typename V::F sum = V::zero();
  for (int k = 0; k < m.count; k++)
    sum = V::fma(V::load_partial(x + c + m.at[k], channels - c), V::splat(m.weight[k]), sum);
  V::store_partial(y + c, sum, channels - c);
}

constexpr int kSmallChannels = 3;

/// A vector of places from p on, of at most kSmallChannels channels. @pre x has fewer than 2^31
/// elements
template <class V, int channels>
INGOT_INLINE void mix_places(const GridShape& s, const GridBlock& b, int p, const float* x,
                             float* const (&to)[kSmallChannels]) {
  const typename V::I none = V::isplat(-1), pixel = V::isplat(int32_t(s.pixel)),
                      lines = V::isplat(int32_t(s.extents[1])),
                      columns = V::isplat(int32_t(s.extents[2]));
  typename V::F sum[channels];
  INGOT_UNROLL for (int c = 0; c < channels; c++) sum[c] = V::zero();
  for (int i = 0; i < s.taps[0]; i++) {
    const typename V::I plane = V::iload(b.at[0][i] + p);
    for (int j = 0; j < s.taps[1]; j++) {
      const typename V::I line = V::iload(b.at[1][j] + p),
                          row = V::imul(V::iadd(V::imul(plane, lines), line), columns);
      const typename V::M no_row = V::mask_or(V::ieq(plane, none), V::ieq(line, none));
      const typename V::F outer = V::mul(V::load(b.weight[0][i] + p), V::load(b.weight[1][j] + p));
      for (int k = 0; k < s.taps[2]; k++) {
        const typename V::I column = V::iload(b.at[2][k] + p);
        const typename V::M outside = V::mask_or(no_row, V::ieq(column, none));
        const typename V::I at =
            V::iselect(outside, V::isplat(0), V::imul(V::iadd(row, column), pixel));
        const typename V::F weight = V::mul(outer, V::load(b.weight[2][k] + p));
        INGOT_UNROLL for (int c = 0; c < channels; c++) sum[c] =
            V::select(outside, sum[c], V::fma(V::gather(x + c, at), weight, sum[c]));
      }
    }
  }
  INGOT_UNROLL for (int c = 0; c < channels; c++) V::store(to[c] + p, sum[c]);
}
template <class V>
void mix_block(const GridShape& s, const GridBlock& b, int count, const float* x, float* y,
               int64_t channels, int64_t row_stride) {
  float room[kSmallChannels][kGridBlock];
  float* const to[kSmallChannels] = {room[0], room[1], room[2]};
  for (int p = 0; p < count; p += V::kLanes) {
    if (channels == 1)
      mix_places<V, 1>(s, b, p, x, to);
    else if (channels == 2)
      mix_places<V, 2>(s, b, p, x, to);
    else
      mix_places<V, 3>(s, b, p, x, to);
  }
  for (int p = 0; p < count; p++)
    for (int64_t c = 0; c < channels; c++) y[p * row_stride + c] = room[c][p];
}

inline void copy_channels(char* to, const char* from, int64_t channels, int64_t bytes) {
  if (bytes == 4 && channels <= kSmallChannels)
    for (int64_t c = 0; c < channels; c++) std::memcpy(to + c * 4, from + c * 4, 4);
  else
    std::memcpy(to, from, size_t(channels * bytes));
}

template <class V>
Status grid_sample(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &grid = a.inputs[1], &y = a.outputs[0];
  if (y.elements() == 0) return {};
  const GridShape s = grid_shape(a);
  const int64_t channels = y.row_length(), bytes = dtype_bytes(y.dtype);
  const int64_t image = s.extents[0] * s.extents[1] * s.extents[2] * s.pixel;
  const bool nearest = s.t.mode == GridMode::kNearest;
  const bool few = !nearest && channels <= kSmallChannels && image <= INT32_MAX;
  const Part mine = part_of(team, y.rows(), 1, most_of(1, 2048 / (channels + 16)));
  GridBlock block;
  GridMix mix;
  int64_t n = mine.begin / s.places, behind = (n + 1) * s.places;
  for (int64_t first = mine.begin; first < mine.end;) {
    if (first == behind) n++, behind += s.places;
    const int count = int(least_of(least_of(mine.end, behind) - first, kGridBlock));
    read_grid<V>(s, grid, first, count, &block);
    const char* const from = x.as<const char>() + n * image * bytes;
    char* const to = y.as<char>() + first * y.row_stride * bytes;
    if (few)
      mix_block<V>(s, block, count, reinterpret_cast<const float*>(from),
                   reinterpret_cast<float*>(to), channels, y.row_stride);
    for (int p = 0; p < count && !few; p++) {
      list_taps(s, block, p, &mix);
      char* const place = to + p * y.row_stride * bytes;
      if (!nearest)
        grid_channels<V>(mix, reinterpret_cast<const float*>(from), reinterpret_cast<float*>(place),
                         channels);
      else if (mix.count)
        copy_channels(place, from + mix.at[0] * bytes, channels, bytes);
      else
        std::memset(place, 0, size_t(channels * bytes));
    }
    first += count;
  }
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
