// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/hybrid.h - integer weights with floating inputs ("dynamic range"): TFLite
// quantizes the inputs in each run, by the numbers that a row or an image of them holds.
#pragma once
#include <limits>

#include "tools/import/tflite/call.h"

namespace ingot::tflite {

/// The operator reads floats, and this input of it is a constant of int8 or int4 with one scale, or
/// one of each element of dimension `channel_axis`.
bool has_hybrid_weights(const Call& call, size_t weights, int64_t channel_axis);

constexpr size_t kNoBias = std::numeric_limits<size_t>::max();
/// Rows of f32 [n, K] times weights [O, K] of whole numbers, plus the bias where there is one. Each
/// row has a scale of its own, and with `asymmetric` a zero point.
/// @pre has_hybrid_weights(call, weights, 0)
ValueId hybrid_linear(Call& call, ValueId rows, size_t weights, size_t bias, bool asymmetric);

/// CONV_2D and DEPTHWISE_CONV_2D with a scale and a zero point of each image; of one scale for all
/// weights, without zero points. False where TFLite has no such kernel.
bool convolve_hybrid(Call& call);
bool convolve_depthwise_hybrid(Call& call);

}  // namespace ingot::tflite
