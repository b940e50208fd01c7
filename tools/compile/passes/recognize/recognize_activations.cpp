// SPDX-License-Identifier: Apache-2.0
// Activations that exporters spell out: sigmoid products, erf and tanh forms, clipped lines. Each
// becomes the one operator that ONNX has for it. The formulas are equal in real arithmetic.
#include <cmath>
#include <limits>

#include "tools/compile/passes/common/match.h"
#include "tools/compile/passes/common/pass.h"
#include "tools/graph/tensor_math.h"

namespace ingot::passes {
namespace {

struct Found {
  graph::Operator op;
  ValueId x;
  Attributes attributes;
  std::vector<Node*> inside;
};

// slope * x + offset below a Clip, with nothing else reading the line.
struct Line {
  ValueId x;
  double slope = 1, offset = 0;
  std::vector<Node*> inside;
};

Line line(const Editor& e, ValueId id) {
  Line result{id, 1, 0, {}};
  if (Node* add = e.producer_if(result.x, op::Add)) {
    if (auto w = with_constant(e, *add)) result = {w->x, 1, w->constant, {add}};
  }
  for (const graph::Operator op : {op::Mul, op::Div}) {
    Node* node = e.producer_if(result.x, op);
    std::optional<WithConstant> w = node ? with_constant(e, *node) : std::nullopt;
    if (!w || (node->op == op::Div && w->x != node->inputs[0])) continue;
    result.slope = node->op == op::Mul ? w->constant : 1 / w->constant;
    result.x = w->x;
    result.inside.push_back(node);
    break;
  }
  return result;
}

// factor * Clip(slope x + offset, 0, high) with factor * high == 1, or a HardSigmoid: min(max(alpha
// x + beta, 0), 1).
struct HardSigmoid {
  ValueId x;
  double alpha, beta;
  std::vector<Node*> inside;
};

std::optional<HardSigmoid> hard_sigmoid(const Editor& e, ValueId id, double factor) {
  if (Node* node = e.producer_if(id, op::HardSigmoid); node && factor == 1)
    return HardSigmoid{
        node->inputs[0], node->number(attr::alpha, 0.2), node->number(attr::beta, 0.5), {node}};
  Node* clip = e.producer_if(id, op::Clip);
  double high = clip ? clip->number(attr::max, std::numeric_limits<double>::infinity()) : 0;
  if (!clip || clip->number(attr::min, -1) != 0 || !near(high * factor, 1, 1e-6))
    return std::nullopt;
  Line l = line(e, clip->inputs[0]);
  l.inside.insert(l.inside.begin(), clip);
  return HardSigmoid{l.x, l.slope * factor, l.offset * factor, l.inside};
}

// x * hard_sigmoid with slope 1/6 and offset 1/2, however the sixth is spelled.
std::optional<Found> hard_swish(const Editor& e, const Product& p) {
  if (p.leaves.size() != 2) return std::nullopt;
  for (size_t i = 0; i < 2; i++) {
    auto h = hard_sigmoid(e, p.leaves[i], p.factor);
    if (h && h->x == p.leaves[1 - i] && near(h->alpha, 1.0 / 6, 1e-5) && near(h->beta, 0.5, 1e-5))
      return Found{op::HardSwish, h->x, {}, h->inside};
  }
  return std::nullopt;
}

std::optional<Found> silu_or_mish(const Editor& e, const Product& p) {
  if (p.leaves.size() != 2 || p.factor != 1) return std::nullopt;
  for (size_t i = 0; i < 2; i++) {
    ValueId x = p.leaves[1 - i];
    if (Node* s = e.producer_if(p.leaves[i], op::Sigmoid)) {
      if (s->inputs[0] == x) return Found{op::Swish, x, {{attr::alpha, 1.0}}, {s}};
      auto scaled = made_with_constant(e, s->inputs[0], op::Mul);
      if (scaled && scaled->x == x)
        return Found{
            op::Swish, x, {{attr::alpha, scaled->constant}}, {s, e.producer(s->inputs[0])}};
    }
    Node* t = e.producer_if(p.leaves[i], op::Tanh);
    Node* soft = t ? e.producer_if(t->inputs[0], op::Softplus) : nullptr;
    if (soft && soft->inputs[0] == x) return Found{op::Mish, x, {}, {t, soft}};
  }
  return std::nullopt;
}

// 0.044715 x^3 + x, or x (1 + 0.044715 x^2), times sqrt(2/pi): the argument of the tanh form.
bool is_gelu_argument(const Editor& e, ValueId id, ValueId x, std::vector<Node*>& inside) {
  Node* root = e.producer(id);
  if (!root) return false;
  Product outer = product_of(e, *root);
  if (!near(outer.factor, 0.7978845608)) return false;
  inside.insert(inside.end(), outer.inside.begin(), outer.inside.end());
  bool factored = outer.leaves.size() == 2;
  if (!factored && outer.leaves.size() != 1) return false;
  ValueId sum = outer.leaves[0];
  if (factored) {
    if (outer.leaves[0] != x && outer.leaves[1] != x) return false;
    sum = outer.leaves[outer.leaves[0] == x ? 1 : 0];
  }
  Node* add = e.producer_if(sum, op::Add);
  if (!add) return false;
  inside.push_back(add);
  for (size_t i = 0; i < 2; i++) {
    ValueId plain = add->inputs[i], cubic = add->inputs[1 - i];
    if (factored ? !is_scalar(e.model, plain, 1) : plain != x) continue;
    Node* scaled = e.producer(cubic);
    if (!scaled) continue;
    Product p = product_of(e, *scaled);
    if (!near(p.factor, 0.044715)) continue;
    inside.insert(inside.end(), p.inside.begin(), p.inside.end());
    int power = 0;
    for (ValueId leaf : p.leaves) {
      Node* pow = e.producer_if(leaf, op::Pow);
      std::optional<double> exponent = pow ? scalar(e.model, pow->inputs[1]) : std::nullopt;
      std::optional<ValueId> squared = square_of(e, leaf);
      if (leaf == x)
        power += 1;
      else if (squared && *squared == x)
        power += 2, inside.push_back(e.producer(leaf));
      else if (exponent && pow->inputs[0] == x)
        power += int(*exponent), inside.push_back(pow);
      else
        return false;
    }
    return power == (factored ? 2 : 3);
  }
  return false;
}

std::optional<Found> gelu(const Editor& e, const Product& p) {
  if (p.leaves.size() != 2 || !near(p.factor, 0.5, 1e-6)) return std::nullopt;
  for (size_t i = 0; i < 2; i++) {
    ValueId x = p.leaves[1 - i];
    auto one_plus = made_with_constant(e, p.leaves[i], op::Add);
    if (!one_plus || one_plus->constant != 1) continue;
    std::vector<Node*> inside = {e.producer(p.leaves[i]), e.producer(one_plus->x)};
    if (Node* erf = e.producer_if(one_plus->x, op::Erf)) {
      for (const graph::Operator op : {op::Div, op::Mul}) {
        auto scaled = made_with_constant(e, erf->inputs[0], op);
        if (!scaled || scaled->x != x) continue;
        if (!near(scaled->constant, op == op::Div ? std::sqrt(2.0) : std::sqrt(0.5))) continue;
        inside.push_back(e.producer(erf->inputs[0]));
        return Found{op::Gelu, x, {{attr::approximate, std::string("none")}}, inside};
      }
    }
    Node* tanh = e.producer_if(one_plus->x, op::Tanh);
    if (tanh && is_gelu_argument(e, tanh->inputs[0], x, inside))
      return Found{op::Gelu, x, {{attr::approximate, std::string("tanh")}}, inside};
  }
  return std::nullopt;
}

std::optional<Found> alone(const Editor& e, Node& node) {
  if (node.op == op::Log) {  // log(1 + exp(x))
    auto one_plus = made_with_constant(e, node.inputs[0], op::Add);
    Node* exp = one_plus && one_plus->constant == 1 ? e.producer_if(one_plus->x, op::Exp) : nullptr;
    if (exp) return Found{op::Softplus, exp->inputs[0], {}, {e.producer(node.inputs[0]), exp}};
  }
  if (node.op == op::Clip) {
    auto h = hard_sigmoid(e, node.outputs[0], 1);
    if (h && (h->alpha != 1 || h->beta != 0))
      return Found{
          op::HardSigmoid, h->x, {{attr::alpha, h->alpha}, {attr::beta, h->beta}}, h->inside};
  }
  return std::nullopt;
}

// Clip(..)/6 on its own.
std::optional<Found> scaled_clip(const Editor& e, const Product& p) {
  if (p.leaves.size() != 1 || p.factor == 1) return std::nullopt;
  auto h = hard_sigmoid(e, p.leaves[0], p.factor);
  if (!h) return std::nullopt;
  return Found{op::HardSigmoid, h->x, {{attr::alpha, h->alpha}, {attr::beta, h->beta}}, h->inside};
}

bool apply(Editor& e, Node& root, const Found& found, const std::vector<Node*>& between) {
  // Whole numbers divide and limit as such.
  if (!graph::is_floating(e.value(found.x).dtype)) return false;
  if (!same(e.dims(found.x), e.dims(root.outputs[0])) ||
      e.value(found.x).dtype != e.value(root.outputs[0]).dtype)
    return false;
  ValueId out = root.outputs[0];
  e.kill(root);
  Node& made = e.add(found.op, {found.x}, {out}, root, found.attributes);
  retire(e, between, made);
  retire(e, found.inside, made);
  return true;
}

}  // namespace

uint32_t recognize_activations(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (node->dead) continue;
    Product p = product_of(e, *node);
    std::optional<Found> found = alone(e, *node);
    if (!found && !p.inside.empty()) {
      found = silu_or_mish(e, p);
      if (!found) found = hard_swish(e, p);
      if (!found) found = gelu(e, p);
      if (!found) found = scaled_clip(e, p);
    }
    std::vector<Node*> between(p.inside.empty() ? p.inside.end() : p.inside.begin() + 1,
                               p.inside.end());
    if (found && apply(e, *node, *found, between)) changed++;
  }
  return changed;
}

}  // namespace ingot::passes
