// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_movement.cpp - elements in other places, as new tensors: joining,
// repeating, rolling, padding.
#include <algorithm>
#include <numeric>

#include "tools/import/aten/operands.h"
#include "tools/import/aten/promotion.h"

namespace ingot::aten {
namespace {

std::vector<ValueId> of_one_type(Operands& o, std::vector<ValueId> parts) {
  DType dtype = DType::kInvalid;
  for (const ValueId id : parts) dtype = promoted(dtype, o.b.dtype(id));
  for (ValueId& id : parts) id = o.b.cast(id, dtype);
  return parts;
}
Results cat(Operands& o) {
  std::vector<ValueId> parts = o.read_all("tensors");
  int64_t rank = 0;
  for (const ValueId id : parts) rank = std::max(rank, o.b.rank(id));
  // A tensor of shape [0] joins with anything.
  parts.erase(std::remove_if(parts.begin(), parts.end(),
                             [&](ValueId id) { return rank > 1 && o.b.dims(id) == Dims{Dim(0)}; }),
              parts.end());
  if (parts.empty()) o.corrupt("joins nothing");
  const int64_t axis = o.axis("dim", rank);
  return o.result(o.b.emit(op::Concat, of_one_type(o, parts), {{attr::axis, axis}}));
}
Results stack(Operands& o) {
  std::vector<ValueId> parts = of_one_type(o, o.read_all("tensors"));
  if (parts.empty()) o.corrupt("joins nothing");
  Dims dims = o.b.dims(parts[0]);
  const int64_t axis = o.axis("dim", int64_t(dims.size()) + 1);
  dims.insert(dims.begin() + axis, Dim(1));
  for (ValueId& id : parts) id = o.b.reshape(id, dims);
  return o.result(o.b.emit(op::Concat, parts, {{attr::axis, axis}}));
}
Results repeat(Operands& o) {
  ValueId x = o.read("self");
  Dims repeats = o.dims(o.has("repeats") ? "repeats" : "dims");
  Dims in = o.b.dims(x);
  while (repeats.size() < in.size() && o.op() == "tile") repeats.insert(repeats.begin(), Dim(1));
  if (repeats.size() < in.size()) o.corrupt("repeats fewer dimensions than there are");
  in.insert(in.begin(), repeats.size() - in.size(), Dim(1));
  x = o.b.reshape(x, in);
  bool grows_ones = true;  // then it is an expansion
  Dims out = in;
  for (size_t i = 0; i < in.size(); i++) {
    out[i] = in[i] * repeats[i];
    grows_ones = grows_ones && (in[i] == Dim(1) || repeats[i] == Dim(1));
  }
  if (grows_ones) return o.result(o.b.expand(x, out));
  std::vector<ValueId> counts;
  for (const Dim& d : repeats) counts.push_back(o.b.reshape(o.b.extent(d), {Dim(1)}));
  return o.result(
      o.b.emit(op::Tile,
               {x, counts.size() == 1 ? counts[0]
                                      : o.b.emit(op::Concat, counts, {{attr::axis, int64_t(0)}})}));
}
/// How often each element comes; where one number counts for all, `*each` is it.
std::vector<int64_t> repetitions(Operands& o, Dim* each) {
  const Value& repeats = o.value("repeats");
  if (!repeats.is(Value::Kind::kTensor)) {
    if (!repeats.is(Value::Kind::kInt)) o.refuse("repeats", "is " + repeats.describe());
    *each = repeats.integer;
    return {};
  }
  const auto counts = o.b.contents(o.read("repeats"));
  if (!counts) o.refuse("repeats", "is a tensor that only the data tells");
  if (counts->size() == 1) {
    const auto one = (*counts)[0].dim();
    if (!one) o.refuse("repeats", "is a tensor that only the data tells");
    *each = *one;
    return {};
  }
  std::vector<int64_t> all;
  for (const graph::Scalar& count : *counts) {
    const auto number = count.number();
    if (!number || *number < 0 || *number > 1 << 20)
      o.refuse("repeats", "is a tensor that only the data tells");
    all.push_back(int64_t(*number));
  }
  return all;
}
Results repeat_interleave(Operands& o) {
  Dim each;
  const std::vector<int64_t> counts = repetitions(o, &each);
  ValueId x = o.read("self");
  if (!o.given("dim")) x = o.b.reshape(x, {graph::product(o.b.dims(x))});
  Dims dims = o.b.dims(x);
  const int64_t axis = o.given("dim") ? o.axis("dim", int64_t(dims.size())) : 0;
  if (dims.empty()) o.corrupt("repeats along a dimension of a scalar");
  if (!counts.empty()) {
    if (dims[size_t(axis)] != Dim(int64_t(counts.size())))
      o.refuse("repeats", "has " + std::to_string(counts.size()) + " numbers for " +
                              dims[size_t(axis)].text());
    constexpr size_t kMax = 1 << 24;
    std::vector<int64_t> from;
    for (size_t i = 0; i < counts.size(); i++) {
      if (from.size() + size_t(counts[i]) > kMax)
        o.refuse("repeats", "asks for more than 16 million rows");
      from.insert(from.end(), size_t(counts[i]), int64_t(i));
    }
    return o.result(o.b.emit(op::Gather, {x, o.b.integers(from)}, {{attr::axis, axis}}));
  }
  Dims wide = dims;
  wide.insert(wide.begin() + axis + 1, Dim(1));
  x = o.b.reshape(x, wide);
  wide[size_t(axis) + 1] = each;
  dims[size_t(axis)] = dims[size_t(axis)] * each;
  return o.result(o.b.reshape(o.b.expand(x, wide), dims));
}

ValueId rolled(Builder& b, ValueId x, int64_t axis, int64_t shift) {
  if (shift > int64_t(1) << 40 || shift < -(int64_t(1) << 40))
    throw Refused{"shifts", "rolls by " + std::to_string(shift), ""};
  const Dim extent = b.dims(x)[size_t(axis)];
  Dim at;
  if (const auto n = extent.value()) {
    if (*n == 0) return x;
    at = Dim(((-shift) % *n + *n) % *n);
  } else {
    at = shift > 0 ? extent - Dim(shift) : Dim(-shift);
  }
  if (at == Dim(0)) return x;
  return b.emit(op::Concat, {b.slice(x, axis, at, extent), b.slice(x, axis, Dim(0), at)},
                {{attr::axis, axis}});
}
Results roll(Operands& o) {
  ValueId x = o.read("self");
  const std::vector<int64_t> shifts = o.integers("shifts"), given = o.integers("dims");
  const Dims dims = o.b.dims(x);
  if (given.empty()) {
    if (shifts.size() != 1)
      o.corrupt("rolls without dims by " + std::to_string(shifts.size()) + " numbers");
    x = rolled(o.b, o.b.reshape(x, {graph::product(dims)}), 0, shifts[0]);
    return o.result(o.b.reshape(x, dims));
  }
  const std::vector<int64_t> axes = o.axes("dims", int64_t(dims.size()));
  if (axes.size() != shifts.size())
    o.corrupt("has " + std::to_string(shifts.size()) + " shifts for " +
              std::to_string(axes.size()) + " dims");
  for (size_t i = 0; i < axes.size(); i++) x = rolled(o.b, x, axes[i], shifts[i]);
  return o.result(x);
}
Results flip(Operands& o) {
  ValueId x = o.read("self");
  for (const int64_t axis : o.axes("dims", o.b.rank(x)))
    x = o.b.slice(x, axis, o.b.dims(x)[size_t(axis)] - Dim(1), Dim(-(int64_t(1) << 40)), -1);
  return o.result(x);
}

/// Neighbours, the first taken from the second; of truths whether they differ.
Results difference(Operands& o) {
  const DType dtype = o.b.dtype(o.read("self"));
  const int64_t axis = o.axis("dim", o.b.rank(o.read("self")));
  int64_t times = o.integer("n");
  if (times < 0) o.corrupt("takes differences " + std::to_string(times) + " times");
  std::vector<ValueId> parts;
  for (const char* name : {"prepend", "self", "append"})
    if (o.given(name)) parts.push_back(o.b.cast(o.read(name), dtype));
  ValueId x = parts.size() == 1 ? parts[0] : o.b.emit(op::Concat, parts, {{attr::axis, axis}});
  // Nothing is left after as many as there are elements.
  times = std::min(times, o.b.dims(x)[size_t(axis)].value().value_or(times));
  for (int64_t i = 0; i < times; i++) {
    const Dim extent = o.b.dims(x)[size_t(axis)];
    const ValueId first = o.b.slice(x, axis, Dim(0), extent - Dim(1)),
                  second = o.b.slice(x, axis, Dim(1), extent);
    x = o.b.emit(dtype == DType::kBool ? op::Xor : op::Sub, {second, first});
  }
  return o.result(x);
}

/// Pairs for the last dimensions first, as PyTorch counts them.
Results pad(Operands& o) {
  const ValueId x = o.read("self");
  const Dims given = o.dims(o.has("padding") ? "padding" : "pad");
  const size_t rank = size_t(o.b.rank(x));
  if (given.size() % 2 != 0 || given.size() / 2 > rank)
    o.corrupt("pads by " + std::to_string(given.size()) + " numbers a tensor of " +
              std::to_string(rank) + " dimensions");
  Dims pads(rank * 2, Dim(0));
  for (size_t i = 0; i < given.size() / 2; i++) {
    pads[rank - 1 - i] = given[2 * i];
    pads[2 * rank - 1 - i] = given[2 * i + 1];
  }
  std::string mode = o.has("mode")                         ? o.text("mode")
                     : o.op().rfind("reflection", 0) == 0  ? "reflect"
                     : o.op().rfind("replication", 0) == 0 ? "replicate"
                                                           : "constant";
  if (mode == "replicate") mode = "edge";
  if (mode == "circular") mode = "wrap";
  if (mode != "constant" && mode != "edge" && mode != "wrap" && mode != "reflect")
    o.refuse("mode", "'" + mode + "' is not known");
  const double value = o.given("value") ? o.number("value") : 0;
  return o.result(
      o.b.emit(op::Pad, {x}, {{attr::pads, pads}, {attr::mode, mode}, {attr::value, value}}));
}

Results pixel_shuffle(Operands& o) {
  const bool up = o.op() == "pixel_shuffle";
  ValueId x = o.read("self");
  const int64_t factor = o.integer(up ? "upscale_factor" : "downscale_factor");
  Dims in = o.b.dims(x);
  if (in.size() < 3 || factor < 1 || factor > 1 << 15)
    o.corrupt("has factor " + std::to_string(factor) + " and input " + graph::text(in));
  const Dim r(factor), lead = graph::product(Dims(in.begin(), in.end() - 3)), c = in[in.size() - 3],
                       h = in[in.size() - 2], w = in[in.size() - 1];
  const Dims front(in.begin(), in.end() - 3);
  Dims out = front;
  if (up) {
    const Dim channels = c / (r * r);
    x = o.b.transpose(o.b.reshape(x, {lead, channels, r, r, h, w}), {0, 1, 4, 2, 5, 3});
    out.insert(out.end(), {channels, h * r, w * r});
  } else {
    x = o.b.transpose(o.b.reshape(x, {lead, c, h / r, r, w / r, r}), {0, 1, 3, 5, 2, 4});
    out.insert(out.end(), {c * r * r, h / r, w / r});
  }
  return o.result(o.b.reshape(x, out));
}
Results channel_shuffle(Operands& o) {
  const ValueId x = o.read("self");
  const Dims in = o.b.dims(x);
  const int64_t groups = o.integer("groups");
  if (in.size() < 3 || groups < 1)
    o.corrupt("shuffles " + graph::text(in) + " in " + std::to_string(groups) + " groups");
  Dims apart = {in[0], Dim(groups), in[1] / Dim(groups)};
  apart.insert(apart.end(), in.begin() + 2, in.end());
  std::vector<int64_t> perm(apart.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[1], perm[2]);
  return o.result(o.b.reshape(o.b.transpose(o.b.reshape(x, apart), perm), in));
}
/// A view that is not followed: where it or what it was made from is written later, reading the
/// other is refused.
Tensor unfollowed(Operands& o, const Tensor& of, ValueId value) {
  const Tensor made = o.b.view_or_copy(of, value);
  Builder::forget_strides(made);
  return made;
}
/// Windows of `size` along one dimension, which become a last dimension of their own.
Results unfold(Operands& o) {
  const ValueId x = o.read("self");
  const Dims in = o.b.dims(x);
  const int64_t axis = o.axis("dimension", int64_t(in.size())), size = o.integer("size"),
                step = o.integer("step");
  const auto extent = in.empty() ? std::nullopt : in[size_t(axis)].value();
  if (!extent) o.refuse("dimension", "is symbolic", "bind it with --dim");
  if (size < 1 || step < 1 || size > *extent)
    o.corrupt("takes windows of " + std::to_string(size) + " from " + graph::text(in));
  const int64_t count = (*extent - size) / step + 1;
  if (count > (int64_t(1) << 24) / size)
    o.refuse("size", "makes more than 16 million elements of index");
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < count; i++)
    for (int64_t k = 0; k < size; k++) indices.push_back(i * step + k);
  const ValueId index = o.b.reshape(o.b.integers(indices), {Dim(count), Dim(size)});
  const ValueId made = o.b.emit(op::Gather, {x, index}, {{attr::axis, axis}});
  std::vector<int64_t> perm(in.size() + 1);
  std::iota(perm.begin(), perm.end(), 0);
  perm.erase(perm.begin() + axis + 1);
  perm.push_back(axis + 1);
  return {Value::of(unfollowed(o, o.tensor("self"), o.b.transpose(made, perm)))};
}
Results triangle(Operands& o) {
  const ValueId k = o.b.extent(o.dim("diagonal"));
  return o.result(
      o.b.emit(op::Trilu, {o.read("self"), k}, {{attr::upper, int64_t(o.op() == "triu")}}));
}
Results broadcast_tensors(Operands& o) {
  const std::vector<ValueId> parts = o.read_all("tensors");
  if (parts.empty()) return {Value::tensors({})};
  ValueId all = parts[0];
  for (const ValueId id : parts) {  // the shape of their sum, which nobody reads
    const ValueId a = o.b.cast(all, DType::kF32), b = o.b.cast(id, DType::kF32);
    all = o.b.emit(op::Add, {a, b});
  }
  std::vector<Tensor> out;
  const Dims dims = o.b.dims(all);
  for (size_t i = 0; i < parts.size(); i++)
    out.push_back(unfollowed(o, (*o.value("tensors").items)[i].tensor, o.b.expand(parts[i], dims)));
  return {Value::tensors(out)};
}
Results meshgrid(Operands& o) {
  const std::vector<ValueId> parts = o.read_all("tensors");
  const std::string indexing = o.given("indexing") ? o.text("indexing") : "ij";
  if (indexing != "ij" && indexing != "xy") o.refuse("indexing", "'" + indexing + "' is not known");
  const bool swapped = indexing == "xy" && parts.size() >= 2;
  Dims dims;
  for (const ValueId id : parts) dims.push_back(graph::product(o.b.dims(id)));
  if (swapped) std::swap(dims[0], dims[1]);
  std::vector<Tensor> out;
  for (size_t i = 0; i < parts.size(); i++) {
    const size_t at = swapped && i < 2 ? 1 - i : i;
    Dims column(dims.size(), Dim(1));
    column[at] = dims[at];
    const ValueId made = o.b.expand(o.b.reshape(parts[i], column), dims);
    out.push_back(unfollowed(o, (*o.value("tensors").items)[i].tensor, made));
  }
  return {Value::tensors(out)};
}

}  // namespace

void add_movement(Table& table) {
  table.add_all("cat concat concatenate", "Tensor[] tensors, int dim=0", cat);
  table.add("stack", "Tensor[] tensors, int dim=0", stack);
  table.add("diff", "Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None",
            difference);
  table.add("repeat", "Tensor self, int[] repeats", repeat);
  table.add("tile", "Tensor self, int[] dims", repeat);
  table.add("repeat_interleave",
            "Tensor self, Any repeats, int? dim=None, *, int? output_size=None", repeat_interleave);
  table.add("roll", "Tensor self, int[] shifts, int[] dims=[]", roll);
  table.add("flip", "Tensor self, int[] dims", flip);
  table.add("pad", "Tensor self, int[] pad, str mode='constant', float? value=None", pad);
  table.add("constant_pad_nd", "Tensor self, int[] pad, Scalar value=0", pad);
  for (const char* name : {"reflection_pad1d", "reflection_pad2d", "reflection_pad3d",
                           "replication_pad1d", "replication_pad2d", "replication_pad3d"})
    table.add(name, "Tensor self, int[] padding", pad);
  table.add("pixel_shuffle", "Tensor self, int upscale_factor", pixel_shuffle);
  table.add("pixel_unshuffle", "Tensor self, int downscale_factor", pixel_shuffle);
  table.add_all("channel_shuffle native_channel_shuffle", "Tensor self, int groups",
                channel_shuffle);
  table.add("unfold", "Tensor self, int dimension, int size, int step", unfold);
  table.add_all("tril triu", "Tensor self, int diagonal=0", triangle);
  table.add("broadcast_tensors", "Tensor[] tensors", broadcast_tensors);
  table.add("meshgrid", "Tensor[] tensors, *, str? indexing=None", meshgrid);
}

}  // namespace ingot::aten
