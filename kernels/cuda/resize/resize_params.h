// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/resize/resize_params.h - Resize, GridSample and RoiAlign. Strides in units of the
// kernel.
#pragma once
#include "kernels/cuda/device/fast_divide.h"
#include "runtime/op/grid_sample.h"
#include "runtime/op/resize.h"
#include "runtime/op/roi_align.h"

namespace ingot::cuda {

/// Where each output position of each dimension that changes reads: positions (nearest) or taps,
/// one table behind the other.
struct ResizeTableParams {
  void* tables;
  int64_t entries;              // of all
  int64_t first[kMaxRank + 1];  // entry of each dimension
  int64_t extents[kMaxRank];    // of the input
  float in_extents[kMaxRank], out_extents[kMaxRank], scales[kMaxRank];
  int64_t fixed_scales[kMaxRank];
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

/// Dimensions that x does not have come first, with one element.
struct GridSampleParams {
  const char* x;
  const float* grid;
  char* y;
  int64_t count;                       // of y: units
  FastDivisor channels, places;        // units of a place; places of an image
  int64_t x_pixel, grid_row, y_pixel;  // from one place to the next, units and floats
  int64_t extents[kMaxGridDims];
  GridSampleAttributes t;
  int spatial;
  int unit;  // nearest: bytes
};

struct RoiAlignParams {
  const char* x;
  const float* boxes;
  const int64_t* images;
  char* y;
  uint32_t* fault;  // where a bad image is reported
  uint32_t fault_value;
  int64_t count;                         // of y: units
  FastDivisor channels, columns, lines;  // units of a bin; bins of a box
  int64_t x_pixel, box_row, y_pixel;     // from one to the next, units and floats
  int64_t extents[3];                    // of x: images, lines, columns
  RoiAlignAttributes t;
};

}  // namespace ingot::cuda
