// SPDX-License-Identifier: Apache-2.0
// Takes away what does nothing: dead nodes, reshapes of reshapes, transposes of transposes, whole
// slices, empty pads, conversions to the same type; rearranges constants now rather than later.
#include <algorithm>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/elementwise.h"
#include "tools/compile/passes/common/pass.h"
#include "tools/compile/passes/common/transposes.h"

namespace ingot::passes {
namespace {

bool kill_if_dead(Editor& e, Node& node) {
  for (ValueId id : node.outputs)
    if (id >= 0 && (e.reader_count(id) || e.is_output(id))) return false;
  e.kill(node);
  return true;
}

// Gives a constant's value to the readers of the node's output. An output of the model stays a
// node.
bool become_constant(Editor& e, Node& node, Constant constant) {
  ValueId y = node.outputs[0];
  if (e.is_output(y)) return false;
  ValueId c = e.new_constant(e.value(y).name, std::move(constant));
  e.value(c).layout = e.value(y).layout;
  return e.bypass(node, c);
}

bool simplify_reshape(Editor& e, Node& node) {
  ValueId x = node.inputs[0], y = node.outputs[0];
  if (same(e.dims(x), e.dims(y)) && e.value(x).dtype == e.value(y).dtype) return e.bypass(node, x);
  if (const Constant* c = e.constant(x))
    if (auto dims = static_dims(e.dims(y))) return become_constant(e, node, with_dims(*c, *dims));
  if (Node* before = e.producer_if(x, op::Reshape)) {
    e.merge_sources(node, *before);
    e.set_input(node, 0, before->inputs[0]);
    return true;
  }
  return false;
}

bool simplify_transpose(Editor& e, Node& node) {
  ValueId x = node.inputs[0];
  Integers perm = node.integers(attr::perm);
  if (is_identity(perm)) return e.bypass(node, x);
  if (const Constant* c = e.constant(x);
      c && c->bytes && become_constant(e, node, permuted(*c, perm)))
    return true;
  if (Node* before = e.producer_if(x, op::Transpose)) {
    e.merge_sources(node, *before);
    node.attributes[attr::perm] = compose(before->integers(attr::perm), perm);
    e.set_input(node, 0, before->inputs[0]);
    return true;
  }
  return false;
}

// [1, C, 1, L] seen as [C, L] and back: a Transpose between Reshapes that only add or drop
// dimensions of 1 is one on fewer.
bool simplify_reshaped_transpose(Editor& e, Node& node) {
  Node* shaped = e.producer_if(node.inputs[0], op::Reshape);
  if (!shaped) return false;
  Node* before = e.producer_if(shaped->inputs[0], op::Transpose);
  if (!before || !e.read_once(node.inputs[0])) return false;
  ValueId x = before->inputs[0], out = node.outputs[0];
  auto swapped = reshape_first(e.dims(x), before->integers(attr::perm), e.dims(shaped->outputs[0]));
  if (!swapped) return false;
  e.kill(node);
  e.kill(*shaped);
  e.merge_sources(node, *shaped);
  e.merge_sources(node, *before);
  ValueId inner = e.reshape(x, swapped->dims, node);
  e.add(op::Transpose, {inner}, {out}, node,
        {{attr::perm, compose(swapped->perm, node.integers(attr::perm))}});
  return true;
}

bool simplify_concat(Editor& e, Node& node) {
  constexpr size_t kMaxParts = 1024;  // of one Concat; runtime/op/concat.h
  size_t axis = size_t(node.integer(attr::axis, 0)), parts = node.inputs.size();
  std::vector<ValueId> inputs;
  bool changed = false;
  for (ValueId id : node.inputs) {
    Node* inner = e.producer_if(id, op::Concat);
    std::optional<int64_t> extent = e.dims(id)[axis].value();
    if (extent && *extent == 0) {
      changed = true;
    } else if (inner && e.read_once(id) && size_t(inner->integer(attr::axis, 0)) == axis &&
               parts + inner->inputs.size() <= kMaxParts + 1) {
      parts += inner->inputs.size() - 1;
      inputs.insert(inputs.end(), inner->inputs.begin(), inner->inputs.end());
      e.merge_sources(node, *inner);
      changed = true;
    } else {
      inputs.push_back(id);
    }
  }
  if (inputs.size() == 1) {
    e.set_inputs(node, inputs);
    node.op = op::Reshape;
    node.attributes.clear();
    return true;
  }
  if (changed && !inputs.empty()) e.set_inputs(node, inputs);
  return changed && !inputs.empty();
}

bool all_zero(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(),
                     [](const Dim& d) { return d.value() && *d.value() == 0; });
}

// Steps that give back what they get.
bool is_nothing(const Editor& e, const Node& node) {
  if (e.value(node.inputs[0]).dtype != e.value(node.outputs[0]).dtype) return false;
  std::vector<Step> steps = steps_of(node);
  if (steps.empty()) return true;
  if (steps.size() != 1 || steps[0].a != 0) return false;
  const Step& s = steps[0];
  if (s.op == Op::kIdentity) return true;
  if (s.op == Op::kScaleShift) return s.alpha == 1 && s.beta == 0;
  if (s.b != 1 || node.inputs.size() != 2) return false;
  std::optional<double> number = scalar(e.model, node.inputs[1]);
  if (!number) return false;
  if (s.op == Op::kMul || s.op == Op::kDiv || s.op == Op::kPow) return *number == 1;
  return (s.op == Op::kAdd || s.op == Op::kSub) && *number == 0;
}

bool simplify_same_dims(Editor& e, Node& node) {
  if (!same(e.dims(node.inputs[0]), e.dims(node.outputs[0]))) return false;
  Integers steps = node.integers(attr::steps);
  bool forward = std::all_of(steps.begin(), steps.end(), [](int64_t s) { return s == 1; });
  std::vector<double> scales = node.numbers(attr::scales);
  bool unscaled =
      std::all_of(scales.begin(), scales.end(), [](double s) { return s == 0 || s == 1; });
  bool nothing = node.op == op::Tile ||
                 (node.op == op::Slice && forward && all_zero(node.dims(attr::starts))) ||
                 (node.op == op::Pad && all_zero(node.dims(attr::before))) ||
                 (node.op == op::Resize && unscaled) ||
                 (node.op == op::Elementwise && is_nothing(e, node));
  return nothing && e.bypass(node, node.inputs[0]);
}

// Squares and roots instead of powers, reciprocals instead of divisions of one.
bool simplify_power(Editor& e, Node& node) {
  std::optional<Step> s = only_step(node);
  if (!s || node.inputs.size() != 2 || s->a != 0 || s->b != 1 ||
      node.text(attr::compute, "f32") != "f32")
    return false;
  if (s->op == Op::kDiv && is_scalar(e.model, node.inputs[0], 1) &&
      same(e.dims(node.inputs[1]), e.dims(node.outputs[0]))) {
    e.set_inputs(node, {node.inputs[1]});
    set_steps(node, {{Op::kReciprocal}});
    return true;
  }
  std::optional<double> power = s->op == Op::kPow ? scalar(e.model, node.inputs[1]) : std::nullopt;
  if (!power || !same(e.dims(node.inputs[0]), e.dims(node.outputs[0]))) return false;
  Op op = *power == 2      ? Op::kSquare
          : *power == 0.5  ? Op::kSqrt
          : *power == -0.5 ? Op::kRsqrt
          : *power == -1   ? Op::kReciprocal
                           : Op::kPow;
  if (op == Op::kPow) return false;
  e.set_inputs(node, {node.inputs[0]});
  set_steps(node, {{op}});
  return true;
}

bool simplify_node(Editor& e, Node& node) {
  if (kill_if_dead(e, node)) return true;
  if (node.op == op::Reshape) return simplify_reshape(e, node);
  if (node.op == op::Transpose)
    return simplify_transpose(e, node) || simplify_reshaped_transpose(e, node);
  if (node.op == op::Concat) return simplify_concat(e, node);
  if (node.op == op::Elementwise && simplify_power(e, node)) return true;
  if (node.op == op::Tile || node.op == op::Slice || node.op == op::Pad || node.op == op::Resize ||
      node.op == op::Elementwise)
    return simplify_same_dims(e, node);
  return false;
}

}  // namespace

uint32_t simplify(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (bool again = true; again;) {
    again = false;
    std::vector<Node*> all = e.nodes();
    // readers first, so that dead chains go in one sweep
    for (auto at = all.rbegin(); at != all.rend(); ++at)
      if (!(*at)->dead && simplify_node(e, **at)) {
        e.drop_unread_constants();
        again = true, changed++;
      }
  }
  return changed;
}

}  // namespace ingot::passes
