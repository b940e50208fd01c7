// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_arrange.cpp - diagonals, turned and joined tensors, and what counts or
// sums with conditions: short forms that PyTorch has for a few of its other operators.
#include <algorithm>

#include "tools/graph/tensor_math.h"
#include "tools/import/aten/arithmetic.h"
#include "tools/import/aten/quantized_tensor.h"

namespace ingot::aten {
namespace {

Term padded_row(const Term& x, int64_t before, int64_t after) {
  Dims pads(size_t(x.rank()) * 2, Dim(0));
  pads[size_t(x.rank()) - 1] = Dim(before);
  pads.back() = Dim(after);
  if (before == 0 && after == 0) return x;
  return call(op::Pad, x,
              {{attr::pads, pads}, {attr::mode, std::string("constant")}, {attr::value, 0.0}});
}
/// Whether column - row is `offset`: [rows, columns].
Term on_diagonal(Builder& b, const Dim& rows, const Dim& columns, int64_t offset) {
  const Term row = counting(b, rows).reshape({rows, Dim(1)}),
             column = counting(b, columns).reshape({Dim(1), columns});
  return equal(column - row, double(offset));
}
constexpr int64_t kMaxOffset = 1 << 24;
/// x [..., n] on a diagonal of matrices [..., n + |offset|, n + |offset|].
Term on_matrices(Operands& o, const Term& x, int64_t offset) {
  if (offset < -kMaxOffset || offset > kMaxOffset)
    o.corrupt("has a diagonal " + std::to_string(offset) + " beside the middle");
  const int64_t n = fixed(o, "self", x.dims().back()), size = n + std::abs(offset);
  const Term rows = padded_row(x, offset < 0 ? -offset : 0, offset < 0 ? 0 : offset);
  Dims column = rows.dims();
  column.push_back(Dim(1));
  return where(on_diagonal(o.b, Dim(size), Dim(size), offset), rows.reshape(column), x.number(0));
}
Results diagonal_embedded(Operands& o) {
  const Term x = term(o, "self");
  const Term made = on_matrices(o, x, o.integer("offset"));
  const int64_t rank = made.rank(), row = o.axis("dim1", rank), column = o.axis("dim2", rank);
  if (row == column) o.corrupt("has one dimension for rows and columns");
  std::vector<int64_t> perm(size_t(rank), -1);
  perm[size_t(row)] = rank - 2;
  perm[size_t(column)] = rank - 1;
  int64_t next = 0;
  for (int64_t& at : perm)
    if (at < 0) at = next++;
  return o.result(o.b.transpose(made.id, perm));
}
Results diag(Operands& o) {
  const Term x = term(o, "self");
  const char* const name = o.has("diagonal") ? "diagonal" : "offset";
  if (o.op() == "diagflat" || x.rank() == 1)
    return result_of(on_matrices(o, x.reshape({graph::product(x.dims())}), o.integer(name)));
  if (x.rank() != 2) o.corrupt("reads " + graph::text(x.dims()));
  const Results made = lower_as(o.b, "diagonal", {o.value("self"), o.value(name)});
  return o.result(o.b.read(made.at(0).tensor));
}
Results trace(Operands& o) {
  const Results line = lower_as(o.b, "diagonal", {o.value("self")});
  return lower_as(o.b, "sum", {line.at(0)});
}
Results fill_diagonal(Operands& o) {
  const Term x = term(o, "self");
  if (x.rank() != 2) o.refuse("self", "of other than two dimensions is not supported");
  if (o.flag("wrap")) o.refuse("wrap", "True is not supported");
  const Term value = {&o.b, as_type(o.b, o.value("fill_value"), x.dtype())};
  return result_of(where(on_diagonal(o.b, x.dims()[0], x.dims()[1], 0), value, x));
}
Results diagonal_scatter(Operands& o) {
  const Term x = term(o, "self");
  const Value copy = Value::of(o.b.own(x.id));
  const Results line =
      lower_as(o.b, "diagonal", {copy, o.value("offset"), o.value("dim1"), o.value("dim2")});
  const Dims shape = o.b.dims(o.b.read(line.at(0).tensor));
  o.b.write(line[0].tensor, o.b.expand(o.b.cast(o.read("src"), x.dtype()), shape));
  return {copy};
}

Results turned(Operands& o) {
  const Term x = term(o, "self");
  const std::vector<int64_t> axes = o.axes("dims", x.rank());
  if (axes.size() != 2) o.corrupt("turns " + std::to_string(axes.size()) + " dimensions");
  const int64_t turns = ((o.integer("k") % 4) + 4) % 4;
  Value made = o.value("self");
  const auto flipped = [&](std::vector<int64_t> over) {
    std::vector<Value> items;
    for (const int64_t axis : over) items.push_back(Value::of(Dim(axis)));
    made = lower_as(o.b, "flip", {made, Value::list(std::move(items))}).at(0);
  };
  if (turns == 2) flipped({axes[0], axes[1]});
  if (turns == 1) flipped({axes[1]});
  if (turns == 3) flipped({axes[0]});
  const Term t = {&o.b, o.b.read(made.tensor)};
  return result_of(turns % 2 == 1 ? swapped(t, axes[0], axes[1]) : t);
}
Results flipped_one(Operands& o) {
  const Value axis = Value::of(Dim(o.op() == "fliplr" ? 1 : 0));
  return lower_as(o.b, "flip", {o.value("self"), Value::list({axis})});
}
/// hsplit, vsplit and dsplit: tensor_split along one dimension.
Results split_along(Operands& o) {
  const int64_t rank = o.b.rank(o.read("self"));
  const int64_t axis = o.op() == "vsplit" ? 0 : o.op() == "dsplit" ? 2 : rank == 1 ? 0 : 1;
  const char* const by = o.has("sections") ? "sections" : "indices";
  return lower_as(o.b, "tensor_split", {o.value("self"), o.value(by), Value::of(Dim(axis))});
}
/// With so many dimensions at least.
Results at_least(Operands& o) {
  const size_t rank = o.op() == "atleast_1d" ? 1 : o.op() == "atleast_2d" ? 2 : 3;
  const auto wide = [&](const Value& value) {
    const ValueId id = o.b.read(value.tensor);
    Dims dims = o.b.dims(id);
    if (dims.size() >= rank) return value;
    if (dims.size() < rank && dims.size() < 2) dims.insert(dims.begin(), Dim(1));
    if (dims.size() < std::min<size_t>(rank, 2)) dims.insert(dims.begin(), Dim(1));
    if (dims.size() < rank) dims.push_back(Dim(1));
    return Value::of(o.b.own(o.b.reshape(id, dims)));
  };
  if (o.has("self")) return {wide(o.value("self"))};
  std::vector<Value> out;
  for (const Value& item : *o.value("tensors").items) out.push_back(wide(item));
  return {Value::list(std::move(out))};
}
Results block_diagonal(Operands& o) {
  std::vector<Term> rows;
  std::vector<Term> blocks;
  Dim width(0);
  for (const ValueId id : o.read_all("tensors")) {
    Dims dims = o.b.dims(id);
    while (dims.size() < 2) dims.insert(dims.begin(), Dim(1));
    blocks.push_back(Term{&o.b, id}.reshape(dims));
    width = width + dims[1];
  }
  if (blocks.empty()) o.corrupt("joins nothing");
  Dim before(0);
  for (const Term& block : blocks) {
    const Dim own = block.dims()[1];
    rows.push_back(call(op::Pad, block,
                        {{attr::pads, Dims{Dim(0), before, Dim(0), width - before - own}},
                         {attr::mode, std::string("constant")},
                         {attr::value, 0.0}}));
    before = before + own;
  }
  return result_of(concat(rows, 0));
}
Results all_pairs(Operands& o) {
  const std::vector<ValueId> parts = o.read_all("tensors");
  if (parts.empty()) o.corrupt("joins nothing");
  Dims grid;
  for (const ValueId id : parts) grid.push_back(graph::product(o.b.dims(id)));
  if (parts.size() == 1) return o.result(parts[0]);
  std::vector<Term> columns;
  for (size_t i = 0; i < parts.size(); i++) {
    Dims at(grid.size(), Dim(1));
    at[i] = grid[i];
    columns.push_back(
        Term{&o.b, parts[i]}.reshape(at).expand(grid).reshape({graph::product(grid), Dim(1)}));
  }
  return result_of(concat(columns, 1));
}
Results combinations(Operands& o) {
  const Term x = term(o, "self");
  const int64_t n = fixed(o, "self", graph::product(x.dims())), r = o.integer("r");
  if (r != 2) o.refuse("r", "other than 2 is not supported");
  const bool own = o.flag("with_replacement");
  if (n > 4096) o.refuse("self", "of more than 4096 numbers is not supported");
  std::vector<int64_t> places;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = own ? i : i + 1; j < n; j++) places.insert(places.end(), {i, j});
  const Term made = gathered(x, {&o.b, o.b.integers(places)}, 0);
  return result_of(made.reshape({Dim(int64_t(places.size() / 2)), Dim(2)}));
}
/// Rows and columns of a triangle: constants.
Results triangle_places(Operands& o) {
  const bool lower = o.op() == "tril_indices";
  const int64_t rows = o.integer("row"), columns = o.integer("col"), offset = o.integer("offset");
  if (rows < 0 || columns < 0 || rows > 1 << 14 || columns > 1 << 14)
    o.corrupt("is of " + std::to_string(rows) + " x " + std::to_string(columns));
  std::vector<int64_t> first, second;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      if (lower ? j - i <= offset : j - i >= offset) {
        first.push_back(i);
        second.push_back(j);
      }
  const int64_t count = int64_t(first.size());
  first.insert(first.end(), second.begin(), second.end());
  const ValueId made = o.b.constant(graph::make_constant(DType::kI64, {2, count}, first.data()));
  return o.result(o.b.cast(made, o.dtype("dtype", DType::kI64)));
}
Results powers_of_numbers(Operands& o) {
  const Term x = term(o, "x");
  const int64_t n = o.given("N") ? o.integer("N") : fixed(o, "x", x.dims()[0]);
  if (n < 1 || n > 1024) o.refuse("N", "is " + std::to_string(n));
  std::vector<Term> columns;
  const Dims column = {x.dims()[0], Dim(1)};
  Term power = x.number(1).expand(x.dims());
  for (int64_t i = 0; i < n; i++) {
    columns.push_back(power.reshape(column));
    power = power * x;
  }
  if (!o.flag("increasing")) std::reverse(columns.begin(), columns.end());
  return result_of(concat(columns, 1));
}
Results log_space(Operands& o) {
  const double start = o.number("start"), end = o.number("end"), base = o.number("base");
  const int64_t steps = o.integer("steps");
  if (steps < 0 || steps > 1 << 24) o.corrupt("makes " + std::to_string(steps) + " elements");
  std::vector<double> values;
  for (int64_t i = 0; i < steps; i++)
    values.push_back(
        std::pow(base, steps == 1 ? start : start + (end - start) * double(i) / double(steps - 1)));
  return o.result(
      o.b.constant(graph::make_floating(o.dtype("dtype", DType::kF32), {steps}, values)));
}

std::vector<int64_t> axes_given(Operands& o, int64_t rank) {
  return o.has("dim") && o.given("dim") ? o.axes("dim", rank) : std::vector<int64_t>{};
}
Results count_non_zero(Operands& o) {
  const Term x = term(o, "self");
  const Term made = x.cast(DType::kBool).cast(DType::kI64);
  if (x.rank() == 0) return result_of(made);
  return result_of(made.reduce(op::ReduceSum, axes_given(o, x.rank())));
}
/// Without what is no number.
Results sum_of_numbers(Operands& o) {
  Term x = term(o, "self");
  if (!graph::is_floating(x.dtype())) o.refuse("self", "of integers is not supported");
  x = x.cast(o.dtype("dtype", x.dtype()));
  const Term none = is_not_a_number(x), numbers = where(none, 0, x);
  if (x.rank() == 0) return result_of(numbers);
  const std::vector<int64_t> axes = axes_given(o, x.rank());
  const bool keep = o.flag("keepdim");
  const Term sum = numbers.reduce(op::ReduceSum, axes, keep);
  if (o.op() == "nansum") return result_of(sum);
  return result_of(sum / (!none).cast(x.dtype()).reduce(op::ReduceSum, axes, keep));
}
Results distance_of_tensors(Operands& o) {
  const Terms t = two_terms(o, "self", "other");
  return lower_as(o.b, "norm", {value_of(t.x - t.y), o.value("p")});
}
/// Rows whose norm is larger than the most are scaled down to it.
Results limited_norm(Operands& o) {
  const Term x = term(o, "self");
  const int64_t axis = o.axis("dim", x.rank());
  std::vector<Value> rest;
  for (int64_t i = 0; i < x.rank(); i++)
    if (i != axis) rest.push_back(Value::of(Dim(i)));
  const Results norm = lower_as(
      o.b, "norm", {value_of(x), o.value("p"), Value::list(std::move(rest)), Value::of(true)});
  const Term size = {&o.b, o.b.read(norm.at(0).tensor)};
  const double most = o.number("maxnorm");
  return result_of(x * where(size > most, most / (size + 1e-7), x.number(1)));
}
/// Norms of matrices: the largest sums of rows or columns, and Frobenius'.
Results matrix_norm(Operands& o) {
  Term x = floating_term(o, "self");
  if (o.has("dtype") && o.given("dtype")) x = x.cast(o.dtype("dtype", x.dtype()));
  const Value& order = o.value("ord");
  const bool keep = o.flag("keepdim"), named = order.is(Value::Kind::kString);
  std::vector<int64_t> axes;
  if (o.given("dim")) axes = o.axes("dim", x.rank());
  const bool matrices = axes.size() == 2 || (axes.empty() && o.op() == "linalg_matrix_norm");
  if (matrices && axes.empty()) axes = {x.rank() - 2, x.rank() - 1};
  if (order.is(Value::Kind::kNone) || (named && order.text == "fro") || (!matrices && !named)) {
    const Term flat =
        axes.empty() && o.op() == "linalg_norm" ? x.reshape({graph::product(x.dims())}) : x;
    std::vector<Value> over;
    for (const int64_t axis : axes) over.push_back(Value::of(Dim(axis)));
    const bool vector = !matrices && !order.is(Value::Kind::kNone) && !named;
    if (axes.empty() && vector && x.rank() == 2 && o.op() == "linalg_norm")
      o.refuse("ord", "of a matrix without dim is not supported", "name dim=(-2, -1)");
    const Results made =
        lower_as(o.b, "linalg_vector_norm",
                 {value_of(flat), vector ? order : Value::of(Dim(2)),
                  over.empty() ? Value::none() : Value::list(std::move(over)), Value::of(keep)});
    const Term norm = {&o.b, o.b.read(made.at(0).tensor)};
    return result_of(keep && axes.empty() ? norm.reshape(Dims(x.dims().size(), Dim(1))) : norm);
  }
  if (named) o.refuse("ord", "'" + order.text + "' is not supported");
  const double number = o.number("ord");
  const bool rows = std::isinf(number);
  if (!rows && std::abs(number) != 1)
    o.refuse("ord", std::to_string(number) + " of matrices is not supported");
  const int64_t summed = rows ? axes[1] : axes[0], other = rows ? axes[0] : axes[1];
  const Term sums = absolute(x).reduce(op::ReduceSum, {summed}, true);
  const Term made = sums.reduce(number > 0 ? op::ReduceMax : op::ReduceMin, {other}, true);
  if (keep) return result_of(made);
  Dims out;
  for (int64_t i = 0; i < made.rank(); i++)
    if (i != axes[0] && i != axes[1]) out.push_back(made.dims()[size_t(i)]);
  return result_of(made.reshape(out));
}
/// Central differences of unit spacing, at the ends one-sided.
Results gradient(Operands& o) {
  const Term x = floating_term(o, "self");
  std::vector<int64_t> axes;
  if (o.has("dim") && o.given("dim"))
    axes = o.axes("dim", x.rank());
  else
    for (int64_t i = 0; i < x.rank(); i++) axes.push_back(i);
  if (o.has("edge_order") && o.integer("edge_order") != 1)
    o.refuse("edge_order", "other than 1 is not supported");
  const double spacing = o.has("spacing") && o.given("spacing") ? o.number("spacing") : 1;
  std::vector<Tensor> out;
  for (const int64_t axis : axes) {
    const Dim n = x.dims()[size_t(axis)];
    const auto part = [&](const Dim& from, const Dim& to) { return x.slice(axis, from, to); };
    const Term made = concat({part(Dim(1), Dim(2)) - part(Dim(0), Dim(1)),
                              (part(Dim(2), n) - part(Dim(0), n - Dim(2))) * 0.5,
                              part(n - Dim(1), n) - part(n - Dim(2), n - Dim(1))},
                             axis);
    out.push_back(o.b.own((spacing == 1 ? made : made / spacing).id));
  }
  return {Value::tensors(out)};
}

/// Sums, means or maxima of the rows that each bag names. offsets: where each begins.
Results bags(Operands& o) {
  Builder& b = o.b;
  const Term weight = term(o, "weight"), given = term(o, "indices").cast(DType::kI64);
  const Dim count = graph::product(given.dims()), width = weight.dims()[1];
  const Term index = given.reshape({count});
  Term begins = term(o, "offsets").cast(DType::kI64);
  if (o.has("include_last_offset") && o.flag("include_last_offset"))
    begins = begins.slice(0, Dim(0), begins.dims()[0] - Dim(1));
  const Dim total = begins.dims()[0];
  const int64_t mode = o.integer("mode");
  if (mode < 0 || mode > 2) o.corrupt("has mode " + std::to_string(mode));
  const Term at = counting(b, count).reshape({count, Dim(1)});
  const Term bag =
      (begins.reshape({Dim(1), total}) <= at).cast(DType::kI64).reduce(op::ReduceSum, {1}) - 1.0;
  Term rows = gathered(weight, index, 0);
  if (o.given("per_sample_weights"))
    rows = rows * term(o, "per_sample_weights").reshape({count, Dim(1)});
  Term taken = rows.number(1).expand({count, Dim(1)});
  const int64_t left_out = o.has("padding_idx") ? o.integer("padding_idx") : -1;
  if (left_out >= 0) {
    const Term kept = (!equal(index, double(left_out))).reshape({count, Dim(1)});
    taken = kept.cast(rows.dtype());
    rows = where(kept, rows, mode == 2 ? -INFINITY : 0.0);
  }
  const Term places = bag.reshape({count, Dim(1)});
  const Term start = rows.number(mode == 2 ? -INFINITY : 0).expand({total, width});
  Term made = scattered(start, places.expand({count, width}), rows, 0, mode == 2 ? "max" : "add");
  const Term counts = scattered(rows.number(0).expand({total, Dim(1)}), places, taken, 0, "add");
  if (mode == 1) made = made / larger(counts, 1);
  if (mode == 2) made = where(equal(counts, 0), 0, made);
  const Value none = Value::unavailable("what a gradient needs of an embedding bag is not made");
  return {value_of(made), none, none, none};
}

}  // namespace

void add_arrangements(Table& table) {
  table.add("diag", "Tensor self, int diagonal=0", diag);
  table.add("diagflat", "Tensor self, int offset=0", diag);
  table.add("diag_embed", "Tensor self, int offset=0, int dim1=-2, int dim2=-1", diagonal_embedded);
  table.add("trace", "Tensor self", trace);
  table.add("fill_diagonal", "Tensor self, Scalar fill_value, bool wrap=False", fill_diagonal);
  table.add("diagonal_scatter", "Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1",
            diagonal_scatter);
  table.add("rot90", "Tensor self, int k=1, int[] dims=[0 1]", turned);
  table.add_all("fliplr flipud", "Tensor self", flipped_one);
  for (const char* name : {"hsplit", "vsplit", "dsplit"}) {
    table.add(std::string(name) + ".int", "Tensor self, int sections", split_along);
    table.add(std::string(name) + ".array", "Tensor self, int[] indices", split_along);
  }
  for (const char* name : {"atleast_1d", "atleast_2d", "atleast_3d"}) {
    table.add(name, "Tensor self", at_least);
    table.add(std::string(name) + ".Sequence", "Tensor[] tensors", at_least);
  }
  table.add("block_diag", "Tensor[] tensors", block_diagonal);
  table.add("cartesian_prod", "Tensor[] tensors", all_pairs);
  table.add("combinations", "Tensor self, int r=2, bool with_replacement=False", combinations);
  const std::string factory =
      "*, int? dtype=None, Any layout=None, Any device=None, Any pin_memory=None";
  table.add_all("tril_indices triu_indices", "int row, int col, int offset=0, " + factory,
                triangle_places);
  table.add("vander", "Tensor x, int? N=None, bool increasing=False", powers_of_numbers);
  table.add("logspace", "Scalar start, Scalar end, int steps, float base=10.0, " + factory,
            log_space);
  table.add("count_nonzero", "Tensor self, int? dim=None", count_non_zero);
  table.add("count_nonzero.dim_IntList", "Tensor self, int[] dim", count_non_zero);
  table.add_all("nansum nanmean",
                "Tensor self, int[]? dim=None, bool keepdim=False, *, int? dtype=None",
                sum_of_numbers);
  table.add("dist", "Tensor self, Tensor other, Scalar p=2", distance_of_tensors);
  table.add("renorm", "Tensor self, Scalar p, int dim, Scalar maxnorm", limited_norm);
  table.add_all("linalg_norm linalg_norm.ord_str",
                "Tensor self, Any ord=None, int[]? dim=None, bool keepdim=False, *, "
                "int? dtype=None",
                matrix_norm);
  table.add_all("linalg_matrix_norm linalg_matrix_norm.str_ord",
                "Tensor self, Any ord='fro', int[] dim=[-2 -1], bool keepdim=False, *, "
                "int? dtype=None",
                matrix_norm);
  table.add_all("gradient.scalarint gradient.scalararray gradient.array",
                "Tensor self, *, Any spacing=None, int[]? dim=None, int edge_order=1", gradient);
  const std::string bag =
      "Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
      "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False";
  table.add("embedding_bag", bag, bags);
  table.add("embedding_bag.padding_idx", bag + ", int? padding_idx=None", bags);
  table.add_all("_embedding_bag _embedding_bag_forward_only", bag + ", int padding_idx=-1", bags);
}

}  // namespace ingot::aten
