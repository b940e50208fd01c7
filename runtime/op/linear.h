// SPDX-License-Identifier: Apache-2.0
// runtime/op/linear.h - product with constant weights: x [..., K], w [O,K], [bias vector16 [O]],
// [residual of y], [scales], [zeros] -> y [..., O].
// Weights   f32 panels16 [O,K]; with scales f32 panels16 [O,blocks] i8 panels16 [O,K], or 4 bits,
//           u8 panels16x4 [O,ceil(K/2)]: two numbers of -8 .. 7 a byte, the first in the low half,
//           each in two's complement. Those of a row are in blocks of `block` (0: the whole row):
//           w = q * scale, with zeros i8 panels16 [O,blocks] (q - zero) * scale, rounded to f32
//           once, since the difference is exact.
// Order     one chain of fma per output from the bias over k ascending: the bits that the same
//           weights as f32 give. Epilogue as conv2d.
#pragma once
#include "runtime/op/activation.h"
#include "runtime/op/contract.h"
#include "runtime/op/reduced_precision.h"

namespace ingot {

struct LinearAttributes {
  ActivationSpec activation;
  bool residual_first = false;
  uint32_t block = 0;                                            // weights of a row with one scale
  ReducedPrecision reduced_precision = ReducedPrecision::kNone;  // as Conv2dAttributes
};
extern const OpContract kLinearContract;

/// Whether a CPU may round its operands to what the attributes say. @pre checked
bool linear_in_halves(const OpArguments& arguments);

namespace linear_weights {

constexpr int kScales = 4, kZeros = 5;  // operands
constexpr int64_t kExpandedPanels = 2;  // of quantized weights, for more than one row
constexpr uint32_t kMaxBlock = 1u << 30;

inline bool has_quantized_weights(const OpArguments& a) { return a.optional(kScales) != nullptr; }
/// Scales of a row of k weights. @pre k >= 0
int64_t block_count(uint32_t block, int64_t k);

}  // namespace linear_weights
}  // namespace ingot
