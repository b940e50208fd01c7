// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/quantize/block_weights.h - a Linear's weights as i8 with a scale, and a
// zero point where there is one, for each block of a row.
#pragma once
#include <optional>
#include <vector>

#include "tools/compile/passes/common/editor.h"

namespace ingot::passes {

/// Row-major. w = (q - zero) * scale, rounded to f32.
struct BlockWeights {
  int64_t outputs = 0, k = 0;
  int64_t bits = 8;             // 4: every number is -8 .. 7
  int64_t block = 0;            // weights with one scale; 0: a row
  std::vector<int8_t> numbers;  // [outputs, k]
  std::vector<float> scales;    // [outputs, blocks()]
  std::vector<int8_t> zeros;    // the same, or empty
  int64_t blocks() const { return block ? (k + block - 1) / block : 1; }
};

/// Scales from the range of each block, those of 4 bits fitted to the least sum of squares.
/// Symmetric: no zero points. @pre `weights` are f32 [O,K], finite; bits are 8 or 4.
BlockWeights quantize_block_weights(const Constant& weights, int64_t bits, int64_t block);

/// Operands and attributes of a Linear; `inputs` are x, or x, anything, bias, residual.
void set_block_weights(Editor& editor, const BlockWeights& weights, const std::string& name,
                       std::vector<ValueId>* inputs, Attributes* attributes);

/// f32 [O,K].
Constant expanded(const BlockWeights& weights);
/// Those of a Linear that has scales.
BlockWeights block_weights_of(const Model& model, const Node& linear);

}  // namespace ingot::passes
