// SPDX-License-Identifier: Apache-2.0
// tools/compile/quantize/equalize.h - channels of very different size between two convolutions: a
// byte that covers the largest has few steps for the smallest. Each channel is divided by a number
// that the next weights are multiplied with: the network computes the same (Nagel et al. 2019).
#pragma once
#include <map>
#include <vector>

#include "tools/compile/quantize/layers.h"

namespace ingot::quantize {

/// Two layers, by Layer::node, and what the channels between them are divided by. Where one side is
/// an operator in floating point (kNone), a node of its own divides or multiplies.
struct Equalized {
  static constexpr size_t kNone = ~size_t{0};
  size_t first = kNone, second = kNone;
  std::vector<double> factors;
  // of `first`: dimension of the output channels in its weights; nodes behind it that belong to it
  int64_t axis = 0;
  std::vector<size_t> tail;
};

/// Pairs whose channels are unbalanced. `largest`: of each channel of layers' inputs and outputs,
/// over the samples. @pre prepare(); `sites` are those of `model`.
std::vector<Equalized> find_unbalanced(const Model& model, const Sites& sites,
                                       const std::map<ValueId, std::vector<double>>& largest);

/// Writes the weights anew, and puts the divisions in: places of nodes are others afterwards.
void equalize(Model& model, const std::vector<Equalized>& pairs);

}  // namespace ingot::quantize
