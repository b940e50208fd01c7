// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_masked_indices.cpp - results that are as long as the data says, and
// writing where a mask holds.
#include <algorithm>

#include "tools/import/aten/arithmetic.h"
#include "tools/import/aten/masked_indices.h"

namespace ingot::aten {
namespace {

/// [rank, n] of the elements that are not 0.
Term coordinates_of(const Term& x) {
  const Term row = x.rank() == 0 ? x.reshape({Dim(1)}) : x;
  return call(op::NonZero, row);
}
Results non_zero(Operands& o) { return result_of(swapped(coordinates_of(term(o, "self")), 0, 1)); }
/// The first `size` of them; behind the last one fill_value.
Results non_zero_of_size(Operands& o) {
  const Term found = coordinates_of(term(o, "self"));
  const Dim rank = found.dims()[0];
  const int64_t size = o.integer("size");
  if (size < 0) o.corrupt("gives " + std::to_string(size) + " elements");
  const Term filler = found.number(double(o.integer("fill_value"))).expand({rank, Dim(size)});
  return result_of(swapped(concat({found, filler}, 1).slice(1, Dim(0), Dim(size)), 0, 1));
}
Results non_zero_each(Operands& o) {
  const Term x = term(o, o.has("condition") ? "condition" : "self");
  std::vector<Tensor> out;
  for (const ValueId id : positions_where(o.b, x.id)) out.push_back(o.b.own(id));
  return {Value::tensors(out)};
}
Results masked_select(Operands& o) {
  Builder& b = o.b;
  const Term x = term(o, "self"), mask = term(o, "mask");
  // the shape of both, which nobody reads
  const Dims whole = b.dims(b.emit(op::Add, {x.cast(DType::kF32).id, mask.cast(DType::kF32).id}));
  const Dim count = graph::product(whole);
  const Term flat = x.expand(whole).reshape({count}), held = mask.expand(whole).reshape({count});
  return result_of(gathered(flat, {&b, positions_where(b, held.id)[0]}, 0));
}
Results masked_scatter(Operands& o) {
  const Term x = term(o, "self"), mask = term(o, "mask").cast(DType::kBool);
  return result_of({&o.b, with_rows_where(o.b, x.id, mask.expand(x.dims()).id,
                                          o.b.cast(o.read("source"), x.dtype()))});
}

/// Sorted numbers without repetition, where each of x is among them, and how often it comes.
Results unique(Operands& o) {
  Builder& b = o.b;
  const Term x = term(o, "self");
  const bool along = o.has("dim") && o.given("dim");
  Attributes attributes = {{attr::sorted, int64_t(1)}};
  if (along) attributes[attr::axis] = o.axis("dim", x.rank());
  const std::vector<ValueId> made = b.emit_many(op::Unique, {x.id}, attributes, 4);
  Results results = {Value::of(b.own(made[0]))};
  const Value none = Value::unavailable("was not asked for");
  const Term places = {&b, made[2]};
  results.push_back(o.flag("return_inverse") ? value_of(along ? places : places.reshape(x.dims()))
                                             : none);
  results.push_back(o.flag("return_counts") ? Value::of(b.own(made[3])) : none);
  return results;
}
/// Runs of equal numbers become one each.
Results unique_consecutive(Operands& o) {
  Builder& b = o.b;
  const Term given = term(o, "self");
  if (o.given("dim") && given.rank() != 1)
    o.refuse("dim", "of more than one dimension is not supported");
  const Dim n = graph::product(given.dims());
  const Term x = given.reshape({n});
  const Term first = Term{&b, b.scalar(DType::kBool, 1)}.expand({min(n, Dim(1))});
  const Term differs =
      concat({first, !equal(x.slice(0, Dim(1), n), x.slice(0, Dim(0), n - Dim(1)))}, 0);
  const Term places = {&b, positions_where(b, differs.id)[0]};
  Results results = result_of(gathered(x, places, 0));
  const Value none = Value::unavailable("was not asked for");
  const Term runs =
      call(op::CumSum, differs.cast(DType::kI64),
           {{attr::axis, int64_t(0)}, {attr::exclusive, int64_t(0)}, {attr::reverse, int64_t(0)}});
  results.push_back(o.flag("return_inverse") ? value_of((runs - 1.0).reshape(given.dims())) : none);
  if (o.flag("return_counts")) {
    const Dim found = places.dims()[0];
    const Term ends =
        concat({places.slice(0, Dim(1), found), Term{&b, b.reshape(b.extent(n), {Dim(1)})}}, 0);
    results.push_back(value_of(ends - places));
  } else {
    results.push_back(none);
  }
  return results;
}
Results length_of_the_data(Operands& o) {
  for (const char* name : {"self", "weights", "minlength"}) o.value(name);
  o.refuse("self", "makes a result whose length is known only at run time",
           "write torch.zeros(n).scatter_add_(0, x, torch.ones_like(x)) with the largest n");
}

}  // namespace

std::vector<ValueId> positions_where(Builder& b, ValueId mask) {
  const Term found = coordinates_of({&b, mask});
  const Dim count = found.dims()[1];
  std::vector<ValueId> out;
  for (int64_t i = 0; i < std::max<int64_t>(1, b.rank(mask)); i++)
    out.push_back(found.slice(0, Dim(i), Dim(i + 1)).reshape({count}).id);
  return out;
}
ValueId with_rows_where(Builder& b, ValueId whole, ValueId mask, ValueId rows) {
  const Dims in = b.dims(whole), over = b.dims(mask);
  if (over.size() > in.size())
    throw graph::DimError("a mask of " + graph::text(over) + " is for more dimensions than " +
                          graph::text(in) + " has");
  Dims rest(in.begin() + int64_t(over.size()), in.end());
  const Dim count = graph::product(over), width = graph::product(rest);
  const Term held = Term{&b, mask}.reshape({count});
  const Term number =
      call(op::CumSum, held.cast(DType::kI64),
           {{attr::axis, int64_t(0)}, {attr::exclusive, int64_t(1)}, {attr::reverse, int64_t(0)}});
  const Dim given = graph::product(b.dims(rows)) / width;
  const Term source = Term{&b, rows}.reshape({given, width});
  // Behind the last row that holds, any row does: it is not taken.
  const Term last = Term{&b, b.extent(given - Dim(1))};
  const Term taken = gathered(source, smaller(number, larger(last, 0)), 0);
  const Term made =
      where(held.reshape({count, Dim(1)}), taken, Term{&b, whole}.reshape({count, width}));
  return b.reshape(made.id, in);
}

void add_found(Table& table) {
  table.add_all("nonzero argwhere", "Tensor self", non_zero);
  table.add("nonzero_static", "Tensor self, *, int size, int fill_value=-1", non_zero_of_size);
  table.add("nonzero_numpy", "Tensor self", non_zero_each);
  table.add("where", "Tensor condition", non_zero_each);
  table.add("masked_select", "Tensor self, Tensor mask", masked_select);
  table.add("masked_scatter", "Tensor self, Tensor mask, Tensor source", masked_scatter);
  const std::string flags = "bool return_inverse=False, bool return_counts=False";
  table.add("_unique2", "Tensor self, bool sorted=True, " + flags, unique);
  table.add("unique_dim", "Tensor self, int dim, bool sorted=True, " + flags, unique);
  table.add("unique_consecutive", "Tensor self, " + flags + ", int? dim=None", unique_consecutive);
  table.add("bincount", "Tensor self, Tensor? weights=None, int minlength=0", length_of_the_data);
}

}  // namespace ingot::aten
