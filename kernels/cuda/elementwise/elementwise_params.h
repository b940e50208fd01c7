// kernels/cuda/elementwise/elementwise_params.h - what the kernels of element-wise chains take.
#pragma once
#include "runtime/op/elementwise.h"

namespace ingot::cuda {

struct GridOperand {
  char* data;
  int64_t strides[kMaxRank];  // elements, along the merged dims; 0: broadcast
  DType dtype;
  bool is_linear;             // element i of the output is element i of the operand
};

/// The output's dims with neighbours merged where every operand allows. The output is the last operand.
struct ElementwiseParams {
  int64_t count;  // elements of the output
  int64_t dims[kMaxRank];
  GridOperand operands[kMaxElementwiseInputs + 1];
  ElementwiseStep steps[kMaxElementwiseSteps];
  int rank;
  int inputs;
  int step_count;
};

}  // namespace ingot::cuda
