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
    const ValueId made = o.b.emit("MatMul", {x, weight});
    return o.result(o.given("bias") ? o.b.emit("Add", {made, o.read("bias")}) : made);
  }
  if (o.b.rank(weight) != 2) o.corrupt("its weight has shape " + graph::text(o.b.dims(weight)));
  if (o.b.rank(x) == 2) {
    std::vector<ValueId> inputs = {x, weight};
    if (o.given("bias")) inputs.push_back(o.read("bias"));
    return o.result(
        o.b.emit("Gemm", inputs,
                 {{"transB", int64_t(1)}, {"transA", int64_t(0)}, {"alpha", 1.0}, {"beta", 1.0}}));
  }
  const ValueId made = o.b.emit("MatMul", {x, transposed(o.b, weight)});
  return o.result(o.given("bias") ? o.b.emit("Add", {made, o.read("bias")}) : made);
}
Results matmul(Operands& o) {
  const char* const second = o.has("mat2")     ? "mat2"
                             : o.has("vec")    ? "vec"
                             : o.has("tensor") ? "tensor"
                                               : "other";
  return o.result(o.b.emit("MatMul", {o.read("self"), o.read(second)}));
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
    return o.result(o.b.emit(
        "Gemm", {a, b, o.read("self")},
        {{"transB", int64_t(0)}, {"transA", int64_t(0)}, {"alpha", alpha}, {"beta", beta}}));
  const DType dtype = o.b.dtype(a);
  ValueId made = o.b.emit("MatMul", {a, b});
  if (alpha != 1) made = o.b.emit("Mul", {made, o.b.scalar(dtype, alpha)});
  if (beta == 0) return o.result(made);
  ValueId self = o.read("self");
  if (beta != 1) self = o.b.emit("Mul", {self, o.b.scalar(dtype, beta)});
  return o.result(o.b.emit("Add", {self, made}));
}
Results outer(Operands& o) {
  const ValueId a = o.read("self"), b = o.read("vec2");
  return o.result(o.b.emit("Mul", {o.b.reshape(a, {o.b.dims(a)[0], Dim(1)}), b}));
}
/// The dimensions of "..." under letters of their own. Operands that have fewer of them have the
/// last ones.
std::string spelled_out(Operands& o, std::string equation, const std::vector<ValueId>& operands) {
  if (equation.find("...") == std::string::npos) return equation;
  std::string unused;
  for (const char c : std::string("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    if (equation.find(c) == std::string::npos) unused += c;
  const size_t arrow = std::min(equation.find("->"), equation.size());
  std::vector<std::string> terms;
  for (size_t at = 0; at <= arrow;) {
    const size_t end = std::min(equation.find(',', at), arrow);
    terms.push_back(equation.substr(at, end - at));
    at = end + 1;
  }
  if (terms.size() != operands.size())
    o.corrupt("'" + equation + "' is for " + std::to_string(terms.size()) + " operands");
  std::vector<size_t> counts(terms.size(), 0);
  size_t most = 0;
  for (size_t i = 0; i < terms.size(); i++) {
    if (terms[i].find("...") == std::string::npos) continue;
    const size_t named = terms[i].size() - 3, rank = size_t(o.b.rank(operands[i]));
    if (named > rank || rank - named > unused.size())
      o.corrupt("'" + equation + "' does not fit rank " + std::to_string(rank));
    counts[i] = rank - named;
    most = std::max(most, counts[i]);
  }
  const std::string letters = unused.substr(0, most);
  Dims shared(most, Dim(1));
  std::string out, once;
  for (size_t i = 0; i < terms.size(); i++) {
    const size_t dots = terms[i].find("...");
    if (dots != std::string::npos) {
      const Dims dims = o.b.dims(operands[i]);
      for (size_t k = 0; k < counts[i]; k++) {
        Dim& whole = shared[most - counts[i] + k];
        const Dim& mine = dims[dots + k];
        if (whole == Dim(1)) whole = mine;
        if (whole != mine)
          o.refuse("equation", "broadcasts dimensions of '...', which is not supported");
      }
      terms[i].replace(dots, 3, letters.substr(most - counts[i]));
    }
    out += (i > 0 ? "," : "") + terms[i];
  }
  if (arrow < equation.size()) {
    std::string result = equation.substr(arrow + 2);
    const size_t dots = result.find("...");
    if (dots == std::string::npos && most > 0)
      o.refuse("equation", "sums over '...', which is not supported");
    if (dots != std::string::npos) result.replace(dots, 3, letters);
    return out + "->" + result;
  }
  for (const char c : std::string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))
    if (std::count(equation.begin(), equation.end(), c) == 1) once += c;
  return out + "->" + letters + once;
}
/// Products of more than two operands go from left to right over labels that are still needed.
Results einsum(Operands& o) {
  std::vector<ValueId> operands = o.read_all("tensors");
  std::string equation;
  for (const char c : o.text("equation"))
    if (c != ' ') equation += c;
  equation = spelled_out(o, equation, operands);
  const size_t arrow = equation.find("->");
  if (operands.size() == 1) {  // a view, where it only turns or takes a diagonal
    const Tensor made = o.b.view_or_copy(o.value("tensors").items->at(0).tensor,
                                         o.b.emit("Einsum", operands, {{"equation", equation}}));
    Builder::forget_strides(made);
    return {Value::of(made)};
  }
  if (operands.size() <= 2 || arrow == std::string::npos)
    return o.result(o.b.emit("Einsum", operands, {{"equation", equation}}));
  std::vector<std::string> terms;
  for (size_t at = 0; at <= arrow;) {
    const size_t end = std::min(equation.find(',', at), arrow);
    terms.push_back(equation.substr(at, end - at));
    at = end + 1;
  }
  if (terms.size() != operands.size())
    o.corrupt("'" + equation + "' is for " + std::to_string(terms.size()) + " operands");
  const std::string out = equation.substr(arrow + 2);
  while (terms.size() > 2) {
    std::string later = out, kept;
    for (size_t i = 2; i < terms.size(); i++) later += terms[i];
    for (const char c : terms[0] + terms[1])
      if (later.find(c) != std::string::npos && kept.find(c) == std::string::npos) kept += c;
    const ValueId made = o.b.emit("Einsum", {operands[0], operands[1]},
                                  {{"equation", terms[0] + "," + terms[1] + "->" + kept}});
    operands.erase(operands.begin());
    terms.erase(terms.begin());
    operands[0] = made;
    terms[0] = kept;
  }
  return o.result(
      o.b.emit("Einsum", operands, {{"equation", terms[0] + "," + terms[1] + "->" + out}}));
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
  table.add_all("outer ger", "Tensor self, Tensor vec2", outer);
  table.add("einsum", "str equation, Tensor[] tensors, *, Any path=None", einsum);
}

}  // namespace ingot::aten
