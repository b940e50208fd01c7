// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/resize/resize.inl - Resize. Contract, coordinates and order: runtime/op/resize.h. For
// every dimension a table says which source positions (and weights) each output position reads.
// Rows of the last dimension are then copied (nearest), or mixed from 2, 4, 8 (linear) or 4, 16, 64
// (cubic) source rows, vectorized along the channels.
#pragma once
#include "kernels/cpu/copy/move.inl"
#include "kernels/cpu/resize/taps.inl"
#include "runtime/op/resize.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// Dimension i as its coordinates are computed.
inline ResizeAxis axis_of(const OpArguments& a, int i) {
  return resize_axis(a.as<ResizeAttributes>(), i, a.inputs[0].dims[i], a.outputs[0].dims[i],
                     resize_changes(a, i));
}

template <class V>
void resize_nearest(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const int last = x.rank - 1;
  const int64_t bytes = dtype_bytes(x.dtype), length = y.row_length();
  int32_t* tables[kMaxRank];
  int32_t* room = static_cast<int32_t*>(team.scratch);
  const Part mine = part_of(team, y.rows(), 1, most_of(1, 8192 / (length * bytes)));
  if (mine.begin >= mine.end) return;
  bool last_changes = false;
  for (int i = 0; i < x.rank; i++) {
    tables[i] = room;
    const ResizeAxis axis = axis_of(a, i);
    for (int64_t k = 0; k < y.dims[i]; k++)
      room[k] = nearest_index(a.as<ResizeAttributes>(), axis, k);
    room += y.dims[i];
    if (i == last) last_changes = resize_changes(a, i);
  }
  for (int64_t r = mine.begin; r < mine.end; r++) {
    int64_t rest = r, row = 0, step = 1;
    for (int i = last - 1; i >= 0; i--) {
      row += tables[i][rest % y.dims[i]] * step;
      rest /= y.dims[i];
      step *= x.dims[i];
    }
    const char* from = x.as<const char>() + row * x.row_stride * bytes;
    char* to = y.as<char>() + r * y.row_stride * bytes;
    if (x.rank == 0 || !last_changes) {
      std::memcpy(to, from, size_t(length * bytes));
      continue;
    }
    const int32_t* table = tables[last];
    if (bytes == 4)
      for (int64_t j = 0; j < length; j++) std::memcpy(to + j * 4, from + int64_t(table[j]) * 4, 4);
    else
      for (int64_t j = 0; j < length; j++)
        std::memcpy(to + j * bytes, from + table[j] * bytes, size_t(bytes));
  }
}

/// The source rows that one output row mixes: the changed dimensions but the last, outermost first.
struct RowMix {
  int count = 0;
  const ResizeTap* taps[kMaxResizeDims] = {};
  int64_t strides[kMaxResizeDims] = {};  // elements
};

template <class V, bool cubic, class Get>
INGOT_INLINE typename V::F mix_taps(const ResizeTap& tap, Get get) {
  if constexpr (cubic) {
    typename V::F sum = V::zero();
    for (int k = 0; k < 4; k++) sum = V::fma(get(k), V::splat(tap.weight[k]), sum);
    return sum;
  } else {
    const typename V::F low = get(0);
    return V::fma(V::sub(get(1), low), V::splat(tap.weight[0]), low);
  }
}

/// What `load` gives at offset `at`, mixed over `levels` dimensions from `level` on; the innermost
/// is mixed first.
template <class V, bool cubic, int levels, class Load>
INGOT_INLINE typename V::F mix_rows(const RowMix& m, int level, int64_t at, Load load) {
  if constexpr (levels == 0) {
    (void)m, (void)level;
    return load(at);
  } else {
    const ResizeTap& tap = *m.taps[level];
    return mix_taps<V, cubic>(tap, [&](int k) {
      return mix_rows<V, cubic, levels - 1>(m, level + 1,
                                            at + int64_t(tap.at[k]) * m.strides[level], load);
    });
  }
}

/// One output row whose last dimension stays: `length` channels from source offset `at`.
template <class V, bool cubic, int levels>
void mix_channels(const RowMix& m, const float* x, int64_t at, float* y, int64_t length) {
  for (int64_t j = 0; j < length; j += V::kLanes) {
    const int64_t left = length - j;
    if (left >= V::kLanes)
      V::store(y + j,
               mix_rows<V, cubic, levels>(m, 0, at + j, [&](int64_t i) { return V::load(x + i); }));
    else
      V::store_partial(y + j,
                       mix_rows<V, cubic, levels>(
                           m, 0, at + j, [&](int64_t i) { return V::load_partial(x + i, left); }),
                       left);
  }
}

/// One output row whose last dimension changes too: element by element, the last dimension mixed
/// first.
template <class V, bool cubic, int levels>
void mix_elements(const RowMix& m, const ResizeTap* last, const float* x, int64_t at, float* y,
                  int64_t length) {
  for (int64_t j = 0; j < length; j++) {
    const auto load = [&](int64_t i) {
      return mix_taps<V, cubic>(last[j],
                                [&](int k) { return V::load_partial(x + i + last[j].at[k], 1); });
    };
    V::store_partial(y + j, mix_rows<V, cubic, levels>(m, 0, at, load), 1);
  }
}

/// Output rows of one plane whose rows and columns both change. Every source row is mixed along its
/// columns once and kept while the output rows that read it are made: the same sums as element by
/// element, since columns are innermost.
template <class V, bool cubic>
struct MixedRows {
  static constexpr int kTaps = cubic ? 4 : 2;
  const ResizeTap* columns;
  float* room;
  int64_t length, stride;  // of a row; of a kept row, elements
  int64_t kept[kTaps];     // source offset of the row in each slot, -1 for none

  MixedRows(const ResizeTap* taps, float* memory, int64_t count)
      : columns(taps), room(memory), length(count), stride(resize_row_elements(count)) {
    for (int64_t& k : kept) k = -1;
  }
  /// Slot of the source row at `at`; rows named in `wanted` stay.
  int slot_of(const float* x, int64_t at, const int64_t (&wanted)[kTaps]) {
    int free = 0;
    for (int i = 0; i < kTaps; i++) {
      if (kept[i] == at) return i;
      bool needed = false;
      for (int64_t w : wanted) needed |= kept[i] == w;
      if (!needed) free = i;
    }
    mix(x + at, room + free * stride);
    kept[free] = at;
    return free;
  }
  /// One element at a time without a vector around it, in the order of mix_taps.
  void mix(const float* x, float* to) const {
    for (int64_t j = 0; j < length; j++) {
      const ResizeTap& tap = columns[j];
      if constexpr (cubic) {
        float sum = 0;
        for (int k = 0; k < 4; k++) sum = fused(x[tap.at[k]], tap.weight[k], sum);
        to[j] = sum;
      } else {
        const float low = x[tap.at[0]];
        to[j] = fused(x[tap.at[1]] - low, tap.weight[0], low);
      }
    }
  }
  void row(const float* x, int64_t at, const ResizeTap& tap, int64_t row_stride, float* y) {
    int64_t wanted[kTaps];
    const float* from[kTaps];
    for (int k = 0; k < kTaps; k++) wanted[k] = at + int64_t(tap.at[k]) * row_stride;
    for (int k = 0; k < kTaps; k++) from[k] = room + slot_of(x, wanted[k], wanted) * stride;
    for (int64_t j = 0; j < length; j += V::kLanes) {
      const typename V::F v = mix_taps<V, cubic>(tap, [&](int k) { return V::load(from[k] + j); });
      if (length - j >= V::kLanes)
        V::store(y + j, v);
      else
        V::store_partial(y + j, v, length - j);
    }
  }
};

template <class V, bool cubic>
void mix_row(const RowMix& m, const ResizeTap* last, const float* x, int64_t at, float* y,
             int64_t length) {
  if (last) {
    switch (m.count) {
      case 0: return mix_elements<V, cubic, 0>(m, last, x, at, y, length);
      case 1: return mix_elements<V, cubic, 1>(m, last, x, at, y, length);
      default: return mix_elements<V, cubic, 2>(m, last, x, at, y, length);
    }
  }
  switch (m.count) {
    case 0: return mix_channels<V, cubic, 0>(m, x, at, y, length);
    case 1: return mix_channels<V, cubic, 1>(m, x, at, y, length);
    case 2: return mix_channels<V, cubic, 2>(m, x, at, y, length);
    default: return mix_channels<V, cubic, 3>(m, x, at, y, length);
  }
}

template <class V, bool cubic>
void resize_mixed(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const int last = x.rank - 1;
  const int64_t length = y.row_length();
  ResizeTap* tables[kMaxRank] = {};
  ResizeTap* room = static_cast<ResizeTap*>(team.scratch);
  const Part mine = part_of(team, y.rows(), 1, most_of(1, 2048 / length));
  if (mine.begin >= mine.end) return;
  for (int i = 0; i < x.rank; i++) {
    if (!resize_changes(a, i)) continue;
    tables[i] = room;
    const ResizeAxis axis = axis_of(a, i);
    for (int64_t k = 0; k < y.dims[i]; k++) room[k] = resize_tap(a.as<ResizeAttributes>(), axis, k);
    room += y.dims[i];
  }
  // The tables end at a multiple of 32 bytes; kept rows follow.
  MixedRows<V, cubic> mixed(x.rank ? tables[last] : nullptr, reinterpret_cast<float*>(room),
                            length);
  for (int64_t r = mine.begin; r < mine.end; r++) {
    RowMix m;
    int64_t index[kMaxRank] = {}, rest = r, at = 0;
    for (int i = last - 1; i >= 0; i--) index[i] = rest % y.dims[i], rest /= y.dims[i];
    for (int i = 0; i < last; i++) {
      if (tables[i]) {
        m.taps[m.count] = tables[i] + index[i];
        m.strides[m.count++] = stride_of(x, i);
      } else {
        at += index[i] * stride_of(x, i);
      }
    }
    float* to = y.as<float>() + r * y.row_stride;
    if (mixed.columns && m.count == 1)
      mixed.row(x.as<const float>(), at, *m.taps[0], m.strides[0], to);
    else
      mix_row<V, cubic>(m, mixed.columns, x.as<const float>(), at, to, length);
  }
}

template <class V>
Status resize(const OpArguments& a, const Team& team) {
  if (a.outputs[0].elements() == 0) return {};
  switch (a.as<ResizeAttributes>().mode) {
    case ResizeMode::kNearest: resize_nearest<V>(a, team); break;
    case ResizeMode::kLinear: resize_mixed<V, false>(a, team); break;
    case ResizeMode::kCubic: resize_mixed<V, true>(a, team); break;
  }
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
