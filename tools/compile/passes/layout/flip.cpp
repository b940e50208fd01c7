// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/layout/flip.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "tools/graph/window.h"

namespace ingot::passes {
namespace {

constexpr graph::Operators kAnyPerm = {op::Elementwise,
                                       op::Concat,
                                       op::Slice,
                                       op::Pad,
                                       op::Reduce,
                                       op::ArgReduce,
                                       op::Softmax,
                                       op::Resize,
                                       op::Tile,
                                       op::CumSum,
                                       op::TopK,
                                       op::Gather,
                                       op::GatherElements,
                                       op::Quantize,
                                       op::Dequantize,
                                       op::Lookup,
                                       op::QuantizedElementwise};

// The last `count` dimensions keep their places.
bool keeps_tail(const Integers& perm, size_t count) {
  for (size_t i = perm.size() - count; i < perm.size(); i++)
    if (perm[i] != int64_t(i)) return false;
  return true;
}

template <class T>
std::vector<T> flipped(const std::vector<T>& plain, const Integers& perm) {
  std::vector<T> result(plain.size());
  for (size_t k = 0; k < plain.size(); k++) result[size_t(perm[k])] = plain[k];
  return result;
}

}  // namespace

bool is_flipped_operand(const Editor& e, const Node& node, size_t i, size_t rank) {
  if (node.inputs[i] < 0) return false;
  if (node.op == op::Linear || node.op == op::Conv2d) return i == 0 || i == 3;
  if (node.op == op::Normalize || node.op == op::Gather || node.op == op::Pad ||
      node.op == op::Lookup)
    return i == 0;
  return node.op == op::Elementwise || e.rank(node.inputs[i]) == rank;
}

bool can_flip(const Editor& e, const Node& node, const Integers& perm) {
  size_t rank = perm.size();
  for (ValueId id : node.outputs)
    if (id >= 0 && e.rank(id) != rank) return false;
  if (node.op != op::Elementwise &&
      (node.inputs.empty() || node.inputs[0] < 0 || e.rank(node.inputs[0]) != rank))
    return false;
  if (node.op == op::Gather) return e.rank(node.inputs[1]) == 1;
  if (node.op == op::QuantizedElementwise) return e.rank(node.inputs[1]) == rank;
  if (node.op == op::Linear) return keeps_tail(perm, 1);
  if (node.op == op::Conv2d || node.op == op::Pool2d) return perm == Integers{0, 2, 1, 3};
  if (node.op == op::MatMul) return e.rank(node.inputs[1]) == rank && keeps_tail(perm, 2);
  if (node.op == op::Normalize) {
    std::string kind = node.text(attr::kind, "layer");
    return (kind == "layer" || kind == "rms") &&
           keeps_tail(perm, rank - size_t(node.integer(attr::axis, 0)));
  }
  return kAnyPerm.has(node.op);
}

namespace {

// Height becomes width.
void turn_window(Node& node) {
  graph::Window2d window = graph::window_of(node);
  std::swap(window.h, window.w);
  graph::set_window(&node, window);
}

}  // namespace

void flip_attributes(Node& node, const Integers& perm) {
  if (node.op == op::Conv2d || node.op == op::Pool2d) return turn_window(node);
  if (node.op == op::Normalize) return;  // its axis lies in the part that stays
  if (node.has(attr::axis)) node.attributes[attr::axis] = perm[size_t(node.integer(attr::axis, 0))];
  if (node.op == op::Reduce) {
    int64_t plain = node.integer(attr::axes, 0), mask = 0;
    for (size_t k = 0; k < perm.size(); k++)
      if (plain >> k & 1) mask |= int64_t(1) << perm[k];
    node.attributes[attr::axes] = mask;
  }
  if (node.op == op::Slice) {
    node.attributes[attr::starts] = flipped(node.dims(attr::starts), perm);
    node.attributes[attr::steps] = flipped(node.integers(attr::steps), perm);
  }
  if (node.op == op::Pad) node.attributes[attr::before] = flipped(node.dims(attr::before), perm);
  if (node.op == op::Resize && node.has(attr::scales))
    node.attributes[attr::scales] = flipped(node.numbers(attr::scales), perm);
}

}  // namespace ingot::passes
