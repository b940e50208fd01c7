// SPDX-License-Identifier: Apache-2.0
// Layers as they are quantized: one node with its scales in the weights.
#include <cmath>
#include <optional>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/pass.h"
#include "tools/compile/quantize/layers.h"

namespace ingot::quantize {
namespace {

using passes::Editor;

/// y = x * factor + shift, one pair for each channel, dimension 1.
struct Affine {
  std::vector<double> factor, shift;
};

/// One number for each of `channels`, where the constant has that, or one for all.
std::optional<std::vector<double>> along_channels(const Editor& e, ValueId id, int64_t channels,
                                                  size_t rank) {
  const Constant* constant = e.constant(id);
  if (!constant || constant->dtype != DType::kF32) return std::nullopt;
  const std::vector<double> all = passes::numbers(*constant);
  if (all.size() == 1) return std::vector<double>(size_t(channels), all[0]);
  if (int64_t(all.size()) != channels) return std::nullopt;
  const size_t behind = rank - 2;  // dimensions after the channels
  const std::vector<int64_t>& dims = constant->dims;
  if (dims.size() < behind + 1 || dims.size() > rank || dims[dims.size() - 1 - behind] != channels)
    return std::nullopt;
  return all;
}

std::optional<Affine> batch_norm(const Editor& e, const Node& node, int64_t channels) {
  std::vector<double> parts[4];
  for (size_t i = 0; i < 4; i++) {
    const Constant* constant =
        node.inputs.size() > i + 1 ? e.constant(node.inputs[i + 1]) : nullptr;
    if (!constant || constant->elements() != channels) return std::nullopt;
    parts[i] = passes::numbers(*constant);
  }
  Affine made;
  for (size_t c = 0; c < size_t(channels); c++) {
    const double factor = parts[0][c] / std::sqrt(parts[3][c] + node.number(attr::epsilon, 1e-5));
    made.factor.push_back(factor);
    made.shift.push_back(parts[1][c] - parts[2][c] * factor);
  }
  return made;
}

std::optional<Affine> affine_of(const Editor& e, const Node& node, ValueId x) {
  const graph::Dims& dims = e.dims(x);
  if (dims.size() < 2 || !dims[1].value() || !passes::same(dims, e.dims(node.outputs[0])))
    return std::nullopt;
  const int64_t channels = *dims[1].value();
  if (node.op == op::BatchNormalization) return batch_norm(e, node, channels);
  if ((node.op != op::Mul && node.op != op::Add) || node.inputs.size() != 2 ||
      node.inputs[0] == node.inputs[1])
    return std::nullopt;
  const ValueId other = node.inputs[0] == x ? node.inputs[1] : node.inputs[0];
  const auto found = along_channels(e, other, channels, dims.size());
  if (!found) return std::nullopt;
  Affine made{std::vector<double>(size_t(channels), 1), std::vector<double>(size_t(channels), 0)};
  (node.op == op::Mul ? made.factor : made.shift) = *found;
  return made;
}

/// Into the convolution that makes its only operand.
bool fold_behind(Editor& e, Node& node) {
  for (const ValueId x : node.inputs) {
    Node* maker = e.producer_if(x, op::Conv);
    if (!maker || !e.read_once(x)) continue;
    const bool biased = maker->inputs.size() > 2 && maker->inputs[2] >= 0;
    const Constant* weights = e.constant(maker->inputs[1]);
    const Constant* bias = biased ? e.constant(maker->inputs[2]) : nullptr;
    if (!weights || weights->dtype != DType::kF32 || (biased && !bias)) continue;
    const std::optional<Affine> affine = affine_of(e, node, x);
    const size_t outputs = size_t(weights->dims[0]);
    if (!affine || affine->factor.size() != outputs) continue;
    std::vector<double> w = passes::numbers(*weights),
                        b = bias ? passes::numbers(*bias) : std::vector<double>(outputs, 0);
    bool finite = true;
    for (size_t o = 0; o < outputs; o++) {
      finite = finite && std::isfinite(affine->factor[o]) && std::isfinite(affine->shift[o]);
      for (size_t k = 0; k < w.size() / outputs; k++)
        w[o * (w.size() / outputs) + k] *= affine->factor[o];
      b[o] = b[o] * affine->factor[o] + affine->shift[o];
    }
    if (!finite) continue;
    const std::string name = e.value(maker->inputs[1]).name;
    const std::vector<ValueId> inputs = {
        maker->inputs[0], e.new_constant(name, passes::make_f32(weights->dims, w)),
        e.new_constant(name + "/bias", passes::make_f32({int64_t(outputs)}, b))};
    const ValueId out = node.outputs[0];
    e.kill(node);
    e.set_inputs(*maker, inputs);
    e.set_outputs(*maker, {out});
    e.merge_sources(*maker, node);
    return true;
  }
  return false;
}

uint32_t fold_scales(Editor& e, passes::Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes())
    if (!node->dead && fold_behind(e, *node)) changed++;
  return changed;
}

}  // namespace

void prepare(Model& model) {
  passes::inline_constant_conditions(model, model.graph);
  for (const auto pass :
       {passes::materialize_weights, passes::merge_equal, passes::recognize_activations,
        passes::recognize_norms, passes::recognize_softmax, fold_scales}) {
    passes::Remarks remarks;
    Editor editor(model, model.graph);
    pass(editor, remarks);
    editor.commit();
  }
}

}  // namespace ingot::quantize
