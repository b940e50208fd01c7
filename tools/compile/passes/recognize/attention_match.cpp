// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/recognize/attention_match.h"

#include <cmath>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/elementwise.h"

namespace ingot::passes {
namespace {

// a score or a constant mask from here down is a key that is not seen
constexpr double kHides = -1e9;

/// The operand of a step with one number, and that number.
struct Scaled {
  ValueId x;
  double number;
};
std::optional<Scaled> with_number(const Editor& e, const Node& node, Op op, bool number_last) {
  const std::optional<Step> s = only_step(node);
  if (!s || s->op != op || node.inputs.size() != 2 || s->a + s->b != 1 ||
      node.text(attr::compute, "f32") != "f32")
    return std::nullopt;
  for (int k = 0; k < 2; k++) {
    const std::optional<double> number = scalar(e.model, node.inputs[size_t(k)]);
    const ValueId x = node.inputs[size_t(1 - k)];
    if (!number || !std::isfinite(*number) || e.constant(x) ||
        !same(e.dims(x), e.dims(node.outputs[0])))
      continue;
    if (number_last && s->b != k) continue;
    return Scaled{x, *number};
  }
  return std::nullopt;
}
/// x times that number.
std::optional<Scaled> factor(const Editor& e, const Node& node) {
  if (auto product = with_number(e, node, Op::kMul, false)) return product;
  auto quotient = with_number(e, node, Op::kDiv, true);
  if (!quotient || quotient->number == 0) return std::nullopt;
  return Scaled{quotient->x, 1 / quotient->number};
}

bool swaps_last_two(const Integers& perm) {
  const size_t r = perm.size();
  for (size_t i = 0; i + 2 < r; i++)
    if (perm[i] != int64_t(i)) return false;
  return r >= 2 && perm[r - 2] == int64_t(r) - 1 && perm[r - 1] == int64_t(r) - 2;
}

/// Factors and transpositions of the last two dimensions in front of an operand.
void peel(const Editor& e, ValueId& x, bool& turned, double& scale, std::vector<Node*>& inside) {
  for (;;) {
    Node* node = e.producer(x);
    if (!node || !e.read_once(x)) return;
    if (node->op == op::Transpose && swaps_last_two(node->integers(attr::perm))) {
      turned = !turned;
      x = node->inputs[0];
    } else if (auto f = factor(e, *node)) {
      scale *= f->number;
      x = f->x;
    } else {
      return;
    }
    inside.push_back(node);
  }
}

/// A Reshape of scores that only groups or names their leading dimensions.
bool keeps_matrix(const Editor& e, const Node& node) {
  const Dims &from = e.dims(node.inputs[0]), &to = e.dims(node.outputs[0]);
  return from.size() >= 2 && to.size() >= 2 && from.back() == to.back() &&
         from[from.size() - 2] == to[to.size() - 2];
}

class Matcher {
 public:
  Matcher(const Editor& editor, Node& node, AttentionMatch* match)
      : e(editor), softmax(node), found(match) {}

  bool run(std::string* why) {
    if (!behind(why)) return false;
    found->inside.push_back(&softmax);
    return before(why);
  }

 private:
  const Editor& e;
  Node& softmax;
  AttentionMatch* found;

  /// The product that reads the probabilities.
  bool behind(std::string* why) {
    ValueId p = softmax.outputs[0];
    std::vector<Node*> between;
    if (ValueId safe = without_nan(p, between); safe >= 0) p = safe, found->nan_is_zero = true;
    for (;;) {
      Node* reader = nullptr;
      for (Node* node : e.readers(p))
        if (node->op == op::MatMul || node->op == op::Reshape) reader = node;
      if (!reader) return false;
      if (!e.read_once(p)) {
        if (reader->op == op::MatMul) *why = "its probabilities are read by others as well";
        return false;
      }
      if (reader->op == op::Reshape) {
        if (!keeps_matrix(e, *reader)) return false;
        between.push_back(reader);
        p = reader->outputs[0];
        continue;
      }
      if (reader->inputs[0] != p || reader->inputs[1] == p) return false;
      if (reader->integer(attr::trans_a, 0))
        return *why = "its probabilities are transposed", false;
      if (reader->number(attr::alpha, 1) != 1)
        return *why = "the product with the values is scaled", false;
      found->v = reader->inputs[1], found->turn_v = reader->integer(attr::trans_b, 0) != 0;
      found->y = reader->outputs[0];
      found->inside.push_back(reader);
      for (auto node = between.rbegin(); node != between.rend(); ++node)
        found->inside.push_back(*node);
      return true;
    }
  }

  /// Where(IsNaN(p), 0, p), which exporters write for rows that see nothing.
  ValueId without_nan(ValueId p, std::vector<Node*>& between) {
    if (e.reader_count(p) != 2 || e.is_output(p)) return graph::kAbsent;
    Node *is_nan = nullptr, *select = nullptr;
    for (Node* node : e.readers(p)) {
      const std::optional<Step> s = only_step(*node);
      if (s && s->op == Op::kIsNan) is_nan = node;
      if (s && s->op == Op::kSelect) select = node;
    }
    if (!is_nan || !select || !e.read_once(is_nan->outputs[0])) return graph::kAbsent;
    const Step s = *only_step(*select);
    if (select->inputs.size() != 3 || select->inputs[size_t(s.a)] != is_nan->outputs[0] ||
        !is_scalar(e.model, select->inputs[size_t(s.b)], 0) || select->inputs[size_t(s.c)] != p)
      return graph::kAbsent;
    between.push_back(is_nan);
    between.push_back(select);
    return select->outputs[0];
  }

  /// From the Softmax up to the product of q and k.
  bool before(std::string* why) {
    ValueId s = softmax.inputs[0];
    bool has_mask = false;
    for (;;) {
      Node* node = e.producer(s);
      if (!node) return false;
      if (!e.read_once(s)) {
        if (leads_to_product(s)) *why = "the scores are read by others as well";
        return false;
      }
      if (node->op == op::MatMul) return product(*node, why);
      found->inside.push_back(node);
      if (node->op == op::Reshape) {
        if (!keeps_matrix(e, *node)) return false;
        if (has_mask && !named_alike(*node))
          return *why = "a mask is added between two orders of heads", false;
        s = node->inputs[0];
      } else if (auto cap = softcap(*node)) {
        if (found->softcap != 0 || found->scale != 1)
          return *why = "its scores are scaled after they were capped", false;
        found->softcap = cap->number, s = cap->x;
      } else if (auto f = factor(e, *node)) {
        found->scale *= f->number, s = f->x;
      } else if (const std::optional<Step> step = only_step(*node);
                 step && step->op == Op::kAdd && add(*node, s, why)) {
        has_mask = true;
      } else if (step && step->op == Op::kSelect && select(*node, *step, s, why)) {
        has_mask = true;
      } else {
        if (why->empty() && leads_to_product(node->outputs[0]))
          *why = "between the product and the softmax stands " + text(node->op) + " '" +
                 node->name + "'";
        return false;
      }
    }
  }

  /// Is there a product of two activations close above?
  bool leads_to_product(ValueId id, int depth = 6) const {
    const Node* node = e.producer(id);
    if (!node || depth == 0) return false;
    if (node->op == op::MatMul) return true;
    if (node->op != op::Elementwise && node->op != op::Reshape) return false;
    for (const ValueId in : node->inputs)
      if (leads_to_product(in, depth - 1)) return true;
    return false;
  }

  bool named_alike(const Node& reshape) const {
    return same(e.dims(reshape.inputs[0]), e.dims(reshape.outputs[0]));
  }

  /// c * tanh(x / c).
  std::optional<Scaled> softcap(const Node& node) {
    auto outer = with_number(e, node, Op::kMul, false);
    Node* tanh = outer ? e.producer(outer->x) : nullptr;
    const std::optional<Step> step = tanh ? only_step(*tanh) : std::nullopt;
    if (!step || step->op != Op::kTanh || !e.read_once(outer->x)) return std::nullopt;
    Node* inner = e.producer(tanh->inputs[0]);
    auto shrunk = inner && e.read_once(tanh->inputs[0]) ? factor(e, *inner) : std::nullopt;
    if (!shrunk || outer->number <= 0 || std::fabs(shrunk->number * outer->number - 1) > 1e-6)
      return std::nullopt;
    found->inside.push_back(tanh);
    found->inside.push_back(inner);
    return Scaled{shrunk->x, outer->number};
  }

  /// Which operand of a node with a mask has the scores: the one that a product makes.
  bool add(const Node& node, ValueId& s, std::string* why) {
    if (found->softcap != 0) return *why = "a mask is added before the scores are capped", false;
    if (found->scale != 1) return *why = "its scores are scaled after a mask was added", false;
    if (node.inputs.size() != 2 || node.inputs[0] == node.inputs[1]) return false;
    for (size_t i = 0; i < 2; i++) {
      const ValueId scores = node.inputs[i], mask = node.inputs[1 - i];
      if (!leads_to_product(scores) || !same(e.dims(scores), e.dims(node.outputs[0]))) continue;
      if (e.value(mask).dtype != DType::kF32) return *why = "its mask is not f32", false;
      note_dims(e.dims(scores));
      found->masks.push_back({mask, false, true, 0});
      s = scores;
      return true;
    }
    return false;
  }

  bool select(const Node& node, const Step& step, ValueId& s, std::string* why) {
    if (node.inputs.size() != 3 || step.a == kConstantRegister || step.b == kConstantRegister ||
        step.c == kConstantRegister)
      return false;
    if (found->softcap != 0) return *why = "scores are masked before they are capped", false;
    if (!(found->scale > 0)) return *why = "masked scores are scaled by a number below zero", false;
    const ValueId condition = node.inputs[size_t(step.a)], yes = node.inputs[size_t(step.b)],
                  no = node.inputs[size_t(step.c)];
    for (const bool seen : {true, false}) {
      const ValueId scores = seen ? yes : no, other = seen ? no : yes;
      const Constant* c = e.constant(other);
      const std::optional<double> number = c ? uniform(*c) : std::nullopt;
      if (!number || !same(e.dims(scores), e.dims(node.outputs[0]))) continue;
      if (!(*number <= kHides)) return *why = "masked scores become a number above -1e9", false;
      if (e.value(condition).dtype != DType::kBool) return *why = "its mask is not bool", false;
      note_dims(e.dims(scores));
      found->masks.push_back({condition, true, seen, double(float(*number * found->scale))});
      s = scores;
      return true;
    }
    return false;
  }

  void note_dims(const Dims& dims) {
    if (found->scores.empty()) found->scores = dims;
  }

  bool product(Node& node, std::string* why) {
    if (node.integer(attr::trans_a, 0)) return *why = "the queries are transposed", false;
    found->inside.push_back(&node);
    found->q = node.inputs[0], found->k = node.inputs[1];
    found->scale *= node.number(attr::alpha, 1);
    found->turn_k = node.integer(attr::trans_b, 0) == 0;
    note_dims(e.dims(node.outputs[0]));
    bool turned_q = false;
    std::vector<Node*> front;
    ValueId q = found->q;
    double scale = 1;
    peel(e, q, turned_q, scale, front);
    if (!turned_q)
      found->q = q, found->scale *= scale,
      found->inside.insert(found->inside.end(), front.begin(), front.end());
    peel(e, found->k, found->turn_k, found->scale, found->inside);
    return true;
  }
};

}  // namespace

bool match_attention(const Editor& e, Node& softmax, AttentionMatch* found, std::string* why) {
  const ValueId p = softmax.outputs[0];
  const size_t rank = e.rank(p);
  if (rank < 2 || softmax.integer(attr::axis, 0) != int64_t(rank) - 1 ||
      softmax.integer(attr::log, 0) || e.value(p).dtype != DType::kF32)
    return false;
  return Matcher(e, softmax, found).run(why);
}

}  // namespace ingot::passes
