// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/elementwise/elementwise_params.h - what the kernels of element-wise chains take.
#pragma once
#include "kernels/cuda/device/fast_divide.h"
#include "runtime/op/elementwise.h"

namespace ingot::cuda {

struct GridOperand {
  char* data;
  int64_t strides[kMaxRank];  // elements, along the merged dims; 0: broadcast
  DType dtype;
  bool is_linear;  // element i of the output is element i of the operand
};

/// The output's dims with neighbours merged where every operand allows. The output is the last
/// operand.
struct ElementwiseParams {
  int64_t count;  // elements of the output
  int64_t dims[kMaxRank];
  FastDivisor by_dims[kMaxRank];
  GridOperand operands[kMaxElementwiseInputs + 1];
  ElementwiseStep steps[kMaxElementwiseSteps];
  int rank;
  int inputs;
  int step_count;
};

constexpr int kVectorizedRank = 3;

/// Elements in groups of four neighbours: one float each, from a row or repeated.
struct VectorizedOperand {
  char* data;
  int64_t strides[kVectorizedRank - 1];  // elements, of the outer dims
  DType dtype;                           // f32, f16, bf16
  bool is_row;                           // four neighbours, else one for all four
};

/// Chains in f32 whose steps read operands, constants and the result before: everything stays in
/// registers.
struct VectorizedParams {
  int64_t groups;
  FastDivisor last, middle;  // groups of a row; rows of the middle dimension
  VectorizedOperand operands[kMaxElementwiseInputs + 1];
  ElementwiseStep steps[kMaxElementwiseSteps];
  int inputs;
  int step_count;
};

}  // namespace ingot::cuda
