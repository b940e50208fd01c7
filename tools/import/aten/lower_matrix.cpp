// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_matrix.cpp - small linear algebra of fixed size: elimination with pivots,
// spelled out step by step.
#include "tools/graph/tensor_math.h"
#include "tools/import/aten/arithmetic.h"

namespace ingot::aten {
namespace {

constexpr int64_t kMaxRows = 64;  // a step of elimination is some twelve nodes

int64_t rows_of(Operands& o, const char* name, const Term& x) {
  const Dims dims = x.dims();
  if (dims.size() < 2 || dims.back() != dims[dims.size() - 2])
    o.corrupt("reads " + graph::text(dims) + ", expected square matrices");
  const int64_t n = fixed(o, name, dims.back());
  if (n < 1 || n > kMaxRows)
    o.refuse(name, "has " + std::to_string(n) + " rows, at most " + std::to_string(kMaxRows) +
                       " are supported");
  return n;
}
/// Whether a row, or a column, is number k: [n, 1] or [1, n].
Term is_number(Builder& b, int64_t n, int64_t k, bool row) {
  std::vector<int64_t> hit(size_t(n), 0);
  hit[size_t(k)] = 1;
  const std::vector<int64_t> dims = row ? std::vector<int64_t>{n, 1} : std::vector<int64_t>{1, n};
  return {&b, b.constant(graph::make_integer(DType::kBool, dims, hit))};
}

struct Eliminated {
  Term right;        // the right-hand sides, solved
  Term determinant;  // [..., 1, 1]
  Term sign, log;    // of it
};
/// Gauss-Jordan elimination of [a | right] with the largest pivot of each column.
Eliminated eliminate(const Term& a, const Term& right, int64_t n) {
  Builder& b = *a.b;
  const int64_t rows = a.rank() - 2, columns = a.rank() - 1;
  Term all = concat({a, right}, columns);
  const Dim width = all.dims().back();
  const Term numbers = counting(b, Dim(n)).reshape({Dim(n), Dim(1)});
  Term determinant = a.number(1), sign = a.number(1), log = a.number(0);
  for (int64_t k = 0; k < n; k++) {
    const Term column = all.slice(columns, Dim(k), Dim(k + 1));
    const Term left = absolute(column.slice(rows, Dim(k), Dim(n)));
    const Term at = call(op::ArgMax, left,
                         {{attr::axis, rows},
                          {attr::keepdims, int64_t(1)},
                          {attr::select_last_index, int64_t(0)}}) +
                    double(k);
    const Term chosen = equal(numbers, at), here = is_number(b, n, k, true);
    const Term zero = all.number(0);
    const Term pivots = where(chosen, all, zero).reduce(op::ReduceSum, {rows}, true);
    const Term first = all.slice(rows, Dim(k), Dim(k + 1));
    const Term swapped_rows = where(chosen, first, all);
    const Term pivot = pivots.slice(columns, Dim(k), Dim(k + 1));
    const Term row = pivots / pivot;
    const Term factor = swapped_rows.slice(columns, Dim(k), Dim(k + 1));
    all = where(here, row, swapped_rows - factor * row);
    const Term turned = where(equal(at, double(k)), pivot, -pivot);
    determinant = determinant * turned;
    sign = sign * call(op::Sign, turned);
    log = log + logarithm(absolute(pivot));
  }
  return {all.slice(columns, Dim(n), width), determinant, sign, log};
}
Term identity_like(const Term& a, int64_t n) {
  Builder& b = *a.b;
  std::vector<double> ones(size_t(n * n), 0.0);
  for (int64_t i = 0; i < n; i++) ones[size_t(i * n + i)] = 1;
  const Term eye = {&b, b.constant(graph::make_floating(a.dtype(), {n, n}, ones))};
  return eye.expand(a.dims());
}
Term zero_flag(const Term& a) {
  Dims dims = a.dims();
  dims.resize(dims.size() - 2);
  return Term{a.b, a.b->scalar(DType::kI32, 0)}.expand(dims);
}
const char* name_of_matrix(const Operands& o) { return o.has("A") ? "A" : "self"; }

Results inverse(Operands& o) {
  const char* const name = name_of_matrix(o);
  const Term a = floating_term(o, name);
  const int64_t n = rows_of(o, name, a);
  Results results = result_of(eliminate(a, identity_like(a, n), n).right);
  if (o.op() == "linalg_inv_ex") results.push_back(value_of(zero_flag(a)));
  return results;
}
Results determinants(Operands& o) {
  const char* const name = name_of_matrix(o);
  const Term a = floating_term(o, name);
  const int64_t n = rows_of(o, name, a);
  const Eliminated e = eliminate(a, a.slice(a.rank() - 1, Dim(0), Dim(1)), n);
  Dims dims = a.dims();
  dims.resize(dims.size() - 2);
  const Value lu = Value::unavailable("the factors of a determinant are not made");
  if (o.op() == "logdet") return result_of(where(e.sign < 0, NAN, e.log).reshape(dims));
  if (o.op().find("slogdet") != std::string::npos) {
    Results results = {value_of(e.sign.reshape(dims)), value_of(e.log.reshape(dims))};
    if (o.op() == "_linalg_slogdet") results.insert(results.end(), {lu, lu});
    return results;
  }
  Results results = result_of(e.determinant.reshape(dims));
  if (o.op() == "_linalg_det") results.insert(results.end(), {lu, lu});
  return results;
}
/// A x = b, one vector or several as columns.
Term solved(Operands& o, const char* name, const Term& a, const Term& right) {
  const int64_t n = rows_of(o, name, a);
  Dims batch = a.dims();
  batch.resize(batch.size() - 2);
  const Dims given = right.dims();
  Dims vector = batch;
  vector.push_back(Dim(n));
  const bool one = given.size() == 1 || (a.rank() > 2 && given == vector);
  Term columns = right;
  if (one) {
    Dims wide = given;
    wide.push_back(Dim(1));
    columns = right.reshape(wide);
  }
  // Both with the same batch.
  const Term a_row = a.slice(a.rank() - 1, Dim(0), Dim(1)),
             b_row = columns.slice(columns.rank() - 1, Dim(0), Dim(1));
  Dims common = (a_row + b_row).dims();
  common.back() = Dim(n);
  const Term left = a.expand(common);
  common.back() = columns.dims().back();
  const Term made = eliminate(left, columns.expand(common), n).right;
  if (!one) return made;
  Dims out = made.dims();
  out.pop_back();
  return made.reshape(out);
}
Results solve(Operands& o) {
  const Term a = floating_term(o, "A"), right = floating_term(o, "B");
  if (!o.flag("left")) {
    const auto turned = [](const Term& t) { return swapped(t, t.rank() - 1, t.rank() - 2); };
    return result_of(turned(solved(o, "A", turned(a), turned(right))));
  }
  Results results = result_of(solved(o, "A", a, right));
  const Value none = Value::unavailable("the factors of a solution are not made");
  if (o.op() == "linalg_solve_ex") results.push_back(value_of(zero_flag(a)));
  if (o.op() == "_linalg_solve_ex")
    results.insert(results.end(), {none, none, value_of(zero_flag(a))});
  return results;
}
/// One triangle of a; with ones on the diagonal where that is asked for.
Term triangle_of(const Term& a, bool upper, bool ones, int64_t n) {
  Builder& b = *a.b;
  const Term row = counting(b, Dim(n)).reshape({Dim(n), Dim(1)}),
             column = counting(b, Dim(n)).reshape({Dim(1), Dim(n)});
  Term made = where(upper ? row <= column : row >= column, a, 0);
  if (ones) made = where(equal(row, column), 1, made);
  return made;
}
Results solve_triangle(Operands& o) {
  const bool old = o.op() == "triangular_solve", cholesky = o.op() == "cholesky_solve";
  const char* const name = old ? "A" : cholesky ? "input2" : "self";
  const Term a = floating_term(o, name), right = floating_term(o, old || cholesky ? "self" : "B");
  const int64_t n = rows_of(o, name, a);
  const auto turned = [](const Term& t) { return swapped(t, t.rank() - 1, t.rank() - 2); };
  const bool upper = o.flag("upper");
  Term t = triangle_of(a, upper, o.has("unitriangular") && o.flag("unitriangular"), n);
  if (cholesky)
    return result_of(solved(o, name, upper ? product(turned(t), t) : product(t, turned(t)), right));
  if (old && o.flag("transpose")) t = turned(t);
  if (o.has("left") && !o.flag("left"))
    return result_of(turned(solved(o, name, turned(t), turned(right))));
  Results results = result_of(solved(o, name, t, right));
  if (old) results.push_back(o.value("A"));
  return results;
}
/// Column by column: l = (a - what the columns before it make) / its root.
Results cholesky(Operands& o) {
  Builder& b = o.b;
  Term a = floating_term(o, "self");
  const int64_t n = rows_of(o, "self", a), rows = a.rank() - 2, columns = a.rank() - 1;
  const bool upper = o.flag("upper");
  if (upper) a = swapped(a, rows, columns);
  std::vector<Term> made;
  const Term numbers = counting(b, Dim(n)).reshape({Dim(n), Dim(1)});
  for (int64_t k = 0; k < n; k++) {
    const Term column = a.slice(columns, Dim(k), Dim(k + 1));
    const Term root = square_root(column.slice(rows, Dim(k), Dim(k + 1)));
    const Term l = where(numbers < double(k), 0, column / root);
    made.push_back(l);
    if (k + 1 < n) a = a - l * swapped(l, rows, columns);
  }
  const Term l = concat(made, columns);
  Results results = result_of(upper ? swapped(l, rows, columns) : l);
  if (o.op() == "linalg_cholesky_ex") results.push_back(value_of(zero_flag(a)));
  return results;
}
Results matrix_power(Operands& o) {
  Term x = floating_term(o, "self");
  const int64_t n = rows_of(o, "self", x);
  int64_t power = o.integer("n");
  if (power < -1024 || power > 1024) o.refuse("n", "is " + std::to_string(power));
  if (power < 0) x = eliminate(x, identity_like(x, n), n).right;
  power = std::abs(power);
  if (power == 0) return result_of(identity_like(x, n));
  Term made = x;
  bool first = true;
  for (; power > 0; power /= 2) {
    if (power % 2 == 1) made = first ? x : product(made, x);
    if (power % 2 == 1) first = false;
    if (power > 1) x = product(x, x);
  }
  return result_of(made);
}

}  // namespace

void add_matrices(Table& table) {
  table.add("inverse", "Tensor self", inverse);
  table.add("linalg_inv", "Tensor A", inverse);
  table.add("linalg_inv_ex", "Tensor A, *, bool check_errors=False", inverse);
  table.add_all("det logdet slogdet", "Tensor self", determinants);
  table.add_all("linalg_det _linalg_det linalg_slogdet _linalg_slogdet", "Tensor A", determinants);
  table.add("linalg_solve", "Tensor A, Tensor B, *, bool left=True", solve);
  table.add_all("linalg_solve_ex _linalg_solve_ex",
                "Tensor A, Tensor B, *, bool left=True, bool check_errors=False", solve);
  table.add("linalg_solve_triangular",
            "Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False",
            solve_triangle);
  table.add("triangular_solve",
            "Tensor self, Tensor A, bool upper=True, bool transpose=False, bool "
            "unitriangular=False",
            solve_triangle);
  table.add("cholesky_solve", "Tensor self, Tensor input2, bool upper=False", solve_triangle);
  table.add("cholesky", "Tensor self, bool upper=False", cholesky);
  table.add("linalg_cholesky", "Tensor self, *, bool upper=False", cholesky);
  table.add("linalg_cholesky_ex", "Tensor self, *, bool upper=False, bool check_errors=False",
            cholesky);
  table.add_all("matrix_power linalg_matrix_power", "Tensor self, int n", matrix_power);
}

}  // namespace ingot::aten
