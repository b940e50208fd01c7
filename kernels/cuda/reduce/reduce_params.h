// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/reduce/reduce_params.h - what the kernels of reductions take. Strides in elements.
#pragma once
#include "kernels/cuda/device/fast_divide.h"
#include "runtime/op/normalize.h"
#include "runtime/op/reduce.h"
#include "runtime/op/softmax.h"
#include "runtime/op/sort.h"

namespace ingot::cuda {

/// Dims that an index is taken apart into.
struct Walk {
  FastDivisor dims[kMaxRank];
  int64_t strides[kMaxRank];
  int rank;
};

struct ReduceParams {
  const char* x;
  char* y;
  int64_t outputs;      // of all: kept positions times columns
  FastDivisor columns;  // neighbouring outputs; 1 where the last dimension is reduced
  int64_t positions;    // reduced ones outside the last dimension
  int64_t inner;        // of those, the innermost run
  int64_t inner_stride;
  int64_t length;    // of the last dimension, where that is reduced
  Walk kept, outer;  // outer: the reduced positions, one in `inner` of them
  ReduceKind kind;
  DType dtype, y_dtype;  // y_dtype: another one only where x is f16, of columns
  bool in_rows;          // the last dimension is reduced
};

struct ArgReduceParams {
  const char* x;
  char* y;
  int64_t outputs, n, stride;  // elements along the axis and between them
  Walk kept;
  DType dtype;
  bool is_wide, largest, select_last;  // is_wide: y is i64
  bool by_warp;                        // else a thread an output
};

/// Lines of n elements, `x_axis` and `y_axis` apart. Line l starts at the walk's offsets; for rows,
/// at l times the axis' row.
struct SoftmaxParams {
  const char* x;
  char* y;
  int64_t lines, n;
  int64_t x_axis, y_axis;
  int64_t x_line, y_line;       // rows: from one line to the next
  FastDivisor columns, middle;  // columns: line = (outer * middle + row) * columns + column
  int64_t x_outer, y_outer, x_middle, y_middle;
  DType x_dtype, y_dtype;
  bool log;
};

struct NormRowsParams {
  const char *x, *scale, *bias;  // scale and bias may be null
  char* y;
  int64_t rows, n, x_stride, y_stride;
  float epsilon;
  DType x_dtype, y_dtype, dtype;  // dtype: of scale and bias
  bool has_mean;
};

/// Instance and group norm of x [images, positions, channels], in the order of its four launches.
struct NormChannelsParams {
  const float *x, *scale, *bias;
  float* y;
  int64_t images, positions, x_stride, y_stride;
  FastDivisor channels, by_positions;
  FastDivisor group;        // channels of a group
  float *sums, *squares;    // [images][channels]
  float *means, *inverses;  // [images][channels]
  float epsilon;
};

struct TopKParams {
  const char* x;
  char* values;
  int64_t* indices;
  int64_t lines, n, k;
  FastDivisor inner;  // lines side by side
  // of each block: pairs of k rounded up to a power of two, where shared memory does not hold them
  uint64_t* room;
  int64_t padded;  // k rounded up to a power of two
  DType dtype;
  bool largest;
  bool in_shared;
};

struct CumSumParams {
  const char* x;
  char* y;
  int64_t lines, n;
  FastDivisor inner;  // lines side by side; 1: a line is a row
  DType dtype;
  bool exclusive, reverse;
};

}  // namespace ingot::cuda
