// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/canonical/rules.h"
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/elementwise.h"

namespace ingot::passes {
namespace {

bool floats(Canonical& c, const Node& node) {
  if (c.editor.value(node.outputs[0]).dtype == DType::kF32) return true;
  c.refuse(node, "",
           std::string("only f32 products are built, this one is ") +
               dtype_name(c.editor.value(node.outputs[0]).dtype));
  return false;
}

ValueId into(Editor& e, const Node& node, graph::Operator op, std::vector<ValueId> inputs,
             const Dims& dims, Attributes a = {}) {
  ValueId out = node.outputs[0];
  if (same(dims, e.dims(out))) {
    e.add(op, std::move(inputs), {out}, node, std::move(a));
    return out;
  }
  ValueId y = e.emit(op, std::move(inputs), DType::kF32, dims, node, std::move(a));
  e.add(op::Reshape, {y}, {out}, node);
  return y;
}

// A constant right-hand side that is one matrix, whatever its leading dimensions: its weights [O,
// K], else nothing.
std::optional<Constant> as_weights(const Constant* b) {
  if (!b || !b->bytes || b->dtype != DType::kF32 || b->dims.empty()) return std::nullopt;
  if (b->dims.size() == 1) return with_dims(*b, {1, b->dims[0]});
  for (size_t i = 0; i + 2 < b->dims.size(); i++)
    if (b->dims[i] != 1) return std::nullopt;
  size_t r = b->dims.size();
  return permuted(with_dims(*b, {b->dims[r - 2], b->dims[r - 1]}), {1, 0});
}

void matrix_product(Canonical& c, Node& node) {
  if (!floats(c, node)) return;
  Editor& e = c.editor;
  ValueId a = node.inputs[0], b = node.inputs[1], out = node.outputs[0];
  e.kill(node);
  if (std::optional<Constant> w = as_weights(e.constant(b))) {
    Dims dims = e.dims(a);
    dims.back() = Dim(w->dims[0]);
    into(e, node, op::Linear, {a, e.new_constant(e.value(b).name, *w)}, dims);
    return;
  }
  Dims dims = e.dims(out);
  if (e.rank(a) == 1) {
    a = e.reshape(a, {Dim(1), e.dims(a)[0]}, node);
    dims.insert(dims.end() - (e.rank(b) > 1 ? 1 : 0), Dim(1));
  }
  if (e.rank(b) == 1) {
    b = e.reshape(b, {e.dims(b)[0], Dim(1)}, node);
    dims.push_back(Dim(1));
  }
  into(e, node, op::MatMul, {a, b}, dims);
}

// alpha * A' B' + beta * C. A constant B becomes Linear, C its bias where it is one row.
void general_product(Canonical& c, Node& node) {
  if (!floats(c, node)) return;
  Editor& e = c.editor;
  e.kill(node);
  double alpha = node.number(attr::alpha, 1), beta = node.number(attr::beta, 1);
  bool trans_a = node.integer(attr::transA, 0) != 0, trans_b = node.integer(attr::transB, 0) != 0;
  ValueId a = node.inputs[0], b = node.inputs[1], out = node.outputs[0];
  ValueId addend = node.inputs.size() > 2 && beta != 0 ? node.inputs[2] : kAbsent;
  Dims dims = e.dims(out);
  const Constant* weights = e.constant(b);
  ValueId y;
  std::optional<std::vector<double>> bias =
      addend >= 0 ? per_channel(e.model, addend, dims) : std::nullopt;
  if (weights && weights->bytes) {
    if (trans_a) a = e.transpose(a, {1, 0}, node);
    Constant w = trans_b ? *weights : permuted(*weights, {1, 0});
    if (alpha != 1) {
      std::vector<double> scaled = numbers(w);
      for (double& x : scaled) x *= alpha;
      w = make_f32(w.dims, scaled);
    }
    std::vector<ValueId> inputs = {a, e.new_constant(e.value(b).name, w)};
    if (bias) {
      for (double& x : *bias) x *= beta;
      inputs.push_back(
          e.new_constant(e.value(addend).name, make_f32({int64_t(bias->size())}, *bias)));
      addend = kAbsent;
    }
    if (addend < 0) {
      e.add(op::Linear, std::move(inputs), {out}, node);
      return;
    }
    y = e.emit(op::Linear, std::move(inputs), DType::kF32, dims, node);
  } else {
    Attributes how = {
        {attr::trans_a, int64_t(trans_a)}, {attr::trans_b, int64_t(trans_b)}, {attr::alpha, alpha}};
    if (addend < 0) {
      e.add(op::MatMul, {a, b}, {out}, node, std::move(how));
      return;
    }
    y = e.emit(op::MatMul, {a, b}, DType::kF32, dims, node, std::move(how));
  }
  std::vector<Step> steps = {{Op::kAdd, 0, 1}};
  if (beta != 1) steps = {{Op::kScaleShift, 1, 0, 0, beta, 0}, {Op::kAdd, 0, 2}};
  e.add(op::Elementwise, {y, addend}, {out}, node, elementwise(steps, "f32"));
}

// Has its own operands already; weights must be there.
void grouped_linear(Canonical& c, Node& node) {
  const Constant* const w = c.editor.constant(node.inputs[1]);
  if (!w || !w->bytes)
    c.refuse(node, "", "its weights of experts come from a run",
             "export the model with constant weights");
  else if (w->dtype != DType::kU8)
    floats(c, node);
}

// Attention has its own operands already; only the type is asked.
void attention(Canonical& c, Node& node) { floats(c, node); }

}  // namespace

void add_product_rules(Rules& rules) {
  rules[op::MatMul] = matrix_product;
  rules[op::Gemm] = general_product;
  rules[op::Attention] = attention;
  rules[op::GroupedLinear] = grouped_linear;
}

}  // namespace ingot::passes
