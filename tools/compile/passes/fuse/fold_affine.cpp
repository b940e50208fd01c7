// SPDX-License-Identifier: Apache-2.0
// Multiplications, additions and BatchNormalization by constants of one number a channel go into
// the weights and the bias of the convolution or Linear before them, or behind them where no
// padding lies between.
#include <cmath>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/elementwise.h"
#include "tools/compile/passes/common/pass.h"
#include "tools/compile/passes/fuse/affine.h"
#include "tools/graph/window.h"

namespace ingot::passes {
namespace {

bool finite(const Affine& a) {
  for (double x : a.factor)
    if (!std::isfinite(x)) return false;
  for (double x : a.shift)
    if (!std::isfinite(x)) return false;
  return true;
}

std::optional<std::vector<double>> channels(const Editor& e, const Node& node, int reg,
                                            double alpha) {
  const Dims& dims = e.dims(node.outputs[0]);
  if (dims.empty() || !dims.back().value()) return std::nullopt;
  if (reg == kConstantRegister) return std::vector<double>(size_t(*dims.back().value()), alpha);
  return per_channel(e.model, node.inputs[size_t(reg)], dims);
}

}  // namespace

std::optional<Affine> affine(const Editor& e, const Node& node, ValueId x) {
  std::optional<Step> s = only_step(node);
  if (!s || node.text(attr::compute, "f32") != "f32" ||
      e.value(node.outputs[0]).dtype != DType::kF32)
    return std::nullopt;
  const Dims& dims = e.dims(node.outputs[0]);
  if (dims.empty() || !same(e.dims(x), dims) || !dims.back().value()) return std::nullopt;
  size_t n = size_t(*dims.back().value());
  Affine result{std::vector<double>(n, 1), std::vector<double>(n, 0)};
  auto is_x = [&](int reg) { return reg != kConstantRegister && node.inputs[size_t(reg)] == x; };
  if (s->op == Op::kNeg) {
    result.factor.assign(n, -1);
    return result;
  }
  if (s->op == Op::kScaleShift)
    return Affine{std::vector<double>(n, s->alpha), std::vector<double>(n, s->beta)};
  if (s->op == Op::kFma) {
    auto factor = channels(e, node, s->b, s->alpha), shift = channels(e, node, s->c, s->alpha);
    if (!is_x(s->a) || !factor || !shift) return std::nullopt;
    return Affine{*factor, *shift};
  }
  if (elementwise_arity(s->op) != 2 || is_x(s->a) == is_x(s->b)) return std::nullopt;
  bool left = is_x(s->a);
  auto other = channels(e, node, left ? s->b : s->a, s->alpha);
  if (!other) return std::nullopt;
  if (s->op == Op::kAdd)
    result.shift = *other;
  else if (s->op == Op::kMul)
    result.factor = *other;
  else if (s->op == Op::kDiv && left)
    for (size_t i = 0; i < n; i++) result.factor[i] = 1 / (*other)[i];
  else if (s->op == Op::kSub)
    for (size_t i = 0; i < n; i++) {
      result.factor[i] = left ? 1 : -1;
      result.shift[i] = left ? -(*other)[i] : (*other)[i];
    }
  else
    return std::nullopt;
  return result;
}

namespace {

bool is_quantized(const Node& node) { return node.op == op::Linear && node.inputs.size() > 4; }

bool is_plain(const Node& node) {
  return has_weights(node) && !node.has(attr::activation) &&
         (node.inputs.size() <= 3 || (is_quantized(node) && node.inputs[3] < 0));
}

std::vector<double> bias_of(const Editor& e, const Node& node, size_t outputs) {
  if (node.inputs.size() > 2 && node.inputs[2] >= 0) return numbers(*e.constant(node.inputs[2]));
  return std::vector<double>(outputs, 0);
}

void set_weights(Editor& e, Node& node, const std::vector<double>& weights,
                 const std::vector<double>& bias) {
  std::string name = e.value(node.inputs[1]).name;
  std::vector<int64_t> dims = e.constant(node.inputs[1])->dims;
  std::vector<ValueId> inputs = {node.inputs[0], e.new_constant(name, make_f32(dims, weights))};
  bool biased = node.inputs.size() > 2 && node.inputs[2] >= 0;
  for (double b : bias) biased |= b != 0;
  if (biased)
    inputs.push_back(e.new_constant(name + "/bias", make_f32({int64_t(bias.size())}, bias)));
  e.set_inputs(node, std::move(inputs));
}

// Quantized weights stay as they are: the bias alone changes.
bool shift_behind(Editor& e, Node& node, Node& maker, const Affine& a) {
  for (const double factor : a.factor)
    if (factor != 1) return false;
  std::vector<double> b = bias_of(e, maker, a.shift.size());
  for (size_t o = 0; o < b.size(); o++) b[o] += a.shift[o];
  const ValueId out = node.outputs[0];
  e.kill(node);
  e.set_input(
      maker, 2,
      e.new_constant(e.value(maker.inputs[1]).name + "/bias", make_f32({int64_t(b.size())}, b)));
  e.set_outputs(maker, {out});
  e.merge_sources(maker, node);
  return true;
}

// Behind: the producer's output channels.
bool fold_behind(Editor& e, Node& node) {
  for (ValueId x : node.inputs) {
    Node* maker = e.producer(x);
    if (!maker || !is_plain(*maker) || !e.read_once(x)) continue;
    std::optional<Affine> a = affine(e, node, x);
    if (!a || !finite(*a)) continue;
    if (is_quantized(*maker)) {
      if (!shift_behind(e, node, *maker, *a)) continue;
      return true;
    }
    std::vector<double> w = numbers(*e.constant(maker->inputs[1])),
                        b = bias_of(e, *maker, a->factor.size());
    size_t outputs = a->factor.size(), each = w.size() / outputs;
    for (size_t o = 0; o < outputs; o++) {
      for (size_t k = 0; k < each; k++) w[o * each + k] *= a->factor[o];
      b[o] = b[o] * a->factor[o] + a->shift[o];
    }
    ValueId out = node.outputs[0];
    e.kill(node);
    set_weights(e, *maker, w, b);
    e.set_outputs(*maker, {out});
    e.merge_sources(*maker, node);
    return true;
  }
  return false;
}

// In front: the reader's input channels. A shift would be missing where the image is padded with
// zeros.
bool fold_in_front(Editor& e, Node& node) {
  ValueId y = node.outputs[0];
  if (!e.read_once(y)) return false;
  Node* reader = e.readers(y)[0];
  if ((reader->op != op::Conv2d && reader->op != op::Linear) || reader->inputs[0] != y ||
      is_quantized(*reader))
    return false;
  for (ValueId x : node.inputs) {
    if (e.constant(x)) continue;
    std::optional<Affine> a = affine(e, node, x);
    if (!a || !finite(*a)) continue;
    bool shifted = false;
    for (double t : a->shift) shifted |= t != 0;
    if (shifted && reader->op == op::Conv2d && graph::window_of(*reader).has_pads()) continue;
    const Constant& weights = *e.constant(reader->inputs[1]);
    std::vector<double> w = numbers(weights);
    size_t outputs = size_t(weights.dims[0]), each = w.size() / outputs,
           per_group = size_t(weights.dims.back());
    size_t groups = size_t(reader->integer(attr::group, 1));
    std::vector<double> b = bias_of(e, *reader, outputs);
    for (size_t o = 0; o < outputs; o++)
      for (size_t k = 0; k < each; k++) {
        size_t c = o / (outputs / groups) * per_group + k % per_group;
        b[o] += w[o * each + k] * a->shift[c];
        w[o * each + k] *= a->factor[c];
      }
    std::vector<ValueId> rest(
        reader->inputs.size() > 3 ? reader->inputs.begin() + 3 : reader->inputs.end(),
        reader->inputs.end());
    if (!rest.empty()) continue;
    e.kill(node);
    set_weights(e, *reader, w, b);
    e.set_input(*reader, 0, x);
    e.merge_sources(*reader, node);
    return true;
  }
  return false;
}

}  // namespace

uint32_t fold_affine(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (bool again = true; again;) {
    again = false;
    for (Node* node : e.nodes())
      if (!node->dead && node->op == op::Elementwise &&
          (fold_behind(e, *node) || fold_in_front(e, *node))) {
        e.drop_unread_constants();
        again = true, changed++;
      }
  }
  return changed;
}

}  // namespace ingot::passes
