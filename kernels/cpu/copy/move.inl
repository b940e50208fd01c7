// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/copy/move.inl - one walk over dims with a stride on each side: what Copy, Tile,
// Slice, Concat and Transpose are made of. Dims are merged first; then rows that are contiguous on
// both sides are copied whole, and two dimensions that change places go through square blocks that
// fit L1.
#pragma once
#include <cstring>

#include "kernels/cpu/simd/interleave.inl"
#include "kernels/cpu/simd/share.inl"

namespace ingot::cpu {
namespace {
namespace tensors {

constexpr int kMoveRank = 2 * kMaxRank;  // Tile has a repetition and an extent for each dimension

/// Strides in elements.
struct Move {
  int rank = 0;
  int64_t dims[kMoveRank] = {}, from[kMoveRank] = {}, to[kMoveRank] = {};
  int64_t bytes = 1;  // of an element
  void push(int64_t dim, int64_t from_stride, int64_t to_stride) {
    dims[rank] = dim;
    from[rank] = from_stride;
    to[rank++] = to_stride;
  }
};

/// Elements between neighbours along dimension i.
inline int64_t stride_of(const TensorType& t, int i) {
  if (i == t.rank - 1) return 1;
  int64_t stride = t.row_stride;
  for (int k = i + 1; k + 1 < t.rank; k++) stride *= t.dims[k];
  return stride;
}

/// Drops dims of 1 and merges neighbours that lie in one run on both sides. False when there is
/// nothing to do.
inline bool merge_move(Move* m) {
  int out = 0;
  for (int i = 0; i < m->rank; i++) {
    if (m->dims[i] == 0) return false;
    if (m->dims[i] == 1) continue;
    const bool merges = out > 0 && m->from[out - 1] == m->from[i] * m->dims[i] &&
                        m->to[out - 1] == m->to[i] * m->dims[i];
    if (merges) {
      m->dims[out - 1] *= m->dims[i];
      m->from[out - 1] = m->from[i];
      m->to[out - 1] = m->to[i];
    } else {
      m->dims[out] = m->dims[i];
      m->from[out] = m->from[i];
      m->to[out++] = m->to[i];
    }
  }
  if (out == 0) {
    m->dims[0] = m->from[0] = m->to[0] = 1;
    out = 1;
  }
  m->rank = out;
  return true;
}

template <class T>
INGOT_INLINE void move_run(const char* from, char* to, int64_t n, int64_t from_stride,
                           int64_t to_stride) {
  for (int64_t i = 0; i < n; i++)
    std::memcpy(to + i * to_stride * int64_t(sizeof(T)),
                from + i * from_stride * int64_t(sizeof(T)), sizeof(T));
}

/// n elements of `bytes` each, strides in elements.
inline void move_elements(const char* from, char* to, int64_t n, int64_t from_stride,
                          int64_t to_stride, int64_t bytes) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, size_t(n * bytes));
    return;
  }
  switch (bytes) {
    case 1: return move_run<uint8_t>(from, to, n, from_stride, to_stride);
    case 2: return move_run<uint16_t>(from, to, n, from_stride, to_stride);
    case 4: return move_run<uint32_t>(from, to, n, from_stride, to_stride);
    default: return move_run<uint64_t>(from, to, n, from_stride, to_stride);
  }
}

/// rows x columns elements: to[r * to_stride + c] = from[c * from_stride + r].
template <class V, class T>
void swap_block(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t rows,
                int64_t columns) {
  int64_t r = 0;
  if constexpr (sizeof(T) == 4 && V::kLanes > 1) {
    constexpr int64_t kSide = V::kLanes;
    for (; r + kSide <= rows; r += kSide) {
      int64_t c = 0;
      for (; c + kSide <= columns; c += kSide) {
        typename V::F square[V::kLanes];
        for (int i = 0; i < V::kLanes; i++)
          square[i] = V::load(reinterpret_cast<const float*>(from + (c + i) * from_stride + r));
        V::transpose(square);
        for (int i = 0; i < V::kLanes; i++)
          V::store(reinterpret_cast<float*>(to + (r + i) * to_stride + c), square[i]);
      }
      for (; c < columns; c++)
        for (int64_t i = r; i < r + kSide; i++) to[i * to_stride + c] = from[c * from_stride + i];
    }
  }
  for (; r < rows; r++)
    for (int64_t c = 0; c < columns; c++) to[r * to_stride + c] = from[c * from_stride + r];
}

/// The innermost dimension and one more, which change places.
template <class V, class T>
void swap_plane(const char* from, char* to, int64_t rows, int64_t row_to, int64_t columns,
                int64_t column_from) {
  constexpr int64_t kBlock = 64;
  const T* source = reinterpret_cast<const T*>(from);
  T* target = reinterpret_cast<T*>(to);
  int64_t r = 0;
  if constexpr (sizeof(T) == 1 && kInterleaved > 0) {
    if (columns == 3 && row_to == 3)
      for (; r + kInterleaved <= rows; r += kInterleaved)
        interleave3(source + r, source + column_from + r, source + 2 * column_from + r,
                    target + 3 * r);
  }
  if constexpr (sizeof(T) == 4 && kInterleavedWords > 0) {
    if (columns == 2 && row_to == 2)
      for (; r + kInterleavedWords <= rows; r += kInterleavedWords)
        interleave2_words(source + r, source + column_from + r, target + 2 * r);
    if (columns == 3 && row_to == 3)
      for (; r + kInterleavedWords <= rows; r += kInterleavedWords)
        interleave3_words(source + r, source + column_from + r, source + 2 * column_from + r,
                          target + 3 * r);
  }
  for (; r < rows; r += kBlock)
    for (int64_t c = 0; c < columns; c += kBlock)
      swap_block<V, T>(source + c * column_from + r, column_from, target + r * row_to + c, row_to,
                       least_of(kBlock, rows - r), least_of(kBlock, columns - c));
}

/// Moves this member's share. @pre merged.
template <class V>
void run_move(const Move& m, const char* from, char* to, const Team& team) {
  const int last = m.rank - 1;
  // the dimension that is contiguous in the source while the last is contiguous in the target
  int other = -1;
  if (m.from[last] != 1 && m.to[last] == 1)
    for (int i = 0; i < last; i++)
      if (m.from[i] == 1) other = i;
  const int64_t kLeast = 16384 / m.bytes;
  int64_t outer = 1;
  for (int i = 0; i < last; i++)
    if (i != other) outer *= m.dims[i];
  const int64_t inner = m.dims[last] * (other < 0 ? 1 : m.dims[other]);
  // Few large pieces are cut inside, many small ones between.
  const bool cut_inside = outer < team.size;
  const int64_t extent = other < 0 ? m.dims[last] : m.dims[other];
  const Part mine = cut_inside
                        ? part_of(team, extent, 16, most_of(1, kLeast * extent / most_of(inner, 1)))
                        : part_of(team, outer, 1, most_of(1, kLeast / most_of(inner, 1)));
  const Part pieces = cut_inside ? Part{0, outer} : mine, cut = cut_inside ? mine : Part{0, extent};
  if (cut.begin >= cut.end) return;
  for (int64_t p = pieces.begin; p < pieces.end; p++) {
    int64_t rest = p, from_at = 0, to_at = 0;
    for (int i = last - 1; i >= 0; i--) {
      if (i == other) continue;
      const int64_t k = rest % m.dims[i];
      rest /= m.dims[i];
      from_at += k * m.from[i];
      to_at += k * m.to[i];
    }
    const int axis = other < 0 ? last : other;
    const char* source = from + (from_at + cut.begin * m.from[axis]) * m.bytes;
    char* target = to + (to_at + cut.begin * m.to[axis]) * m.bytes;
    const int64_t n = cut.end - cut.begin;
    if (other < 0) {
      move_elements(source, target, n, m.from[last], m.to[last], m.bytes);
      continue;
    }
    switch (m.bytes) {
      case 1:
        swap_plane<V, uint8_t>(source, target, n, m.to[other], m.dims[last], m.from[last]);
        break;
      case 2:
        swap_plane<V, uint16_t>(source, target, n, m.to[other], m.dims[last], m.from[last]);
        break;
      case 4:
        swap_plane<V, uint32_t>(source, target, n, m.to[other], m.dims[last], m.from[last]);
        break;
      default:
        swap_plane<V, uint64_t>(source, target, n, m.to[other], m.dims[last], m.from[last]);
        break;
    }
  }
}

template <class V>
void merge_and_run(Move* m, const void* from, void* to, const Team& team) {
  if (merge_move(m)) run_move<V>(*m, static_cast<const char*>(from), static_cast<char*>(to), team);
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
