// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/quantize/quantize_weights.h - weights of Linear nodes as numbers of few
// bits, when a user asks for it; activations stay f32.
#pragma once
#include <functional>
#include <string>

#include "tools/graph/graph.h"

namespace ingot::passes {

/// Which weights of Linear nodes become numbers of few bits, and how.
struct WeightQuantization {
  int64_t bits = 8, block = 0;  // block: weights of a row with one scale; 0: all of them
  /// True for a name of a node or of weights that stay f32. May be empty.
  std::function<bool(const std::string& name)> keeps;
};
struct WeightQuantizationReport {
  uint32_t linears = 0, kept = 0, others = 0;  // others: convolutions and the like, which stay f32
  uint64_t bytes_before = 0, bytes_after = 0;
  double signal_to_noise = 0;  // of all quantized weights together, dB
  std::string worst;           // the layer that loses most
  double worst_signal_to_noise = 0;
};
/// @pre core form
WeightQuantizationReport quantize_weights(graph::Model& model, const WeightQuantization& how);

}  // namespace ingot::passes
