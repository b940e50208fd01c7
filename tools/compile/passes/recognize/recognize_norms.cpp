// SPDX-License-Identifier: Apache-2.0
// LayerNormalization, RMSNormalization and InstanceNormalization as exporters spell them out: mean,
// difference, squares, root, quotient. GroupNormalization as PyTorch's exporter spells it: groups
// as the channels of an InstanceNormalization.
#include <algorithm>

#include "tools/compile/passes/common/match.h"
#include "tools/compile/passes/common/pass.h"

namespace ingot::passes {
namespace {

struct Mean {
  ValueId x;
  Integers axes;
  Node* node;
};

std::optional<Mean> mean_of(const Editor& e, ValueId id) {
  Node* node = e.producer_if(id, op::ReduceMean);
  if (!node || !node->integer(attr::keepdims, 1)) return std::nullopt;
  return Mean{node->inputs[0], node->integers(attr::axes), node};
}

// numerator / sqrt(mean(squared^2) + epsilon), the quotient in any of its spellings.
struct Quotient {
  ValueId numerator, squared;
  double epsilon;
  Integers axes;
  std::vector<Node*> inside;
};

// root = sqrt(mean(d^2) + epsilon)
std::optional<Quotient> deviation(const Editor& e, ValueId id, bool inverse_root) {
  Node* root = e.producer(id);
  if (!root) return std::nullopt;
  bool power =
      root->op == op::Pow && is_scalar(e.model, root->inputs[1], inverse_root ? -0.5 : 0.5);
  if (!power && (inverse_root || root->op != op::Sqrt)) return std::nullopt;
  auto sum = made_with_constant(e, root->inputs[0], op::Add);
  if (!sum || sum->constant < 0) return std::nullopt;
  auto variance = mean_of(e, sum->x);
  auto squared = variance ? square_of(e, variance->x) : std::nullopt;
  if (!squared) return std::nullopt;
  return Quotient{kAbsent,
                  *squared,
                  sum->constant,
                  variance->axes,
                  {root, e.producer(root->inputs[0]), variance->node, e.producer(variance->x)}};
}

std::optional<Quotient> quotient(const Editor& e, const Node& node) {
  if (node.op == op::Div) {
    auto q = deviation(e, node.inputs[1], false);
    if (q) q->numerator = node.inputs[0];
    return q;
  }
  if (node.op != op::Mul) return std::nullopt;
  for (size_t i = 0; i < 2; i++) {
    auto q = deviation(e, node.inputs[i], true);
    Node* turned = e.producer(node.inputs[i]);
    bool one_over = turned && (turned->op == op::Reciprocal ||
                               (turned->op == op::Div && is_scalar(e.model, turned->inputs[0], 1)));
    if (!q && one_over) {
      q = deviation(e, turned->inputs[turned->op == op::Div ? 1 : 0], false);
      if (q) q->inside.insert(q->inside.begin(), turned);
    }
    if (!q) continue;
    q->numerator = node.inputs[1 - i];
    return q;
  }
  return std::nullopt;
}

// Behind `y`, read by it alone: a Mul or Add with a value whose dims, leading ones aside, all lie
// in the last `tail` dimensions.
ValueId parameter(const Editor& e, ValueId y, graph::Operator op, const Dims& dims, size_t tail,
                  Node*& node) {
  if (!e.read_once(y)) return kAbsent;
  node = e.readers(y)[0];
  if (node->op != op || !same(e.dims(node->outputs[0]), dims)) return kAbsent;
  ValueId other = node->inputs[node->inputs[0] == y ? 1 : 0];
  const Constant* c = e.constant(other);
  if (other == y || !c) return kAbsent;
  for (size_t i = 0; i + tail < c->dims.size(); i++)
    if (c->dims[i] != 1) return kAbsent;
  return other;
}

// Leading dimensions of 1 off, so that at most `tail` are left.
ValueId trimmed(Editor& e, ValueId id, size_t tail) {
  const Constant& c = *e.constant(id);
  if (c.dims.size() <= tail) return id;
  return e.new_constant(e.value(id).name, with_dims(c, {c.dims.end() - long(tail), c.dims.end()}));
}

// [1, C, 1, 1], [C, 1, 1] or one number as [C]; kAbsent for anything else.
ValueId channel_parameter(Editor& e, ValueId id, const Dims& dims) {
  if (id < 0 || !dims[1].value()) return kAbsent;
  const Constant& c = *e.constant(id);
  int64_t channels = *dims[1].value();
  size_t lead = dims.size() - c.dims.size();
  for (size_t i = 0; i < c.dims.size(); i++)
    if (lead + i != 1 && c.dims[i] != 1) return kAbsent;
  return e.new_constant(e.value(id).name, broadcast(with_dims(c, {c.elements()}), {channels}));
}

bool trailing(const Integers& axes, size_t rank) {
  for (size_t i = 0; i < axes.size(); i++)
    if (axes[i] != int64_t(rank - axes.size() + i)) return false;
  return !axes.empty();
}

// Axis a moved to the end, everything else in order.
Integers to_end(size_t rank, int64_t a) {
  Integers perm;
  for (size_t i = 0; i < rank; i++)
    if (int64_t(i) != a) perm.push_back(int64_t(i));
  perm.push_back(a);
  return perm;
}

struct Norm {
  ValueId x;
  bool centred;
  Quotient q;
  Node* root;
};

std::optional<Norm> match(const Editor& e, Node& node) {
  auto q = quotient(e, node);
  if (!q || e.value(node.outputs[0]).dtype != DType::kF32) return std::nullopt;
  if (Node* sub = e.producer_if(q->numerator, op::Sub)) {
    auto mean = mean_of(e, sub->inputs[1]);
    // exporters of PyTorch write the difference twice
    Node* other = e.producer_if(q->squared, op::Sub);
    bool same_difference =
        q->squared == q->numerator ||
        (other && other->inputs[0] == sub->inputs[0] && mean_of(e, other->inputs[1]) &&
         mean_of(e, other->inputs[1])->x == sub->inputs[0] &&
         mean_of(e, other->inputs[1])->axes == q->axes);
    if (mean && mean->x == sub->inputs[0] && mean->axes == q->axes && same_difference) {
      q->inside.insert(q->inside.end(), {sub, mean->node});
      return Norm{sub->inputs[0], true, *q, &node};
    }
  }
  if (q->squared != q->numerator) return std::nullopt;
  return Norm{q->numerator, false, *q, &node};
}

// Behind `y`, a scale and a bias of the channels; y becomes the last value, the nodes come first in
// `inside`.
struct ChannelParameters {
  ValueId scale = kAbsent, bias = kAbsent;
};
ChannelParameters channel_parameters(Editor& e, const Dims& dims, ValueId* y,
                                     std::vector<Node*>* inside) {
  ChannelParameters found;
  const auto take = [&](graph::Operator op) {
    Node* node = nullptr;
    const ValueId id =
        channel_parameter(e, parameter(e, *y, op, dims, dims.size() - 1, node), dims);
    if (id < 0) return id;
    *y = node->outputs[0];
    inside->insert(inside->begin(), node);
    return id;
  };
  found.scale = take(op::Mul);
  found.bias = take(op::Add);
  return found;
}

// mean and variance over height and width with one scale a channel: InstanceNormalization.
bool as_instance(Editor& e, const Norm& n) {
  const Dims& dims = e.dims(n.x);
  size_t rank = dims.size();
  if (!n.centred || rank < 3 || n.q.axes.size() != rank - 2 || !trailing(n.q.axes, rank) ||
      !dims[1].value())
    return false;
  // LayerNormalization over the last dimension says the same and asks for no layout
  if (rank == 3) return false;
  ValueId y = n.root->outputs[0];
  std::vector<Node*> inside = {n.root};
  const ChannelParameters found = channel_parameters(e, dims, &y, &inside);
  for (Node* node : inside) e.kill(*node);
  Node& made = e.add(op::InstanceNormalization, {n.x, found.scale, found.bias}, {y}, *inside[0],
                     {{attr::epsilon, n.q.epsilon}});
  for (Node* node : inside) e.merge_sources(made, *node);
  retire(e, n.q.inside, made);
  return true;
}

// [N, C, ...] as [N, groups, ...], an InstanceNormalization without parameters, and back.
bool as_group(Editor& e, Node& instance) {
  Node* const split = e.producer_if(instance.inputs[0], op::Reshape);
  ValueId y = instance.outputs[0];
  if (!split || !e.read_once(y) || !e.read_once(instance.inputs[0])) return false;
  Node* const joined = e.readers(y)[0];
  const ValueId x = split->inputs[0];
  const Dims dims = e.dims(x), groups = e.dims(instance.inputs[0]);
  if (joined->op != op::Reshape || joined->inputs[0] != y || dims.size() < 3 ||
      e.value(x).dtype != DType::kF32 || !same(e.dims(joined->outputs[0]), dims) ||
      groups[0] != dims[0] || !dims[1].value() || !groups[1].value() || *groups[1].value() < 1 ||
      *dims[1].value() % *groups[1].value() != 0)
    return false;
  for (size_t i = 1; i < 3; i++) {
    const ValueId id = i < instance.inputs.size() ? instance.inputs[i] : kAbsent;
    const Constant* const constant = e.constant(id);
    if (id >= 0 && (!constant || uniform(*constant) != std::optional<double>(i == 1 ? 1 : 0)))
      return false;
  }
  std::vector<Node*> inside = {joined};
  y = joined->outputs[0];
  const ChannelParameters found = channel_parameters(e, dims, &y, &inside);
  for (Node* node : inside) e.kill(*node);
  Node& made = e.add(op::GroupNormalization, {x, found.scale, found.bias}, {y}, *inside[0],
                     {{attr::epsilon, instance.number(attr::epsilon, 1e-5)},
                      {attr::num_groups, *groups[1].value()}});
  for (Node* node : inside) e.merge_sources(made, *node);
  retire(e, {&instance, split}, made);
  return true;
}

void as_layer(Editor& e, const Norm& n) {
  Dims dims = e.dims(n.x);
  size_t rank = dims.size(), tail = n.q.axes.size();
  ValueId y = n.root->outputs[0], x = n.x;
  Integers perm;
  std::vector<Node*> inside = {n.root};
  std::vector<ValueId> parameters;
  if (trailing(n.q.axes, rank)) {
    Node *mul = nullptr, *add = nullptr;
    ValueId scale = parameter(e, y, op::Mul, dims, tail, mul);
    if (scale >= 0) {
      parameters.push_back(trimmed(e, scale, tail));
      y = mul->outputs[0];
      inside.insert(inside.begin(), mul);
    } else {
      parameters.push_back(kAbsent);
    }
    ValueId bias = n.centred ? parameter(e, y, op::Add, dims, tail, add) : kAbsent;
    if (bias >= 0) {
      parameters.push_back(trimmed(e, bias, tail));
      y = add->outputs[0];
      inside.insert(inside.begin(), add);
    }
  } else {
    perm = to_end(rank, n.q.axes[0]);
  }
  for (Node* node : inside) e.kill(*node);
  Node& place = *inside[0];
  if (!perm.empty()) x = e.transpose(x, perm, place);
  std::vector<ValueId> inputs = {x};
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  while (inputs.back() < 0) inputs.pop_back();
  Attributes a = {{attr::axis, int64_t(rank - tail)}, {attr::epsilon, n.q.epsilon}};
  graph::Operator op = n.centred ? op::LayerNormalization : op::RMSNormalization;
  Node* made;
  if (perm.empty()) {
    made = &e.add(op, inputs, {y}, place, a);
  } else {
    ValueId turned = e.emit(op, inputs, DType::kF32, permuted(dims, perm), place, a);
    made = e.producer(turned);
    e.add(op::Transpose, {turned}, {y}, place, {{attr::perm, inverse(perm)}});
  }
  for (Node* node : inside) e.merge_sources(*made, *node);
  retire(e, n.q.inside, *made);
}

}  // namespace

uint32_t recognize_norms(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (node->dead) continue;
    if (node->op == op::InstanceNormalization) changed += as_group(e, *node);
    auto n = match(e, *node);
    if (!n) continue;
    size_t rank = e.rank(n->x);
    if (as_instance(e, *n))
      changed++;
    else if (trailing(n->q.axes, rank) || n->q.axes.size() == 1)
      as_layer(e, *n), changed++;
  }
  return changed;
}

// exp(x - max(x)) / sum(exp(x - max(x))) along one dimension.
uint32_t recognize_softmax(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (node->dead || node->op != op::Div) continue;
    Node* exp = e.producer_if(node->inputs[0], op::Exp);
    Node* sum = e.producer_if(node->inputs[1], op::ReduceSum);
    Node* sub = exp ? e.producer_if(exp->inputs[0], op::Sub) : nullptr;
    Node* max = sub ? e.producer_if(sub->inputs[1], op::ReduceMax) : nullptr;
    if (!max || !sum || sum->inputs[0] != node->inputs[0] || max->inputs[0] != sub->inputs[0])
      continue;
    // has kernels as it is, and as one operator none
    if (e.value(node->outputs[0]).dtype == DType::kF64) continue;
    Integers axes = sum->integers(attr::axes);
    if (axes.size() != 1 || max->integers(attr::axes) != axes || !sum->integer(attr::keepdims, 1) ||
        !max->integer(attr::keepdims, 1))
      continue;
    ValueId out = node->outputs[0], x = sub->inputs[0];
    e.kill(*node);
    Node& made = e.add(op::Softmax, {x}, {out}, *node, {{attr::axis, axes[0]}});
    retire(e, {sum, exp, sub, max}, made);
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
