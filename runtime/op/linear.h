// runtime/op/linear.h - product with constant weights: x [..., K], w panels16 [O,K], [bias vector16
// [O]], [residual of y] -> y [..., O].
// Order     one chain of fma per output from the bias over k ascending. Epilogue as conv2d.
#pragma once
#include "runtime/op/activation.h"
#include "runtime/op/contract.h"

namespace ingot {

struct LinearAttributes {
  ActivationSpec activation;
  bool residual_first = false;
};
extern const OpContract kLinearContract;

}  // namespace ingot
