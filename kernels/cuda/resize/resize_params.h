// kernels/cuda/resize/resize_params.h - Resize. Strides in units of the kernel.
#pragma once
#include "kernels/cuda/device/fast_divide.h"
#include "runtime/op/resize.h"

namespace ingot::cuda {

/// Where each output position of each dimension that changes reads: positions (nearest) or taps,
/// one table behind the other.
struct ResizeTableParams {
  void* tables;
  int64_t entries;              // of all
  int64_t first[kMaxRank + 1];  // entry of each dimension
  int64_t extents[kMaxRank];    // of the input
  float in_extents[kMaxRank], out_extents[kMaxRank], scales[kMaxRank];
  ResizeAttributes t;
  int rank;
};

struct ResizeParams {
  const char* x;
  char* y;
  const void* tables;
  int64_t count;  // units of y
  FastDivisor dims[kMaxRank];
  int64_t x_strides[kMaxRank], y_strides[kMaxRank];
  int64_t first[kMaxRank];  // entry in the tables; -1: the dimension is copied
  int rank;
  int unit;     // nearest: bytes
  int changed;  // linear, cubic: dimensions in the tables
};

}  // namespace ingot::cuda
