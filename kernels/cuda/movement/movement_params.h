// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/movement/movement_params.h - what the kernels that move elements take. Counts and
// strides are in units of the kernel.
#pragma once
#include "kernels/cuda/device/fast_divide.h"
#include "kernels/cuda/movement/strides.h"
#include "runtime/op/pad.h"

namespace ingot::cuda {

struct MoveParams {
  const char* from;
  char* to;
  int64_t count;
  FastDivisor dims[kMoveRank];
  int64_t from_strides[kMoveRank], to_strides[kMoveRank];
  int rank;
};

constexpr int kTurnSide = 32;  // of a tile

/// A matrix for each position of the other dims: to[r * row_to + c] = from[c * column_from + r].
struct TurnParams {
  const char* from;
  char* to;
  int64_t tiles;  // of all matrices
  int64_t rows, columns, row_to, column_from;
  FastDivisor row_tiles, column_tiles;
  FastDivisor dims[kMoveRank];
  int64_t from_strides[kMoveRank], to_strides[kMoveRank];
  int rank;
};

constexpr int kConcatPieces = 16;  // inputs of one launch

/// Rows of each piece into its columns of the rows of `to`.
struct ConcatParams {
  struct Piece {
    const char* from;
    int64_t columns, from_stride, to_column;
    FastDivisor by_columns;
  };
  char* to;
  int64_t rows, to_stride;
  int unit;  // bytes
  Piece pieces[kConcatPieces];
};

struct PadParams {
  const char* from;
  const char* value;  // of the device, or null: `fill`
  char* to;
  int64_t count;
  FastDivisor dims[kMaxRank];  // of the output
  int64_t before[kMaxRank], extents[kMaxRank], from_strides[kMaxRank], to_strides[kMaxRank];
  uint64_t fill;
  PadMode mode;
  int rank;
  int value_bytes;  // of the element that a unit is filled with
  int unit;         // bytes
};

}  // namespace ingot::cuda
