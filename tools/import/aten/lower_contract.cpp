// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_contract.cpp - sums of products over dimensions that the operator names:
// tensordot, bilinear, kron, cross, chains of matrices.
#include <algorithm>

#include "tools/import/aten/arithmetic.h"

namespace ingot::aten {
namespace {

Results tensor_dot(Operands& o) {
  const Terms t = two_terms(o, "self", "other");
  std::vector<int64_t> first = o.integers("dims_self"), second = o.integers("dims_other");
  if (first.size() != second.size())
    o.corrupt("sums over " + std::to_string(first.size()) + " and " +
              std::to_string(second.size()) + " dimensions");
  for (int64_t& axis : first) axis = wrapped_axis(axis, t.x.rank(), o.qualified());
  for (int64_t& axis : second) axis = wrapped_axis(axis, t.y.rank(), o.qualified());
  Dims out;
  Dim summed(1);
  const auto turned = [&](const Term& x, const std::vector<int64_t>& over, bool at_the_end) {
    std::vector<int64_t> kept;
    Dim rows(1);
    for (int64_t i = 0; i < x.rank(); i++) {
      if (std::find(over.begin(), over.end(), i) != over.end()) continue;
      kept.push_back(i);
      rows = rows * x.dims()[size_t(i)];
      out.push_back(x.dims()[size_t(i)]);
    }
    summed = Dim(1);
    for (const int64_t axis : over) summed = summed * x.dims()[size_t(axis)];
    std::vector<int64_t> perm = at_the_end ? kept : over;
    const std::vector<int64_t>& rest = at_the_end ? over : kept;
    perm.insert(perm.end(), rest.begin(), rest.end());
    return x.of(x.b->transpose(x.id, perm))
        .reshape(at_the_end ? Dims{rows, summed} : Dims{summed, rows});
  };
  const Term a = turned(t.x, first, true), b = turned(t.y, second, false);
  return result_of(product(a, b).reshape(out));
}
/// Over the last dimension of both.
Results inner(Operands& o) {
  const Terms t = two_terms(o, "self", "other");
  if (t.x.rank() == 0 || t.y.rank() == 0) return result_of(t.x * t.y);
  Dims out = t.x.dims(), other = t.y.dims();
  const Dim n = out.back();
  out.pop_back();
  other.pop_back();
  const Term a = t.x.reshape({graph::product(out), n}), b = t.y.reshape({graph::product(other), n});
  out.insert(out.end(), other.begin(), other.end());
  return result_of(product(a, swapped(b, 0, 1)).reshape(out));
}
Results vector_dot(Operands& o) {
  const char* const first = o.has("x") ? "x" : "self";
  const char* const second = o.has("y") ? "y" : "other";
  const Terms t = two_terms(o, first, second);
  const Term made = t.x * t.y;
  const int64_t axis = o.has("dim") ? o.axis("dim", made.rank()) : made.rank() - 1;
  return result_of(made.reduce(op::ReduceSum, {axis}));
}
/// y[k] = sum over i, j of x1[i] weight[k, i, j] x2[j].
Results bilinear(Operands& o) {
  const Term x = term(o, "input1"), y = term(o, "input2"), w = term(o, "weight");
  const Dims weight = w.dims();
  if (weight.size() != 3 || x.rank() < 1 || x.rank() != y.rank())
    o.corrupt("has a weight of " + graph::text(weight));
  Dims lead = x.dims();
  lead.pop_back();
  const Dim rows = graph::product(lead);
  const Term flat =
      Term{&o.b, o.b.transpose(w.id, {1, 0, 2})}.reshape({weight[1], weight[0] * weight[2]});
  const Term all =
      product(x.reshape({rows, weight[1]}), flat).reshape({rows, weight[0], weight[2]});
  Term made = (all * y.reshape({rows, Dim(1), weight[2]})).reduce(op::ReduceSum, {2});
  if (o.given("bias")) made = made + term(o, "bias");
  lead.push_back(weight[0]);
  return result_of(made.reshape(lead));
}
Results kronecker(Operands& o) {
  const Terms t = two_terms(o, "self", "other");
  const size_t rank = size_t(std::max(t.x.rank(), t.y.rank()));
  const auto wide = [rank](const Term& x) {
    Dims dims = x.dims();
    dims.insert(dims.begin(), rank - dims.size(), Dim(1));
    return dims;
  };
  const Dims one = wide(t.x), other = wide(t.y);
  Dims left, right, out;
  for (size_t i = 0; i < rank; i++) {
    left.insert(left.end(), {one[i], Dim(1)});
    right.insert(right.end(), {Dim(1), other[i]});
    out.push_back(one[i] * other[i]);
  }
  return result_of((t.x.reshape(left) * t.y.reshape(right)).reshape(out));
}
Results cross_product(Operands& o) {
  const Terms t = two_terms(o, "self", "other");
  const Dims both_of = (t.x * t.y).dims();
  int64_t axis = -1;
  if (o.given("dim")) axis = o.axis("dim", int64_t(both_of.size()));
  for (size_t i = 0; axis < 0 && i < both_of.size(); i++)
    if (both_of[i] == Dim(3)) axis = int64_t(i);
  if (axis < 0 || both_of[size_t(axis)] != Dim(3))
    o.corrupt("multiplies vectors of " + graph::text(both_of) + ", expected 3 numbers each");
  const Term next = {&o.b, o.b.integers({1, 2, 0})}, last = {&o.b, o.b.integers({2, 0, 1})};
  const Term x = t.x.expand(both_of), y = t.y.expand(both_of);
  return result_of(gathered(x, next, axis) * gathered(y, last, axis) -
                   gathered(x, last, axis) * gathered(y, next, axis));
}
Results chain(Operands& o) {
  const std::vector<ValueId> parts = o.read_all(o.has("matrices") ? "matrices" : "tensors");
  if (parts.empty()) o.corrupt("multiplies nothing");
  Term made = {&o.b, parts[0]};
  for (size_t i = 1; i < parts.size(); i++) made = product(made, {&o.b, parts[i]});
  return result_of(made);
}
/// beta * self + alpha * a product: addbmm sums over the batch, addr is of two vectors.
Results added_to(Operands& o) {
  Term made = {&o.b, graph::kAbsent};
  if (o.has("vec1")) {
    const Term x = term(o, "vec1");
    made = x.reshape({x.dims()[0], Dim(1)}) * term(o, "vec2");
  } else {
    made = product(term(o, "batch1"), term(o, "batch2")).reduce(op::ReduceSum, {0});
  }
  const double alpha = o.number("alpha"), beta = o.number("beta");
  if (alpha != 1) made = made * alpha;
  const Term self = term(o, "self");
  if (beta == 0) return result_of(made);
  return result_of((beta == 1 ? self : self * beta) + made);
}
/// Time, batch and channels in that order; the kernel is [k, in, out].
Results convolution_over_time(Operands& o) {
  const Term x = term(o, "self"), w = term(o, "weight");
  const int64_t pad = o.integer("pad");
  const auto turn = [&](const Term& t, std::vector<int64_t> perm) {
    return Term{&o.b, o.b.transpose(t.id, std::move(perm))};
  };
  const ValueId made =
      o.b.emit(op::Conv, {turn(x, {1, 2, 0}).id, turn(w, {2, 1, 0}).id, o.read("bias")},
               {{attr::pads, std::vector<int64_t>{pad, pad}}, {attr::group, int64_t(1)}});
  return result_of(turn({&o.b, made}, {2, 0, 1}));
}

}  // namespace

void add_contractions(Table& table) {
  table.add("tensordot", "Tensor self, Tensor other, int[] dims_self, int[] dims_other",
            tensor_dot);
  table.add("inner", "Tensor self, Tensor other", inner);
  table.add("vdot", "Tensor self, Tensor other", vector_dot);
  table.add("linalg_vecdot", "Tensor x, Tensor y, *, int dim=-1", vector_dot);
  table.add("bilinear", "Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None", bilinear);
  table.add("kron", "Tensor self, Tensor other", kronecker);
  table.add("cross", "Tensor self, Tensor other, int? dim=None", cross_product);
  table.add("linalg_cross", "Tensor self, Tensor other, *, int dim=-1", cross_product);
  table.add("chain_matmul", "Tensor[] matrices", chain);
  table.add("linalg_multi_dot", "Tensor[] tensors", chain);
  table.add("addbmm", "Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1",
            added_to);
  table.add("addr", "Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1",
            added_to);
  table.add("conv_tbc", "Tensor self, Tensor weight, Tensor bias, int pad=0",
            convolution_over_time);
}

}  // namespace ingot::aten
