// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/movement/move.cuh - units from strides to strides, matrices turned through shared
// memory, rows side by side, borders.
#pragma once
#include "kernels/cuda/device/bytes.cuh"
#include "kernels/cuda/movement/movement_params.h"

namespace ingot::cuda {

template <class T, class Index>
GPU_FN void move_units_by(const MoveParams& p) {
  const T* from = reinterpret_cast<const T*>(p.from);
  T* to = reinterpret_cast<T*>(p.to);
  GPU_ROLLED for (Index i = Index(grid_thread()); i < Index(p.count); i += Index(grid_threads())) {
    Index rest = i;
    int64_t from_at = 0, to_at = 0;
    GPU_ROLLED for (int d = p.rank - 1; d > 0; d--) {
      const int64_t k = int64_t(take_remainder(&rest, p.dims[d]));
      from_at += k * p.from_strides[d];
      to_at += k * p.to_strides[d];
    }
    to[to_at + int64_t(rest) * p.to_strides[0]] = from[from_at + int64_t(rest) * p.from_strides[0]];
  }
}
template <int bytes>
GPU_FN void move_units(const MoveParams& p) {
  if (fits_index32(p.count))
    move_units_by<Unit<bytes>, uint32_t>(p);
  else
    move_units_by<Unit<bytes>, uint64_t>(p);
}

INGOT_GPU_KERNEL(move_1, MoveParams, 256) { move_units<1>(p); }
INGOT_GPU_KERNEL(move_2, MoveParams, 256) { move_units<2>(p); }
INGOT_GPU_KERNEL(move_4, MoveParams, 256) { move_units<4>(p); }
INGOT_GPU_KERNEL(move_8, MoveParams, 256) { move_units<8>(p); }
INGOT_GPU_KERNEL(move_16, MoveParams, 256) { move_units<16>(p); }

/// Where a tile lies: its first row and column in its matrix, and that matrix on both sides.
struct TurnPlace {
  int64_t row, column, from, to;
};
GPU_FN TurnPlace turn_place(const TurnParams& p, uint64_t rest) {
  TurnPlace at = {};
  at.column = int64_t(take_remainder(&rest, p.column_tiles)) * kTurnSide;
  at.row = int64_t(take_remainder(&rest, p.row_tiles)) * kTurnSide;
  GPU_ROLLED for (int d = p.rank - 1; d >= 0; d--) {
    const int64_t k = int64_t(take_remainder(&rest, p.dims[d]));
    at.from += k * p.from_strides[d];
    at.to += k * p.to_strides[d];
  }
  return at;
}

/// A tile at a time: both sides are walked along their contiguous dimension. The odd row length
/// keeps columns in different banks.
template <int bytes>
GPU_FN void turn_tiles(const TurnParams& p) {
  using T = Unit<bytes>;
  constexpr int kRows = 256 / kTurnSide;  // of threads
  GPU_SHARED_ARRAY(T, tile, [kTurnSide][kTurnSide + 1]);
  const int x = int(threadIdx.x % kTurnSide), y = int(threadIdx.x / kTurnSide);
  for (int64_t t = blockIdx.x; t < p.tiles; t += gridDim.x) {
    const TurnPlace at = turn_place(p, uint64_t(t));
    const T* from =
        reinterpret_cast<const T*>(p.from) + at.from + at.column * p.column_from + at.row;
    T* to = reinterpret_cast<T*>(p.to) + at.to + at.row * p.row_to + at.column;
    const int64_t rows = p.rows - at.row, columns = p.columns - at.column;
    for (int c = y; c < kTurnSide; c += kRows)
      if (c < columns && x < rows) tile[c][x] = from[c * p.column_from + x];
    __syncthreads();
    for (int r = y; r < kTurnSide; r += kRows)
      if (r < rows && x < columns) to[r * p.row_to + x] = tile[x][r];
    __syncthreads();
  }
}

INGOT_GPU_KERNEL(turn_1, TurnParams, 256) { turn_tiles<1>(p); }
INGOT_GPU_KERNEL(turn_2, TurnParams, 256) { turn_tiles<2>(p); }
INGOT_GPU_KERNEL(turn_4, TurnParams, 256) { turn_tiles<4>(p); }
INGOT_GPU_KERNEL(turn_8, TurnParams, 256) { turn_tiles<8>(p); }

/// One piece a row of blocks.
INGOT_GPU_KERNEL(concat_units, ConcatParams, 256) {
  const ConcatParams::Piece& piece = p.pieces[blockIdx.y];
  const int64_t count = p.rows * piece.columns;
  GPU_ROLLED for (int64_t i = grid_thread(); i < count; i += grid_threads()) {
    uint64_t row = uint64_t(i);
    const int64_t column = int64_t(take_remainder(&row, piece.by_columns));
    copy_unit(piece.from, int64_t(row) * piece.from_stride + column, p.to,
              piece.to_column + int64_t(row) * p.to_stride + column, p.unit);
  }
}

/// Source position for output position `at`; -1 where a constant goes.
GPU_FN int64_t pad_source(PadMode mode, int64_t at, int64_t extent) {
  if (at >= 0 && at < extent) return at;
  switch (mode) {
    case PadMode::kConstant: return -1;
    case PadMode::kReflect: return at < 0 ? -at : 2 * (extent - 1) - at;
    case PadMode::kEdge: return at < 0 ? 0 : extent - 1;
    case PadMode::kWrap: return at < 0 ? at + extent : at - extent;
  }
  return -1;
}

/// `element` of `bytes` bytes again and again.
GPU_FN uint64_t repeat_element(uint64_t element, int bytes) {
  if (bytes < 2) return (element & 0xff) * 0x0101010101010101u;
  if (bytes == 2) return (element & 0xffff) * 0x0001000100010001u;
  return bytes == 4 ? (element & 0xffffffffu) * 0x0000000100000001u : element;
}
GPU_FN void fill_unit(uint64_t element, char* to, int64_t to_at, int bytes) {
  switch (bytes) {
    case 1: reinterpret_cast<uint8_t*>(to)[to_at] = uint8_t(element); break;
    case 2: reinterpret_cast<uint16_t*>(to)[to_at] = uint16_t(element); break;
    case 4: reinterpret_cast<uint32_t*>(to)[to_at] = uint32_t(element); break;
    case 8: reinterpret_cast<uint64_t*>(to)[to_at] = element; break;
    default:
      reinterpret_cast<Bytes16*>(to)[to_at] = {
          {uint32_t(element), uint32_t(element >> 32), uint32_t(element), uint32_t(element >> 32)}};
      break;
  }
}

INGOT_GPU_KERNEL(pad_units, PadParams, 256) {
  uint64_t element = p.fill;
  if (p.value) {
    element = 0;
    GPU_ROLLED for (int i = 0; i < p.value_bytes; i++) element |= uint64_t(uint8_t(p.value[i]))
                                                                  << 8 * i;
  }
  element = repeat_element(element, p.value_bytes);
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    uint64_t rest = uint64_t(i);
    int64_t from_at = 0, to_at = 0;
    bool inside = true;
    GPU_ROLLED for (int d = p.rank - 1; d >= 0; d--) {
      const int64_t k = int64_t(take_remainder(&rest, p.dims[d]));
      const int64_t source = pad_source(p.mode, k - p.before[d], p.extents[d]);
      inside = inside && source >= 0;
      from_at += source * p.from_strides[d];
      to_at += k * p.to_strides[d];
    }
    if (inside)
      copy_unit(p.from, from_at, p.to, to_at, p.unit);
    else
      fill_unit(element, p.to, to_at, p.unit);
  }
}

}  // namespace ingot::cuda
