// SPDX-License-Identifier: Apache-2.0
// tools/compile/quantize/dynamic.h - linear layers with weights of bytes whose inputs are quantized
// in each run, row by row: no data is needed.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "tools/compile/quantize/layers.h"

namespace ingot::quantize {

struct DynamicLayers {
  std::vector<std::string> names;  // of all of them
  size_t kept = 0;                 // as `keep` said, in floating point
};

/// MatMul and Gemm with constant weights [K, O] of the graph and of its branches and bodies, by the
/// names of node, weights and output, become DynamicQuantize and QuantizedLinear; i8 weights have a
/// scale of each output. Patterns of `keep` that matched are put into `matched`. `only`: the
/// weights of those that are meant, or null: all are.
/// @throws ConversionError(kUnsupported) for weights that are not finite.
DynamicLayers quantize_in_each_run(Model& model, const Keep& keep, std::set<std::string>* matched,
                                   const std::set<ValueId>* only = nullptr);

/// Linear layers, as Layer::node, whose inputs are made in floating point where each of them
/// quantizes its own: they lose the least so. @pre prepare()
std::set<size_t> find_row_layers(const Model& model, Keep keep);

}  // namespace ingot::quantize
