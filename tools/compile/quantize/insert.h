// SPDX-License-Identifier: Apache-2.0
// tools/compile/quantize/insert.h - QuantizeLinear and DequantizeLinear around what is computed
// with bytes, as quantized ONNX files have them: passes see no difference between a network that
// came quantized and one that was quantized here.
#pragma once
#include <map>
#include <vector>

#include "tools/compile/quantize/histogram.h"
#include "tools/compile/quantize/layers.h"

namespace ingot::quantize {

/// What was found out about the tensors of a network.
struct Found {
  std::map<ValueId, Range> ranges;               // of every tensor of Sites
  std::map<ValueId, std::vector<double>> means;  // of the channels of layers' inputs
  // of the channels of layers' outputs: how far the network of bytes is from the one in f32 there,
  // on average; taken off the biases
  std::map<ValueId, std::vector<double>> shifts;
};

struct InsertOptions {
  bool correct_bias = true;  // by the mean error that rounding the weights makes
  bool fit_weights = true;   // scales of weights by the least sum of squares
};

/// Adds an output "calibrate:ID" for each tensor of `sites` that has a range of its own or is the
/// input of a layer.
void add_outputs(Model& model, const Sites& sites);
/// Outputs of layers behind which there is no further one, so that what is added to their biases
/// adds to the network's outputs. Those with an activation are left out.
std::vector<ValueId> find_last_outputs(const Model& model, const Sites& sites);
/// An output "WHAT:ID" with the numbers of each of these.
void add_named_outputs(Model& model, const std::vector<ValueId>& ids, const std::string& what);
/// Beside each layer the same with bytes, of the same operands, and outputs "noise:N" and
/// "signal:N": the sum of the squares of what layer N of `sites` loses, and of what it gives.
void add_layer_losses(Model& model, const Sites& sites, const Found& found,
                      const InsertOptions& options);
/// N of "WHAT:N", or -1 for a name of another kind.
int64_t number_of_output(const std::string& name, const std::string& what);

/// Puts the nodes in. @pre prepare(); `sites` are those of this model. @throws
/// ConversionError(kUnsupported) for weights that are not finite.
void insert_quantization(Model& model, const Sites& sites, const Found& found,
                         const InsertOptions& options);

/// @throws ConversionError(kUnsupported) for numbers that no byte stands for; `what` of the layer
/// has them.
void require_finite(const Constant& constant, const std::string& op, const std::string& name,
                    const char* what);

/// Weights as i8 with one scale for each index of `axis`: round(w / scale) in -127 .. 127.
struct ByteWeights {
  std::vector<int8_t> bytes;  // in the order of the weights
  std::vector<float> scales;
};
/// `smallest` is the least scale that a channel may have (so that its bias fits i32); may be empty.
ByteWeights quantize_weights(const Constant& weights, int64_t axis, bool fit,
                             const std::vector<double>& smallest);

/// What the weights' rounding adds to each output on average, with inputs of these means.
std::vector<double> mean_error(const Layer& layer, const Constant& weights,
                               const ByteWeights& rounded, const std::vector<double>& means);

}  // namespace ingot::quantize
