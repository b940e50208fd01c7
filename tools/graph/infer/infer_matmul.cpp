// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_matmul.cpp - MatMul, Gemm, and Einsum as transposes around a MatMul.
#include <algorithm>
#include <set>

#include "tools/graph/infer/inference.h"
#include "tools/graph/infer/run_numbers.h"

namespace ingot::graph {
namespace {

void expect_inner(NodeContext& context, const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static() && a != b) {
    context.corrupt("its operands " + text(context.dims(0)) + " and " + text(context.dims(1)) +
                    " disagree: " + a.text() + " columns, " + b.text() + " rows");
  }
  context.force_equal(a, b);
}
void expect_types(NodeContext& context) {
  if (context.dtype(0) != context.dtype(1)) {
    context.corrupt(std::string("its inputs are ") + dtype_text(context.dtype(0)) + " and " +
                    dtype_text(context.dtype(1)) + ", expected one type");
  }
}

constexpr int64_t kMaxAtOnce = int64_t(1) << 20;  // terms that are laid out beside each other

bool has_kernel(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

/// A product of matrices in a type that no kernel multiplies (f64, whole numbers): its terms and
/// their sum, or, where they are many, a sum over the inner dimension step by step.
ValueId spelled_product(NodeContext& context, ValueId a, ValueId b) {
  const Dims x = context.run().value(a).dims, y = context.run().value(b).dims;
  const DType dtype = context.run().value(a).dtype;
  Dims wide_x = x, wide_y = y;
  wide_x.push_back(Dim(1));
  wide_y.insert(wide_y.end() - 2, Dim(1));
  Dims batch = broadcast(context, Dims(x.begin(), x.end() - 2), Dims(y.begin(), y.end() - 2));
  Dims out = batch;
  out.push_back(x[x.size() - 2]);
  out.push_back(y.back());
  const auto terms = product(out).value();
  const auto inner = x.back().value();
  if (terms && inner && (*inner == 0 || *terms <= kMaxAtOnce / *inner)) {
    const ValueId all =
        context.make(op::Mul, {context.reshape(a, wide_x), context.reshape(b, wide_y)});
    const int64_t axis = int64_t(context.run().value(all).dims.size()) - 2;
    return context.make(op::ReduceSum, {all},
                        {{attr::axes, std::vector<int64_t>{axis}}, {attr::keepdims, int64_t(0)}});
  }
  auto body = std::make_shared<Graph>();
  Model& model = context.model();
  const auto added = [&](const std::string& name) {
    return model.add_value(context.node.name + "/" + name + std::to_string(model.values.size()));
  };
  const auto node = [&](Operator op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    Node made;
    made.op = op, made.name = context.node.name;
    made.inputs = std::move(inputs), made.attributes = std::move(attributes);
    made.outputs = {added(text(op))};
    body->nodes.push_back(std::move(made));
    return body->nodes.back().outputs[0];
  };
  const ValueId sum = added("sum"), column = added("column"), row = added("row");
  body->inputs = {sum, column, row};
  const auto with_axis = [&](ValueId id, int64_t axis) {
    return node(op::Unsqueeze, {id}, {{attr::axes, std::vector<int64_t>{axis}}});
  };
  body->outputs = {
      node(op::Add, {sum, node(op::Mul, {with_axis(column, -1), with_axis(row, -2)})})};
  const int64_t last = int64_t(x.size()) - 1, before = int64_t(y.size()) - 2;
  return context.make(op::Scan, {context.expand(context.scalar(dtype, 0), out), a, b},
                      {{attr::body, body},
                       {attr::num_scan_inputs, int64_t(2)},
                       {attr::scan_input_axes, std::vector<int64_t>{last, before}}});
}

void mat_mul(NodeContext& context) {
  expect_types(context);
  Dims a = context.dims(0), b = context.dims(1);
  if (a.empty() || b.empty()) context.corrupt("an operand is a scalar");
  if (a.size() == 1 || b.size() == 1) {  // vectors become matrices, and their dimension goes again
    const bool left = a.size() == 1, right = b.size() == 1;
    const Dims wide_a = left ? Dims{1, a[0]} : a, wide_b = right ? Dims{b[0], 1} : b;
    const ValueId product = context.make(op::MatMul, {context.reshape(context.in(0), wide_a),
                                                      context.reshape(context.in(1), wide_b)});
    Dims out = context.run().value(product).dims;
    if (right) out.pop_back();
    if (left) out.erase(out.end() - (right ? 1 : 2));
    return context.finish_shaped(op::Reshape, product, out);
  }
  fit_equal(context, 0, a.size() - 1, 1, b.size() - 2);
  fit_operands(context, 2);
  a = context.dims(0), b = context.dims(1);
  expect_inner(context, a.back(), b[b.size() - 2]);
  if (!has_kernel(context.dtype(0)))
    return context.same(0, spelled_product(context, context.in(0), context.in(1)));
  Dims out = broadcast(context, Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2));
  out.push_back(a[a.size() - 2]);
  out.push_back(b.back());
  context.set(0, context.dtype(0), std::move(out));
}

void gemm(NodeContext& context) {
  expect_types(context);
  if (context.rank(0) != 2 || context.rank(1) != 2)
    context.corrupt("its operands are " + text(context.dims(0)) + " and " + text(context.dims(1)) +
                    ", expected matrices");
  const bool ta = context.node.integer(attr::transA, 0) != 0,
             tb = context.node.integer(attr::transB, 0) != 0;
  fit_equal(context, 0, ta ? 0 : 1, 1, tb ? 1 : 0);
  expect_inner(context, context.dims(0)[ta ? 0 : 1], context.dims(1)[tb ? 1 : 0]);
  const size_t row = ta ? 1 : 0, column = tb ? 0 : 1,
               rank = context.has(2) ? context.dims(2).size() : 0;
  if (rank > 0 && rank < 3 && context.dims(2)[rank - 1] != Dim(1))
    fit_equal(context, 1, column, 2, rank - 1);
  if (rank == 2 && context.dims(2)[0] != Dim(1)) fit_equal(context, 0, row, 2, 0);
  const Dims out = {context.dims(0)[row], context.dims(1)[column]};
  if (context.has(2) && broadcast(context, out, context.dims(2)) != out)
    context.corrupt("its C " + text(context.dims(2)) + " does not broadcast to " + text(out));
  if (!has_kernel(context.dtype(0))) {
    const auto scaled = [&](ValueId x, AttributeName key) {
      const double by = context.node.number(key, 1);
      return by == 1 ? x : context.make(op::Mul, {x, context.scalar(context.dtype(0), by)});
    };
    const auto turned = [&](ValueId x, bool is_turned) {
      return is_turned
                 ? context.make(op::Transpose, {x}, {{attr::perm, std::vector<int64_t>{1, 0}}})
                 : x;
    };
    ValueId y = spelled_product(context, turned(context.in(0), ta), turned(context.in(1), tb));
    y = scaled(y, attr::alpha);
    if (context.has(2)) y = context.make(op::Add, {y, scaled(context.in(2), attr::beta)});
    return context.same(0, y);
  }
  context.set(0, context.dtype(0), out);
}

struct Labels {
  std::string text;
  ValueId value;
};

bool contains(const std::string& s, char c) { return s.find(c) != std::string::npos; }

/// Sums over labels that nobody else needs.
Labels reduced(NodeContext& context, Labels operand, const std::string& keep) {
  std::vector<int64_t> axes;
  std::string rest;
  for (size_t i = 0; i < operand.text.size(); i++) {
    if (contains(keep, operand.text[i]))
      rest += operand.text[i];
    else
      axes.push_back(int64_t(i));
  }
  if (axes.empty()) return operand;
  return {rest, context.make(op::ReduceSum, {operand.value},
                             {{attr::axes, axes}, {attr::keepdims, int64_t(0)}})};
}
ValueId ordered(NodeContext& context, const Labels& operand, const std::string& order) {
  std::vector<int64_t> perm;
  for (const char c : order) perm.push_back(int64_t(operand.text.find(c)));
  return context.make(op::Transpose, {operand.value}, {{attr::perm, perm}});
}

/// x with `to` elements along an axis, which only the same number or 1 goes with.
ValueId fitted(NodeContext& context, ValueId x, size_t axis, const Dim& to) {
  context.force_equal(context.run().value(x).dims[axis], to);
  return fit_axis(context, x, axis, to);
}

/// Of labels that stand twice, the elements where both places agree.
Labels diagonal(NodeContext& context, Labels operand) {
  for (size_t i = 0; i < operand.text.size(); i++) {
    const size_t twin = operand.text.find(operand.text[i], i + 1);
    if (twin == std::string::npos) continue;
    Value x = context.run().value(operand.value);
    if (x.dims[i].is_static() && x.dims[twin].is_static() && x.dims[i] != x.dims[twin])
      context.corrupt(std::string("label '") + operand.text[i] + "' has extents " +
                      x.dims[i].text() + " and " + x.dims[twin].text());
    operand.value = fitted(context, operand.value, twin, x.dims[i]);
    x = context.run().value(operand.value);
    const auto places = [&](size_t axis) {
      Dims dims(x.dims.size(), Dim(1));
      dims[axis] = x.dims[axis];
      return context.reshape(context.counting(x.dims[axis]), dims);
    };
    const ValueId agrees = context.make(op::Equal, {places(i), places(twin)});
    const ValueId kept =
        context.make(op::Where, {agrees, operand.value, context.scalar(x.dtype, 0)});
    operand.value = context.make(
        op::ReduceSum, {kept},
        {{attr::axes, std::vector<int64_t>{int64_t(twin)}}, {attr::keepdims, int64_t(0)}});
    operand.text.erase(twin, 1);
    i--;
  }
  return operand;
}

/// Letters for the dimensions that "..." stands for, the same in every term, from the last on.
void spell_ellipsis(NodeContext& context, std::vector<std::string>& terms, bool has_arrow) {
  std::string used;
  for (const std::string& term : terms) used += term;
  std::string letters;
  for (char c = 'Z'; c >= 'A'; c--)
    if (!contains(used, c)) letters += c;
  size_t most = 0;
  const size_t operands = terms.size() - 1;
  for (size_t i = 0; i <= operands; i++) {
    std::string& term = terms[i];
    const size_t at = term.find("...");
    const bool is_out = i == operands;
    if (at == std::string::npos) {
      // what the operands' dots stand for comes first where nothing says what comes out
      if (is_out && !has_arrow) term = letters.substr(letters.size() - most) + term;
      continue;
    }
    const int64_t rank = is_out ? int64_t(most) : context.rank(i) - int64_t(term.size()) + 3;
    if (rank < 0 || size_t(rank) > letters.size())
      context.corrupt("its operand " + std::to_string(i) + " has fewer dimensions than '" + term +
                      "' says");
    if (!is_out) most = std::max(most, size_t(rank));
    term.replace(at, 3, letters.substr(letters.size() - size_t(rank)));
  }
}

struct Equation {
  std::vector<std::string> terms;
  std::string out;
  std::string named;  // letters of the source: not those that stand for "..."
};
Equation parse(NodeContext& context) {
  std::string source = context.node.text(attr::equation, "");
  source.erase(std::remove(source.begin(), source.end(), ' '), source.end());
  const size_t arrow = source.find("->");
  Equation equation;
  std::string left = source.substr(0, arrow);
  for (size_t at = 0; at <= left.size();) {
    const size_t end = std::min(left.find(',', at), left.size());
    equation.terms.push_back(left.substr(at, end - at));
    at = end + 1;
  }
  if (arrow != std::string::npos) {
    equation.out = source.substr(arrow + 2);
  } else {
    for (char c = 'A'; c <= 'z'; c++) {
      if (std::count(left.begin(), left.end(), c) == 1) equation.out += c;
    }
  }
  if (equation.terms.size() != context.node.inputs.size())
    context.corrupt("its equation has " + std::to_string(equation.terms.size()) + " operands");
  equation.named = source;
  std::vector<std::string> all = equation.terms;
  all.push_back(equation.out);
  if (contains(source, '.')) spell_ellipsis(context, all, arrow != std::string::npos);
  for (const std::string& term : all) {
    std::set<char> seen;
    for (const char c : term) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (!letter || (!seen.insert(c).second && &term == &all.back()))
        context.refuse("equation", "'" + source + "': expected letters, of what comes out once");
    }
  }
  equation.out = all.back();
  all.pop_back();
  equation.terms = std::move(all);
  for (size_t i = 0; i < equation.terms.size(); i++) {
    if (int64_t(equation.terms[i].size()) != context.rank(i))
      context.corrupt("its operand " + std::to_string(i) + " has rank " +
                      std::to_string(context.rank(i)) + ", its equation says '" +
                      equation.terms[i] + "'");
  }
  return equation;
}

/// The extent of each label. One of 1 goes with any other, as in broadcasting.
std::map<char, Dim> extents_of(NodeContext& context, const Equation& equation,
                               const std::vector<Labels>& operands) {
  std::map<char, Dim> extents;
  for (const Labels& x : operands)
    for (size_t i = 0; i < x.text.size(); i++) {
      const Dim& d = context.run().value(x.value).dims[i];
      Dim& extent = extents.emplace(x.text[i], d).first->second;
      if (extent == d || d == Dim(1)) continue;
      if (extent.is_static() && d.is_static() && extent != Dim(1)) {
        const bool named = contains(equation.named, x.text[i]);
        context.refuse("equation", (named ? std::string("label '") + x.text[i] + "'"
                                          : std::string("a dimension of '...'")) +
                                       " has extents " + d.text() + " and " + extent.text());
      }
      if (d.is_static() || extent == Dim(1)) extent = d;
    }
  return extents;
}
/// Without the labels of extent 1 that others give an extent.
Labels narrowed(NodeContext& context, const Labels& operand, const std::map<char, Dim>& extents) {
  Labels rest = {"", operand.value};
  Dims dims;
  for (size_t i = 0; i < operand.text.size(); i++) {
    const Dim& d = context.run().value(operand.value).dims[i];
    if (d == Dim(1) && extents.at(operand.text[i]) != d) continue;
    rest.text += operand.text[i];
    dims.push_back(d);
  }
  if (rest.text.size() != operand.text.size()) rest.value = context.reshape(operand.value, dims);
  return rest;
}

/// The product of two operands, summed over the labels that are not in `keep`.
Labels product_of(NodeContext& context, const Labels& left, const Labels& right,
                  const std::string& keep) {
  Labels a = reduced(context, left, right.text + keep),
         b = reduced(context, right, left.text + keep);
  std::string batch, rows, columns, inner;
  for (const char c : a.text)
    (contains(b.text, c) ? (contains(keep, c) ? batch : inner) : rows) += c;
  for (const char c : b.text) {
    if (!contains(a.text, c)) columns += c;
  }
  const auto dims_of = [&](const Labels& operand, const std::string& labels) {
    Dims dims;
    for (const char c : labels)
      dims.push_back(context.run().value(operand.value).dims[operand.text.find(c)]);
    return dims;
  };
  for (size_t i = 0; i < inner.size(); i++)
    b.value = fitted(context, b.value, b.text.find(inner[i]), dims_of(a, inner)[i]);
  // A matrix for each place of the batch, of which MatMul broadcasts the extents.
  const auto matrices = [&](const Labels& operand, const std::string& m, const std::string& n) {
    Dims dims = dims_of(operand, batch);
    dims.push_back(product(dims_of(operand, m)));
    dims.push_back(product(dims_of(operand, n)));
    return context.reshape(ordered(context, operand, batch + m + n), dims);
  };
  const ValueId made =
      context.make(op::MatMul, {matrices(a, rows, inner), matrices(b, inner, columns)});
  Dims dims = context.run().value(made).dims;
  dims.resize(batch.size());
  for (const Dim& d : dims_of(a, rows)) dims.push_back(d);
  for (const Dim& d : dims_of(b, columns)) dims.push_back(d);
  return {batch + rows + columns, context.reshape(made, dims)};
}

/// Operands from left to right, over the labels that are still needed.
void einsum(NodeContext& context) {
  const Equation equation = parse(context);
  const std::string& out = equation.out;
  for (size_t i = 1; i < equation.terms.size(); i++)
    if (context.dtype(i) != context.dtype(0))
      context.corrupt(std::string("its inputs are ") + dtype_text(context.dtype(0)) + " and " +
                      dtype_text(context.dtype(i)) + ", expected one type");
  std::vector<Labels> operands;
  for (size_t i = 0; i < equation.terms.size(); i++)
    operands.push_back(diagonal(context, {equation.terms[i], context.in(i)}));
  const std::map<char, Dim> extents = extents_of(context, equation, operands);
  for (const char c : out)
    if (!extents.count(c)) context.corrupt("its equation makes labels that no operand has");
  for (Labels& operand : operands) operand = narrowed(context, operand, extents);
  Labels made = operands[0];
  for (size_t i = 1; i < operands.size(); i++) {
    std::string keep = out;
    for (size_t later = i + 1; later < operands.size(); later++) keep += operands[later].text;
    made = product_of(context, made, operands[i], keep);
  }
  context.same(0, ordered(context, reduced(context, made, out), out));
}

}  // namespace

void add_matmul_rules(InferTable& table) {
  table[op::MatMul] = mat_mul;
  table[op::Gemm] = gemm;
  table[op::Einsum] = einsum;
}

}  // namespace ingot::graph
