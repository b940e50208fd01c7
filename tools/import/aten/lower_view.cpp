// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_view.cpp - other looks at the same memory: what is written through them
// is seen by all.
#include <algorithm>
#include <numeric>

#include "tools/import/aten/operands.h"

namespace ingot::aten {
namespace {

Results as_result(Tensor tensor) { return {Value::of(std::move(tensor))}; }

/// A view of all elements in the same order.
Tensor viewed(Operands& o, const Tensor& of, const Dims& to, Strides strides) {
  return o.b.view(
      of, [to](Builder& b, ValueId whole) { return b.reshape(whole, to); },
      [](Builder& b, ValueId whole, ValueId part) { return b.reshape(part, b.dims(whole)); },
      std::move(strides));
}
/// The same elements with other dims: a view, or a copy where the memory does not allow one.
Tensor reshaped(Operands& o, const Tensor& of, const Dims& to) {
  const ValueId x = o.b.read(of);
  Reshaped how = reshape_in_memory(o.b.dims(x), o.b.strides(of), to);
  // view() raises where there is none, so a program that runs has one.
  const bool asks_view = o.op() == "view" || o.op() == "_unsafe_view" || o.op() == "view_as" ||
                         o.op() == "unflatten" || o.op() == "_reshape_alias";
  if (asks_view || how.shared == Shared::kYes) return viewed(o, of, to, std::move(how.strides));
  const ValueId made = o.b.reshape(x, to);
  return how.shared == Shared::kNo ? o.b.own(made) : o.b.view_or_copy(of, made);
}
/// Sizes with one -1 as the input says.
Dims completed(Operands& o, const Dims& in, Dims wanted) {
  const auto open = std::find(wanted.begin(), wanted.end(), Dim(-1));
  if (open == wanted.end()) return wanted;
  *open = Dim(1);
  const Dim rest = graph::product(wanted);
  if (rest == Dim(0)) o.corrupt("its sizes hold no element");
  *open = graph::product(in) / rest;
  if (std::find(wanted.begin(), wanted.end(), Dim(-1)) != wanted.end())
    o.corrupt("its sizes are open twice");
  return wanted;
}
Results reshape(Operands& o) {
  const Tensor x = o.tensor("self");
  const Dims in = o.b.dims(o.b.read(x));
  Dims wanted;
  if (o.has("other"))
    wanted = o.b.dims(o.read("other"));
  else
    wanted = o.dims(o.has("shape") ? "shape" : "size");
  return as_result(reshaped(o, x, completed(o, in, wanted)));
}
/// The same bytes as another type.
Results view_as_type(Operands& o) {
  const ValueId x = o.read("self");
  if (o.dtype("dtype", DType::kInvalid) != o.b.dtype(x))
    o.refuse("dtype", "the bytes of a tensor as another type are not supported");
  return as_result(viewed(o, o.tensor("self"), o.b.dims(x), o.b.strides(o.tensor("self"))));
}
Results flatten(Operands& o) {
  const Tensor x = o.tensor("self");
  const Dims in = o.b.dims(o.b.read(x));
  if (in.empty()) return as_result(reshaped(o, x, {Dim(1)}));
  const int64_t first = o.axis("start_dim", int64_t(in.size())),
                last = o.axis("end_dim", int64_t(in.size()));
  if (first > last) o.corrupt("start_dim lies behind end_dim");
  Dims to(in.begin(), in.begin() + first);
  to.push_back(graph::product(Dims(in.begin() + first, in.begin() + last + 1)));
  to.insert(to.end(), in.begin() + last + 1, in.end());
  return as_result(reshaped(o, x, to));
}
Results ravel(Operands& o) {
  const Tensor x = o.tensor("self");
  return as_result(reshaped(o, x, {graph::product(o.b.dims(o.b.read(x)))}));
}
Results unflatten(Operands& o) {
  const Tensor x = o.tensor("self");
  const Dims in = o.b.dims(o.b.read(x));
  const int64_t axis = o.axis("dim", int64_t(in.size()));
  const Dims parts = completed(o, {in[size_t(axis)]}, o.dims("sizes"));
  Dims to(in.begin(), in.begin() + axis);
  to.insert(to.end(), parts.begin(), parts.end());
  to.insert(to.end(), in.begin() + axis + 1, in.end());
  return as_result(reshaped(o, x, to));
}
Results squeeze(Operands& o) {
  const Tensor x = o.tensor("self");
  const Dims in = o.b.dims(o.b.read(x));
  std::vector<bool> goes(in.size(), !o.has("dim"));
  if (o.has("dim"))
    for (const int64_t d : o.integers("dim")) {
      const int64_t axis = wrapped_axis(d, int64_t(in.size()), "aten::squeeze");
      if (!in.empty()) goes[size_t(axis)] = true;
    }
  const Strides strides = o.b.strides(x);
  Dims to, steps;
  for (size_t i = 0; i < in.size(); i++) {
    if (goes[i] && in[i] == Dim(1)) continue;
    to.push_back(in[i]);
    if (strides) steps.push_back((*strides)[i]);
  }
  return as_result(viewed(o, x, to, strides ? Strides(steps) : std::nullopt));
}
Results unsqueeze(Operands& o) {
  const Tensor x = o.tensor("self");
  Dims to = o.b.dims(o.b.read(x));
  const int64_t axis = o.axis("dim", int64_t(to.size()) + 1);
  Strides strides = o.b.strides(x);
  if (strides) strides->insert(strides->begin() + axis, Dim(1));
  to.insert(to.begin() + axis, Dim(1));
  return as_result(viewed(o, x, to, std::move(strides)));
}

Tensor permuted(Operands& o, const Tensor& of, const std::vector<int64_t>& perm) {
  std::vector<int64_t> back(perm.size());
  for (size_t i = 0; i < perm.size(); i++) back[size_t(perm[i])] = int64_t(i);
  Strides strides = o.b.strides(of), turned;
  if (strides) turned.emplace();
  for (size_t i = 0; strides && i < perm.size(); i++)
    turned->push_back((*strides)[size_t(perm[i])]);
  return o.b.view(
      of, [perm](Builder& b, ValueId whole) { return b.transpose(whole, perm); },
      [back](Builder& b, ValueId, ValueId part) { return b.transpose(part, back); },
      std::move(turned));
}
std::vector<int64_t> identity(int64_t rank) {
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  return perm;
}
Results permute(Operands& o) {
  const Tensor x = o.tensor("self");
  const int64_t rank = o.b.rank(o.b.read(x));
  const std::vector<int64_t> perm = o.axes("dims", rank);
  if (int64_t(perm.size()) != rank)
    o.corrupt("permutes " + std::to_string(perm.size()) + " of " + std::to_string(rank) +
              " dimensions");
  return as_result(permuted(o, x, perm));
}
Results transpose(Operands& o) {
  const Tensor x = o.tensor("self");
  const int64_t rank = o.b.rank(o.b.read(x));
  std::vector<int64_t> perm = identity(rank);
  if (o.has("dim0") || o.has("axis0")) {
    const int64_t from = o.axis(o.has("axis0") ? "axis0" : "dim0", rank);
    const int64_t to = o.axis(o.has("axis0") ? "axis1" : "dim1", rank);
    if (rank > 0) std::swap(perm[size_t(from)], perm[size_t(to)]);
  } else if (o.op() == "mT" || o.op() == "mH" || o.op() == "adjoint" || rank == 2) {
    if (rank < 2) o.corrupt("is for matrices");
    std::swap(perm[size_t(rank - 1)], perm[size_t(rank - 2)]);
  } else if (o.op() == "numpy_T") {
    std::reverse(perm.begin(), perm.end());
  }
  return as_result(permuted(o, x, perm));
}
Results move_axes(Operands& o) {
  const Tensor x = o.tensor("self");
  const int64_t rank = o.b.rank(o.b.read(x));
  const std::vector<int64_t> from = o.axes("source", rank), to = o.axes("destination", rank);
  if (from.size() != to.size())
    o.corrupt("moves " + std::to_string(from.size()) + " dimensions to " +
              std::to_string(to.size()) + " places");
  std::vector<int64_t> perm(size_t(rank), -1), rest;
  for (size_t i = 0; i < from.size(); i++) perm[size_t(to[i])] = from[i];
  for (int64_t i = 0; i < rank; i++)
    if (std::find(from.begin(), from.end(), i) == from.end()) rest.push_back(i);
  size_t next = 0;
  for (int64_t& p : perm)
    if (p < 0) p = rest[next++];
  return as_result(permuted(o, x, perm));
}

Tensor expanded(Operands& o, const Tensor& of, Dims to) {
  const Dims in = o.b.dims(o.b.read(of));
  if (to.size() < in.size()) o.corrupt("expands " + graph::text(in) + " to fewer dimensions");
  const size_t added = to.size() - in.size();
  for (size_t i = 0; i < to.size(); i++)
    if (to[i] == Dim(-1)) to[i] = i < added ? Dim(1) : in[i - added];
  Strides strides = o.b.strides(of);
  if (strides) strides->insert(strides->begin(), added, Dim(0));
  for (size_t i = added; strides && i < to.size(); i++)
    if (to[i] != in[i - added]) (*strides)[i] = Dim(0);
  if (graph::product(to) == graph::product(in)) return viewed(o, of, to, std::move(strides));
  return o.b.view(
      of, [to](Builder& b, ValueId whole) { return b.expand(whole, to); }, nullptr,
      std::move(strides));
}
Results expand(Operands& o) {
  return as_result(
      expanded(o, o.tensor("self"), o.has("other") ? o.b.dims(o.read("other")) : o.dims("size")));
}

/// [start, start + step, ...) of one axis.
struct Cut {
  int64_t axis;
  Dim start, end;
  int64_t step;
};
ValueId with_part(Builder& b, ValueId whole, ValueId part, const Cut& cut) {
  const Dim extent = b.dims(whole)[size_t(cut.axis)];
  if (cut.step == 1) {
    std::vector<ValueId> parts;
    if (cut.start != Dim(0)) parts.push_back(b.slice(whole, cut.axis, Dim(0), cut.start));
    parts.push_back(part);
    if (cut.end != extent) parts.push_back(b.slice(whole, cut.axis, cut.end, extent));
    return b.emit(op::Concat, parts, {{attr::axis, cut.axis}});
  }
  const auto n = extent.value(), start = cut.start.value(), end = cut.end.value();
  if (!n || !start || !end)
    throw Refused{"self", "writing to a strided slice of a symbolic dimension is not supported",
                  "bind it with --dim"};
  if (*n > int64_t(1) << 24)
    throw Refused{"self",
                  "writing to a strided slice of more than 16 million rows is not supported", ""};
  std::vector<int64_t> from(static_cast<size_t>(*n));
  for (int64_t i = 0; i < *n; i++) {
    const bool inside = i >= *start && i < *end && (i - *start) % cut.step == 0;
    from[size_t(i)] = inside ? *n + (i - *start) / cut.step : i;
  }
  const ValueId both = b.emit(op::Concat, {whole, part}, {{attr::axis, cut.axis}});
  return b.emit(op::Gather, {both, b.integers(from)}, {{attr::axis, cut.axis}});
}
Tensor cut_out(Operands& o, const Tensor& of, const Cut& cut, ValueId now = graph::kAbsent) {
  Strides strides = o.b.strides(of);
  if (strides) (*strides)[size_t(cut.axis)] = (*strides)[size_t(cut.axis)] * Dim(cut.step);
  return o.b.view(
      of,
      [cut](Builder& b, ValueId whole) {
        return b.slice(whole, cut.axis, cut.start, cut.end, cut.step);
      },
      [cut](Builder& b, ValueId whole, ValueId part) { return with_part(b, whole, part, cut); },
      std::move(strides), now);
}
/// A position as Python counts it, within [0, extent].
Dim position(const Dim& given, const Dim& extent) {
  if (const auto n = given.value()) {
    if (*n >= (int64_t(1) << 31)) return extent;
    if (*n < 0) return max(Dim(0), extent + given);
    return graph::proven_at_least(extent, given) ? given : min(given, extent);
  }
  if (graph::proven_at_least(given, Dim(0)))
    return graph::proven_at_least(extent, given) ? given : min(given, extent);
  if (graph::proven_at_least(Dim(-1), given)) return max(Dim(0), extent + given);
  throw Refused{"start", "the sign of " + given.text() + " is not known",
                "bound its dimensions with --dim"};
}
Results slice(Operands& o) {
  const Tensor x = o.tensor("self");
  const Dims in = o.b.dims(o.b.read(x));
  const int64_t axis = o.axis("dim", int64_t(in.size())), step = o.integer("step");
  if (in.empty()) o.corrupt("slices a scalar");
  if (step < 1 || step >= int64_t(1) << 31) o.corrupt("step is " + std::to_string(step));
  const Dim extent = in[size_t(axis)];
  const Dim start = o.given("start") ? position(o.dim("start"), extent) : Dim(0);
  Dim end = o.given("end") ? position(o.dim("end"), extent) : extent;
  if (!graph::proven_at_least(end, start)) end = max(start, end);
  if (start == Dim(0) && end == extent && step == 1)
    return as_result(viewed(o, x, in, o.b.strides(x)));
  return as_result(cut_out(o, x, {axis, start, end, step}));
}
/// Each n + 1st element of a matrix whose rows stand one behind the other.
Results diagonal(Operands& o) {
  const Tensor x = o.tensor("self");
  const Dims in = o.b.dims(o.b.read(x));
  const int64_t rank = int64_t(in.size()), row = o.axis("dim1", rank),
                column = o.axis("dim2", rank);
  if (rank < 2 || row == column)
    o.corrupt("takes the diagonal of " + graph::text(in) + " along one dimension");
  const auto rows = in[size_t(row)].value(), columns = in[size_t(column)].value();
  const int64_t offset = o.integer("offset");
  if (!rows || !columns)
    o.refuse("self", "the diagonal of a symbolic dimension is not supported", "bind it with --dim");
  std::vector<int64_t> perm;
  Dims flat;
  for (int64_t i = 0; i < rank; i++) {
    if (i == row || i == column) continue;
    perm.push_back(i);
    flat.push_back(in[size_t(i)]);
  }
  perm.insert(perm.end(), {row, column});
  flat.push_back(Dim(*rows) * Dim(*columns));
  const bool above = offset >= 0;
  const int64_t count =
      offset <= -*rows || offset >= *columns
          ? 0
          : std::min(above ? *rows : *rows + offset, above ? *columns - offset : *columns);
  const int64_t first = count == 0 ? 0 : above ? offset : -offset * *columns;
  const int64_t end = count == 0 ? 0 : first + (count - 1) * (*columns + 1) + 1;
  const Tensor line = viewed(o, permuted(o, x, perm), flat, std::nullopt);
  return as_result(cut_out(o, line, {rank - 2, Dim(first), Dim(end), *columns + 1}));
}
Results narrow(Operands& o) {
  const Tensor x = o.tensor("self");
  const Dims in = o.b.dims(o.b.read(x));
  const int64_t axis = o.axis("dim", int64_t(in.size()));
  const Dim start = position(o.dim("start"), in[size_t(axis)]);
  return as_result(cut_out(o, x, {axis, start, start + o.dim("length"), 1}));
}
Tensor selected(Operands& o, const Tensor& of, int64_t axis, const Dim& index) {
  const Tensor row = cut_out(o, of, {axis, index, index + Dim(1), 1});
  Dims to = o.b.dims(o.b.read(row));
  to.erase(to.begin() + axis);
  Strides strides = o.b.strides(row);
  if (strides) strides->erase(strides->begin() + axis);
  return viewed(o, row, to, std::move(strides));
}
Results select(Operands& o) {
  const Tensor x = o.tensor("self");
  const Dims in = o.b.dims(o.b.read(x));
  if (in.empty()) o.corrupt("selects from a scalar");
  const int64_t axis = o.axis("dim", int64_t(in.size()));
  const Dim extent = in[size_t(axis)], given = o.dim("index");
  const Dim index = position(given, extent);
  if (extent.is_static() && index.is_static() && *index.value() >= *extent.value())
    o.corrupt("index " + given.text() + " is out of range for " + graph::text(in));
  return as_result(selected(o, x, axis, index));
}

/// Parts along an axis; one Split makes them as long as nobody writes.
Results parts_of(Operands& o, const Tensor& x, int64_t axis, const Dims& sizes) {
  std::vector<ValueId> made;
  const ValueId whole = o.b.read(x);
  Dim sum(0);
  for (const Dim& size : sizes) sum = sum + size;
  const Dim extent = o.b.dims(whole)[size_t(axis)];
  if (sum.is_static() && extent.is_static() && sum != extent)
    o.corrupt("its parts hold " + sum.text() + " of " + extent.text());
  if (sizes.size() == 1)
    made = {whole};
  else
    made =
        o.b.emit_many(op::Split, {whole}, {{attr::axis, axis}, {attr::split, sizes}}, sizes.size());
  std::vector<Tensor> parts;
  Dim start(0);
  for (size_t i = 0; i < sizes.size(); i++) {
    parts.push_back(cut_out(o, x, {axis, start, start + sizes[i], 1}, made[i]));
    start = start + sizes[i];
  }
  return {Value::tensors(parts)};
}
int64_t fixed_extent(Operands& o, const Dims& in, int64_t axis) {
  const auto n = in[size_t(axis)].value();
  if (!n)
    o.refuse("dim",
             "has a symbolic dimension (" + in[size_t(axis)].text() +
                 "), so the number of parts is open",
             "bind it with --dim");
  return *n;
}
constexpr int64_t kMaxParts = 1 << 16;
Results split(Operands& o) {
  const Tensor x = o.tensor("self");
  const Dims in = o.b.dims(o.b.read(x));
  const int64_t axis = o.axis("dim", int64_t(in.size()));
  if (in.empty()) o.corrupt("splits a scalar");
  const char* const name = o.has("split_sizes") ? "split_sizes" : "split_size";
  if (o.value(name).items) return parts_of(o, x, axis, o.dims(name));
  const int64_t each = o.integer(name), n = fixed_extent(o, in, axis);
  if (each < 1 || n / each > kMaxParts)
    o.corrupt(std::string(name) + " is " + std::to_string(each));
  Dims sizes;
  for (int64_t at = 0; at < n; at += each) sizes.push_back(Dim(std::min(each, n - at)));
  return parts_of(o, x, axis, sizes);
}
Results chunk(Operands& o) {
  const Tensor x = o.tensor("self");
  const Dims in = o.b.dims(o.b.read(x));
  if (in.empty()) o.corrupt("splits a scalar");
  const int64_t axis = o.axis("dim", int64_t(in.size())),
                count = o.integer(o.has("chunks") ? "chunks" : "sections");
  if (count < 1 || count > kMaxParts) o.corrupt("makes " + std::to_string(count) + " chunks");
  const Dim extent = in[size_t(axis)];
  Dims sizes;
  if (!extent.is_static()) {
    const Dim each = extent / Dim(count);
    if (each * Dim(count) != extent)
      o.refuse("dim", "splits a symbolic dimension (" + extent.text() + ")", "bind it with --dim");
    sizes.assign(size_t(count), each);
  } else if (o.op() == "tensor_split") {
    const int64_t n = *extent.value();
    for (int64_t i = 0; i < count; i++) sizes.push_back(Dim(n / count + (i < n % count ? 1 : 0)));
  } else {
    const int64_t n = *extent.value(), each = std::max<int64_t>(1, (n + count - 1) / count);
    for (int64_t at = 0; at < n; at += each) sizes.push_back(Dim(std::min(each, n - at)));
  }
  return parts_of(o, x, axis, sizes);
}
/// Cut at positions as Python counts them.
Results split_at(Operands& o) {
  const Tensor x = o.tensor("self");
  const Dims in = o.b.dims(o.b.read(x));
  if (in.empty()) o.corrupt("splits a scalar");
  const int64_t axis = o.axis("dim", int64_t(in.size())), n = fixed_extent(o, in, axis);
  Dims sizes;
  int64_t from = 0;
  for (int64_t at : o.integers("indices")) {
    at = std::clamp<int64_t>(at < 0 ? at + n : at, from, n);
    sizes.push_back(Dim(at - from));
    from = at;
  }
  sizes.push_back(Dim(n - from));
  return parts_of(o, x, axis, sizes);
}
Results unbind(Operands& o) {
  const Tensor x = o.tensor("self");
  const Dims in = o.b.dims(o.b.read(x));
  if (in.empty()) o.corrupt("takes a scalar apart");
  const int64_t axis = o.axis("dim", int64_t(in.size())), n = fixed_extent(o, in, axis);
  if (n > kMaxParts) o.corrupt("makes " + std::to_string(n) + " tensors");
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < n; i++) parts.push_back(selected(o, x, axis, Dim(i)));
  return {Value::tensors(parts)};
}

}  // namespace

void add_views(Table& table) {
  table.add("view.dtype", "Tensor self, int dtype", view_as_type);
  table.add_all("view _unsafe_view view_copy", "Tensor self, int[] size", reshape);
  table.add_all("reshape", "Tensor self, int[] shape", reshape);
  table.add_all("_reshape_alias _reshape_copy", "Tensor self, int[] size, Any stride=None",
                reshape);
  table.add_all("view_as reshape_as", "Tensor self, Tensor other", reshape);
  table.add("flatten.using_ints", "Tensor self, int start_dim=0, int end_dim=-1", flatten);
  table.add("ravel", "Tensor self", ravel);
  table.add("unflatten.int", "Tensor self, int dim, int[] sizes", unflatten);
  table.add_all("squeeze squeeze_copy", "Tensor self", squeeze);
  table.add_all("squeeze.dim squeeze.dims squeeze_copy.dim squeeze_copy.dims",
                "Tensor self, int[] dim", squeeze);
  table.add_all("unsqueeze unsqueeze_copy", "Tensor self, int dim", unsqueeze);
  table.add_all("permute permute_copy", "Tensor self, int[] dims", permute);
  table.add_all("diagonal diagonal_copy", "Tensor self, int offset=0, int dim1=0, int dim2=1",
                diagonal);
  table.add_all("transpose.int swapdims transpose_copy.int", "Tensor self, int dim0, int dim1",
                transpose);
  table.add("swapaxes", "Tensor self, int axis0, int axis1", transpose);
  table.add_all("t t_copy numpy_T mT adjoint mH matrix_H", "Tensor self", transpose);
  table.add_all("movedim.intlist moveaxis.intlist", "Tensor self, int[] source, int[] destination",
                move_axes);
  table.add_all("expand expand_copy", "Tensor self, int[] size, *, bool implicit=False", expand);
  table.add("expand_as", "Tensor self, Tensor other", expand);
  table.add("broadcast_to", "Tensor self, int[] size", expand);
  table.add_all("slice.Tensor slice_copy.Tensor",
                "Tensor self, int dim=0, int? start=None, int? end=None, int step=1", slice);
  table.add_all("narrow narrow_copy", "Tensor self, int dim, int start, int length", narrow);
  table.add_all("select.int select_copy.int", "Tensor self, int dim, int index", select);
  table.add_all("split.Tensor split_copy.Tensor unsafe_split.Tensor",
                "Tensor self, int split_size, int dim=0", split);
  table.add("split.sizes", "Tensor self, int[] split_size, int dim=0", split);
  table.add_all("split_with_sizes split_with_sizes_copy unsafe_split_with_sizes",
                "Tensor self, int[] split_sizes, int dim=0", split);
  table.add_all("chunk unsafe_chunk", "Tensor self, int chunks, int dim=0", chunk);
  table.add("tensor_split.sections", "Tensor self, int sections, int dim=0", chunk);
  table.add("tensor_split.indices", "Tensor self, int[] indices, int dim=0", split_at);
  table.add_all("unbind.int unbind_copy.int", "Tensor self, int dim=0", unbind);
}

}  // namespace ingot::aten
