// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_index.cpp - elements by index: reading and writing, and what asks a
// tensor for its shape or number.
#include <algorithm>

#include "tools/import/aten/masked_indices.h"
#include "tools/import/aten/operands.h"
#include "tools/import/aten/promotion.h"
#include "tools/import/aten/quantized_tensor.h"

namespace ingot::aten {
namespace {

ValueId as_index(Operands& o, ValueId index) {
  const DType dtype = o.b.dtype(index);
  if (dtype == DType::kI64 || dtype == DType::kI32) return index;
  return o.b.cast(index, DType::kI64);
}
Results index_select(Operands& o) {
  const ValueId x = o.read("self");
  const int64_t axis = o.axis("dim", o.b.rank(x));
  ValueId index = as_index(o, o.read("index"));
  if (o.b.rank(index) == 0) index = o.b.reshape(index, {Dim(1)});
  return o.result(o.b.emit(op::Gather, {x, index}, {{attr::axis, axis}}));
}
Results embedding(Operands& o) {
  return o.result(o.b.emit(op::Gather, {o.read("weight"), as_index(o, o.read("indices"))},
                           {{attr::axis, int64_t(0)}}));
}
Results gather(Operands& o) {
  const bool along = o.op() == "take_along_dim";  // both are expanded to each other but along dim
  ValueId x = o.read("self"), index = as_index(o, o.read(along ? "indices" : "index"));
  const int64_t axis = o.axis("dim", o.b.rank(x));
  if (o.b.rank(x) == 0) return o.result(x);
  if (along) {
    Dims whole = o.b.dims(x), places = o.b.dims(index);
    if (whole.size() != places.size())
      o.corrupt("takes places " + graph::text(places) + " of " + graph::text(whole));
    for (size_t i = 0; i < whole.size(); i++)
      if (int64_t(i) != axis) whole[i] = places[i] = whole[i] == Dim(1) ? places[i] : whole[i];
    x = o.b.expand(x, whole);
    index = o.b.expand(index, places);
  }
  return o.result(o.b.emit(op::GatherElements, {x, index}, {{attr::axis, axis}}));
}
Results scatter(Operands& o) {
  const ValueId x = o.read("self"), index = as_index(o, o.read("index"));
  const DType dtype = o.b.dtype(x);
  std::string reduction = "none";
  if (o.op() == "scatter_add") reduction = "add";
  if (o.has("reduce")) {
    const std::string given = o.text("reduce");
    if (given != "add" && given != "multiply")
      o.refuse("reduce", "'" + given + "' is not supported");
    reduction = given == "add" ? "add" : "mul";
  }
  ValueId updates;
  if (o.has("src")) {
    updates = o.b.cast(o.read("src"), dtype);
    // Of a larger source, the part that the index covers.
    for (int64_t i = 0; i < o.b.rank(index); i++)
      if (o.b.dims(updates)[size_t(i)] != o.b.dims(index)[size_t(i)])
        updates = o.b.slice(updates, i, Dim(0), o.b.dims(index)[size_t(i)]);
  } else {
    updates = o.b.expand(as_type(o.b, o.value("value"), dtype), o.b.dims(index));
  }
  return o.result(
      o.b.emit(op::ScatterElements, {x, index, updates},
               {{attr::axis, o.axis("dim", o.b.rank(x))}, {attr::reduction, reduction}}));
}

/// What x[indices] names: for each dimension of x an index tensor, or all of it.
struct Indices {
  std::vector<std::pair<int64_t, ValueId>> by;  // axis, i64; broadcast to one shape
  bool adjacent = true;
};
/// A mask becomes the positions where it holds: of a constant one they are constants.
std::vector<ValueId> positions_of_mask(Operands& o, ValueId mask) {
  const graph::Constant* constant = o.b.model.constant(mask);
  if (!constant) return positions_where(o.b, mask);
  const std::vector<int64_t>& dims = constant->dims;
  std::vector<std::vector<int64_t>> found(dims.size());
  const int64_t count = constant->elements();
  for (int64_t i = 0; i < count; i++) {
    if (!constant->as<uint8_t>()[i]) continue;
    int64_t rest = i;
    for (size_t d = dims.size(); d-- > 0;) {
      found[d].push_back(rest % dims[d]);
      rest /= dims[d];
    }
  }
  std::vector<ValueId> out;
  for (const auto& each : found) out.push_back(o.b.integers(each));
  return out;
}
Indices indices_of(Operands& o, const Dims& in) {
  Indices out;
  int64_t axis = 0;
  for (const Value& item : *o.value("indices").items) {
    if (item.is(Value::Kind::kNone)) {
      axis++;
      continue;
    }
    const ValueId index = o.b.read(item.tensor);
    const bool mask = o.b.dtype(index) == DType::kBool;
    const std::vector<ValueId> parts =
        mask ? positions_of_mask(o, index) : std::vector<ValueId>{as_index(o, index)};
    for (const ValueId part : parts) {
      if (!out.by.empty() && out.by.back().first + 1 != axis) out.adjacent = false;
      out.by.push_back({axis++, part});
    }
  }
  if (axis > int64_t(in.size()))
    o.corrupt("has " + std::to_string(axis) + " indices for " + graph::text(in));
  return out;
}
/// [..., count of indices] of one shape, negative ones counted from the front.
ValueId stacked(Operands& o, const Indices& indices, const Dims& in) {
  ValueId all = o.b.cast(indices.by[0].second, DType::kI64);
  for (size_t i = 1; i < indices.by.size(); i++)
    // for its shape alone
    all = o.b.emit(op::Add, {all, o.b.cast(indices.by[i].second, DType::kI64)});
  const Dims shape = o.b.dims(all);
  Dims column = shape;
  column.push_back(Dim(1));
  std::vector<ValueId> parts;
  for (const auto& [axis, index] : indices.by) {
    ValueId wide = o.b.expand(o.b.cast(index, DType::kI64), shape);
    const ValueId negative = o.b.emit(op::Less, {wide, o.b.scalar(DType::kI64, 0)});
    wide = o.b.emit(op::Where,
                    {negative, o.b.emit(op::Add, {wide, o.b.extent(in[size_t(axis)])}), wide});
    parts.push_back(o.b.reshape(wide, column));
  }
  if (parts.size() == 1) return parts[0];
  return o.b.emit(op::Concat, parts, {{attr::axis, int64_t(shape.size())}});
}
/// The indexed axes to the front.
std::vector<int64_t> indexed_first(const Indices& indices, int64_t rank) {
  std::vector<int64_t> perm;
  for (const auto& [axis, index] : indices.by) perm.push_back(axis);
  for (int64_t i = 0; i < rank; i++)
    if (std::find(perm.begin(), perm.begin() + int64_t(indices.by.size()), i) ==
        perm.begin() + int64_t(indices.by.size()))
      perm.push_back(i);
  return perm;
}
Results index(Operands& o) {
  const ValueId x = o.read("self");
  const Dims in = o.b.dims(x);
  const Indices indices = indices_of(o, in);
  if (indices.by.empty()) return o.result(x);
  if (indices.by.size() == 1) {
    const auto [axis, by] = indices.by[0];
    return o.result(o.b.emit(op::Gather, {x, by}, {{attr::axis, axis}}));
  }
  const ValueId where = stacked(o, indices, in);
  const int64_t shape = o.b.rank(where) - 1, first = indices.by[0].first;
  const ValueId front = o.b.transpose(x, indexed_first(indices, int64_t(in.size())));
  const ValueId made = o.b.emit(op::GatherND, {front, where}, {{attr::batch_dims, int64_t(0)}});
  if (!indices.adjacent || first == 0) return o.result(made);
  std::vector<int64_t> perm;
  for (int64_t i = 0; i < first; i++) perm.push_back(shape + i);
  for (int64_t i = 0; i < shape; i++) perm.push_back(i);
  for (int64_t i = shape + first; i < o.b.rank(made); i++) perm.push_back(i);
  return o.result(o.b.transpose(made, perm));
}
Results index_put(Operands& o) {
  const ValueId x = o.read("self");
  const Dims in = o.b.dims(x);
  const DType dtype = o.b.dtype(x);
  const ValueId values = o.b.cast(o.read("values"), dtype);
  const bool accumulate = o.flag("accumulate");
  const std::vector<Value>& given = *o.value("indices").items;
  // One mask over the first dimensions and one number: a choice, whatever the mask holds.
  if (given.size() == 1 && given[0].is(Value::Kind::kTensor) &&
      graph::product(o.b.dims(values)) == Dim(1)) {
    ValueId mask = o.b.read(given[0].tensor);
    if (o.b.dtype(mask) == DType::kBool && !accumulate) {
      Dims wide = o.b.dims(mask);
      wide.resize(in.size(), Dim(1));
      return o.result(o.b.emit(op::Where, {o.b.reshape(mask, wide), o.b.reshape(values, {}), x}));
    }
  }
  // One mask that only the run knows, and rows for it in their order.
  if (given.size() == 1 && given[0].is(Value::Kind::kTensor) && !accumulate) {
    const ValueId mask = o.b.read(given[0].tensor);
    const bool rows = o.b.rank(values) == 1 + int64_t(in.size()) - o.b.rank(mask);
    if (o.b.dtype(mask) == DType::kBool && rows && !o.b.model.constant(mask) &&
        o.b.rank(mask) <= int64_t(in.size()) && o.b.dims(values)[0] != Dim(1))
      return o.result(with_rows_where(o.b, x, mask, values));
  }
  const Indices indices = indices_of(o, in);
  if (indices.by.empty()) return o.result(o.b.expand(values, in));
  const std::vector<int64_t> perm = indexed_first(indices, int64_t(in.size()));
  if (!std::is_sorted(perm.begin(), perm.end()) && o.b.rank(values) > 0)
    o.refuse("indices", "writing behind dimensions that are taken whole is not supported",
             "transpose them to the front");
  std::vector<int64_t> back(perm.size());
  for (size_t i = 0; i < perm.size(); i++) back[size_t(perm[i])] = int64_t(i);
  const ValueId where = stacked(o, indices, in), front = o.b.transpose(x, perm);
  Dims shape = o.b.dims(where);
  shape.pop_back();
  const Dims moved = o.b.dims(front);
  shape.insert(shape.end(), moved.begin() + int64_t(indices.by.size()), moved.end());
  const std::string reduction = accumulate ? "add" : "none";
  const ValueId made = o.b.emit(op::ScatterND, {front, where, o.b.expand(values, shape)},
                                {{attr::reduction, reduction}});
  return o.result(o.b.transpose(made, back));
}
/// The pure forms of writing to a slice or a row.
Results slice_scatter(Operands& o) {
  const ValueId x = o.read("self");
  const Dims in = o.b.dims(x);
  const int64_t axis = o.axis("dim", int64_t(in.size()));
  const auto extent = in[size_t(axis)].value();
  if (!extent) o.refuse("dim", "is symbolic", "bind it with --dim");
  const auto position = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + *extent : at, 0, *extent);
  };
  const bool row = o.op() == "select_scatter";
  const int64_t start = row                ? position(o.integer("index"))
                        : o.given("start") ? position(o.integer("start"))
                                           : 0;
  const int64_t end = row ? start + 1 : o.given("end") ? position(o.integer("end")) : *extent;
  if (!row && o.integer("step") != 1) {
    const Value copy = Value::of(o.b.own(x));
    const Results part = lower_as(
        o.b, "slice", {copy, o.value("dim"), o.value("start"), o.value("end"), o.value("step")});
    const Dims shape = o.b.dims(o.b.read(part.at(0).tensor));
    o.b.write(part[0].tensor, o.b.expand(o.b.cast(o.read("src"), o.b.dtype(x)), shape));
    return {copy};
  }
  ValueId part = o.b.cast(o.read("src"), o.b.dtype(x));
  Dims shape = in;
  shape[size_t(axis)] = Dim(end - start);
  part = row ? o.b.reshape(part, shape) : o.b.expand(part, shape);
  std::vector<ValueId> parts;
  if (start > 0) parts.push_back(o.b.slice(x, axis, Dim(0), Dim(start)));
  parts.push_back(part);
  if (end < *extent) parts.push_back(o.b.slice(x, axis, Dim(end), Dim(*extent)));
  return o.result(o.b.emit(op::Concat, parts, {{attr::axis, axis}}));
}

/// Of all elements in one row.
Results take(Operands& o) {
  const ValueId x = o.read("self");
  const ValueId flat = o.b.reshape(x, {graph::product(o.b.dims(x))});
  return o.result(
      o.b.emit(op::Gather, {flat, as_index(o, o.read("index"))}, {{attr::axis, int64_t(0)}}));
}

Results size(Operands& o) {
  const Dims in = o.b.dims(o.read("self"));
  if (!o.has("dim")) return {Value::dims(in)};
  if (in.empty()) o.corrupt("asks a scalar for its size");
  return {Value::of(in[size_t(o.axis("dim", int64_t(in.size())))])};
}
Results elements(Operands& o) { return {Value::of(graph::product(o.b.dims(o.read("self"))))}; }
Results rank(Operands& o) { return {Value::of(Dim(o.b.rank(o.read("self"))))}; }
Results is_floating(Operands& o) {
  return {Value::of(graph::is_floating(o.b.dtype(o.read("self"))))};
}
Results no(Operands&) { return {Value::of(false)}; }
/// The number in a tensor; one that only the run knows stays a tensor, of rank 0.
Results item(Operands& o) {
  const ValueId x = o.read("self");
  const auto held = o.b.content(x);
  if (!held && (o.b.dtype(x) == DType::kBool || graph::product(o.b.dims(x)) != Dim(1)))
    o.refuse("self", "its number is known only at run time", "keep it a tensor");
  if (!held) {
    const bool is_real = graph::is_floating(o.b.dtype(x));
    return o.result(o.b.reshape(o.b.cast(x, is_real ? DType::kF32 : DType::kI64), {}));
  }
  if (o.b.dtype(x) == DType::kBool) {
    const auto number = held->number();
    if (!number)
      o.refuse("self", "its truth depends on a symbolic dimension", "bind it with --dim");
    return {Value::of(*number != 0)};
  }
  if (!graph::is_floating(o.b.dtype(x))) {
    if (const auto d = held->dim()) return {Value::of(*d)};
  }
  const auto number = held->number();
  if (!number) o.refuse("self", "its number depends on a symbolic dimension", "bind it with --dim");
  return {Value::of(*number)};
}

}  // namespace

void add_indexing(Table& table) {
  table.add("index_select", "Tensor self, int dim, Tensor index", index_select);
  table.add("embedding",
            "Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, "
            "bool sparse=False",
            embedding);
  table.add("gather", "Tensor self, int dim, Tensor index, *, bool sparse_grad=False", gather);
  table.add("take_along_dim", "Tensor self, Tensor indices, int dim", gather);
  table.add("scatter.src", "Tensor self, int dim, Tensor index, Tensor src", scatter);
  table.add("scatter.value", "Tensor self, int dim, Tensor index, Scalar value", scatter);
  table.add("scatter.reduce", "Tensor self, int dim, Tensor index, Tensor src, *, str reduce",
            scatter);
  table.add("scatter.value_reduce",
            "Tensor self, int dim, Tensor index, Scalar value, *, str reduce", scatter);
  table.add("scatter_add", "Tensor self, int dim, Tensor index, Tensor src", scatter);
  table.add_all("index.Tensor _unsafe_index.Tensor", "Tensor self, Tensor?[] indices", index);
  table.add_all("index_put _index_put_impl",
                "Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False", index_put);
  table.add("slice_scatter",
            "Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1",
            slice_scatter);
  table.add("take", "Tensor self, Tensor index", take);
  table.add("select_scatter", "Tensor self, Tensor src, int dim, int index", slice_scatter);
  table.add_all("size sym_size", "Tensor self", size);
  table.add_all("size.int sym_size.int", "Tensor self, int dim", size);
  table.add_all("numel sym_numel", "Tensor self", elements);
  table.add("dim", "Tensor self", rank);
  table.add("is_floating_point", "Tensor self", is_floating);
  table.add_all("is_complex is_cuda is_quantized is_sparse is_inference requires_grad",
                "Tensor self", no);
  table.add_all("item _local_scalar_dense", "Tensor self", item);
}

}  // namespace ingot::aten
