// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_product.cpp - matrix products.
#include <algorithm>

#include "tools/import/aten/operands.h"
#include "tools/import/aten/promotion.h"

namespace ingot::aten {
namespace {

ValueId transposed(Builder& b, ValueId x) { return b.transpose(x, {1, 0}); }

Results linear(Operands& o) {
  const ValueId x = o.read("input"), weight = o.read("weight");
  if (o.b.rank(weight) == 1) {  // one row, whose dimension goes
    const ValueId made = o.b.emit(op::MatMul, {x, weight});
    return o.result(o.given("bias") ? o.b.emit(op::Add, {made, o.read("bias")}) : made);
  }
  if (o.b.rank(weight) != 2) o.corrupt("its weight has shape " + graph::text(o.b.dims(weight)));
  if (o.b.rank(x) == 2) {
    std::vector<ValueId> inputs = {x, weight};
    if (o.given("bias")) inputs.push_back(o.read("bias"));
    return o.result(o.b.emit(op::Gemm, inputs,
                             {{attr::transB, int64_t(1)},
                              {attr::transA, int64_t(0)},
                              {attr::alpha, 1.0},
                              {attr::beta, 1.0}}));
  }
  const ValueId made = o.b.emit(op::MatMul, {x, transposed(o.b, weight)});
  return o.result(o.given("bias") ? o.b.emit(op::Add, {made, o.read("bias")}) : made);
}
Results matmul(Operands& o) {
  const char* const second = o.has("mat2")     ? "mat2"
                             : o.has("vec")    ? "vec"
                             : o.has("tensor") ? "tensor"
                                               : "other";
  return o.result(o.b.emit(op::MatMul, {o.read("self"), o.read(second)}));
}
/// beta * self + alpha * (a @ b)
Results added_product(Operands& o) {
  const bool vector = o.has("vec"), batched = o.has("batch1");
  const ValueId a = o.read(batched  ? "batch1"
                           : vector ? "mat"
                                    : "mat1"),
                b = o.read(batched  ? "batch2"
                           : vector ? "vec"
                                    : "mat2");
  const double alpha = o.number("alpha"), beta = o.number("beta");
  if (!batched && !vector)
    return o.result(o.b.emit(op::Gemm, {a, b, o.read("self")},
                             {{attr::transB, int64_t(0)},
                              {attr::transA, int64_t(0)},
                              {attr::alpha, alpha},
                              {attr::beta, beta}}));
  const DType dtype = o.b.dtype(a);
  ValueId made = o.b.emit(op::MatMul, {a, b});
  if (alpha != 1) made = o.b.emit(op::Mul, {made, o.b.scalar(dtype, alpha)});
  if (beta == 0) return o.result(made);
  ValueId self = o.read("self");
  if (beta != 1) self = o.b.emit(op::Mul, {self, o.b.scalar(dtype, beta)});
  return o.result(o.b.emit(op::Add, {self, made}));
}
Results outer(Operands& o) {
  const ValueId a = o.read("self"), b = o.read("vec2");
  return o.result(o.b.emit(op::Mul, {o.b.reshape(a, {o.b.dims(a)[0], Dim(1)}), b}));
}
/// Of a mixture of experts: weight [E, K, N], rows up to offs[e] are those of expert e.
Results grouped_product(Operands& o) {
  const bool is_fallback = o.has("input");
  const ValueId x = o.read(is_fallback ? "input" : "self"),
                weight = o.read(is_fallback ? "weight" : "mat2");
  if (!o.given("offs")) o.refuse("offs", "None: no groups of rows are told");
  if (o.b.rank(x) != 2 || o.b.rank(weight) != 3)
    o.refuse("", "matrices of " + graph::text(o.b.dims(x)) + " and " +
                     graph::text(o.b.dims(weight)) + "; expected rows and a matrix an expert");
  return o.result(
      o.b.emit(op::GroupedLinear, {x, o.b.transpose(weight, {0, 2, 1}), o.read("offs")}));
}
Results einsum(Operands& o) {
  const std::vector<ValueId> operands = o.read_all("tensors");
  const ValueId made = o.b.emit(op::Einsum, operands, {{attr::equation, o.text("equation")}});
  if (operands.size() > 1) return o.result(made);
  // a view, where it only turns or takes a diagonal
  const Tensor view = o.b.view_or_copy(o.value("tensors").items->at(0).tensor, made);
  Builder::forget_strides(view);
  return {Value::of(view)};
}

/// Three factors, each without the dimensions that it is expanded along, and a sum over some.
Results trilinear(Operands& o) {
  std::vector<ValueId> operands;
  std::string equation, all;
  for (const char* const n : {"1", "2", "3"}) {
    operands.push_back(o.read((std::string("i") + n).c_str()));
    const std::vector<int64_t> expanded = o.integers((std::string("expand") + n).c_str());
    const int64_t rank = o.b.rank(operands.back()) + int64_t(expanded.size());
    if (rank > 26 || (!all.empty() && rank != int64_t(all.size())))
      o.corrupt("multiplies factors of other ranks");
    all.clear();
    equation += equation.empty() ? "" : ",";
    for (int64_t i = 0; i < rank; i++) {
      all += char('a' + i);
      if (std::find(expanded.begin(), expanded.end(), i) == expanded.end()) equation += all.back();
    }
  }
  for (const int64_t axis : o.axes("sumdim", int64_t(all.size())))
    std::replace(all.begin(), all.end(), char('a' + axis), ' ');
  std::erase(all, ' ');
  return o.result(o.b.emit(op::Einsum, operands, {{attr::equation, equation + "->" + all}}));
}

}  // namespace

void add_products(Table& table) {
  table.add("linear", "Tensor input, Tensor weight, Tensor? bias=None", linear);
  table.add_all("mm bmm", "Tensor self, Tensor mat2", matmul);
  table.add("matmul", "Tensor self, Tensor other", matmul);
  table.add("mv", "Tensor self, Tensor vec", matmul);
  table.add("dot", "Tensor self, Tensor tensor", matmul);
  table.add("addmm", "Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1",
            added_product);
  table.add("addmv", "Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1",
            added_product);
  table.add("baddbmm",
            "Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1",
            added_product);
  table.add("_grouped_mm",
            "Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, int? out_dtype=None",
            grouped_product);
  table.add("transformers::grouped_mm_fallback", "Tensor input, Tensor weight, Tensor offs",
            grouped_product);
  table.add_all("outer ger", "Tensor self, Tensor vec2", outer);
  table.add("_trilinear",
            "Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] "
            "sumdim, int unroll_dim=1",
            trilinear);
  table.add("einsum", "str equation, Tensor[] tensors, *, Any path=None", einsum);
}

}  // namespace ingot::aten
