// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_shape.cpp - what changes extents and the order of axes alone, and what
// asks for extents.
#include <algorithm>

#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

void reshape(Call& call) {
  const std::vector<int64_t> option = call.integers("new_shape");
  ValueId shape = kAbsent;
  if (call.has(1))
    shape = call.b.cast(call.input(1), DType::kI64);
  else
    shape = call.b.integers(option);
  if (call.b.rank(shape) != 1) shape = call.b.reshape(shape, {graph::product(call.b.dims(shape))});
  if (call.is_complex(0))  // both parts stay together
    shape = call.b.emit(op::Concat, {shape, call.b.integers({2})}, {{attr::axis, int64_t(0)}});
  call.give(call.b.emit(op::Reshape, {call.input(0), shape}, {{attr::allowzero, int64_t(1)}}));
}

void squeeze(Call& call) {
  const Dims dims = call.dims(0);
  std::vector<bool> gone(dims.size(), false);
  const std::vector<int64_t> axes = call.integers("squeeze_dims");
  for (const int64_t given : axes) gone[size_t(call.axis(given, int64_t(dims.size())))] = true;
  Dims kept;
  for (size_t d = 0; d < dims.size(); d++) {
    if (axes.empty() ? dims[d] == Dim(1) : bool(gone[d])) {
      if (dims[d].is_static() && dims[d] != Dim(1))
        call.corrupt("takes away a dimension of " + dims[d].text());
      continue;
    }
    kept.push_back(dims[d]);
  }
  call.give(call.reshaped(0, kept));
}

void expand_dims(Call& call) {
  Dims dims = call.dims(0);
  const int64_t axis = call.axis(call.known_integer(1, "axis"), int64_t(dims.size()) + 1);
  dims.insert(dims.begin() + axis, Dim(1));
  call.give(call.reshaped(0, dims));
}

void transpose(Call& call) {
  const int64_t rank = call.rank(0);
  std::vector<int64_t> perm;
  for (const int64_t given : call.known_integers(1, "perm")) perm.push_back(call.axis(given, rank));
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); i++)
    if (sorted[i] != int64_t(i)) call.corrupt("its perm is no order of axes");
  if (int64_t(perm.size()) != rank)
    call.corrupt("its perm has " + std::to_string(perm.size()) + " axes, its input " +
                 std::to_string(rank));
  call.give(call.b.transpose(call.input(0), perm));
}

void concatenate(Call& call) {
  const int64_t axis = call.axis(call.integer("axis"), call.rank(0));
  std::vector<ValueId> all;
  for (size_t i = 0; i < call.input_count(); i++) all.push_back(call.input(i));
  call.give(call.activated(call.b.emit(op::Concat, all, {{attr::axis, axis}})));
}

void pack(Call& call) {
  const int64_t axis = call.axis(call.integer("axis"), call.rank(0) + 1);
  std::vector<ValueId> all;
  for (size_t i = 0; i < call.input_count(); i++) {
    Dims dims = call.b.dims(call.input(i));
    if (int64_t(dims.size()) < axis) call.corrupt("its inputs have different shapes");
    dims.insert(dims.begin() + axis, Dim(1));
    all.push_back(call.b.reshape(call.input(i), dims));
  }
  call.give(call.b.emit(op::Concat, all, {{attr::axis, axis}}));
}

void unpack(Call& call) {
  const ValueId x = call.input(0);
  const Dims dims = call.b.dims(x);
  const int64_t axis = call.axis(call.integer("axis"), int64_t(dims.size()));
  const int64_t count = int64_t(call.output_count());
  if (dims[size_t(axis)] != Dim(count))
    call.corrupt("has " + std::to_string(count) + " outputs of a dimension of " +
                 dims[size_t(axis)].text());
  Dims rest = dims;
  rest.erase(rest.begin() + axis);
  std::vector<ValueId> made;
  for (int64_t i = 0; i < count; i++)
    made.push_back(call.b.reshape(call.b.slice(x, axis, Dim(i), Dim(i + 1)), rest));
  call.give_all(made);
}

void split_along(Call& call, ValueId x, int64_t axis, const std::vector<Dim>& sizes) {
  std::vector<ValueId> made;
  Dim at(0);
  for (const Dim& size : sizes) {
    made.push_back(call.b.slice(x, axis, at, at + size));
    at = at + size;
  }
  if (at != call.b.dims(x)[size_t(axis)])
    call.corrupt("its parts take " + at.text() + " of " + call.b.dims(x)[size_t(axis)].text());
  call.give_all(made);
}
void split(Call& call) {
  const int64_t axis = call.axis(call.known_integer(0, "axis"), call.rank(1));
  const int64_t count = int64_t(call.output_count());
  if (count < 1) call.corrupt("has no outputs");
  const Dim each = call.b.dims(call.input(1))[size_t(axis)] / Dim(count);
  split_along(call, call.input(1), axis, std::vector<Dim>(size_t(count), each));
}
void split_v(Call& call) {
  const int64_t axis = call.axis(call.known_integer(2, "axis"), call.rank(0));
  const Dim whole = call.b.dims(call.input(0))[size_t(axis)];
  std::vector<Dim> sizes = call.known_dims(1, "size_splits");
  Dim known(0);
  int64_t open = -1;
  for (size_t i = 0; i < sizes.size(); i++) {
    if (sizes[i] == Dim(-1)) {
      if (open >= 0) call.corrupt("two of its sizes are open");
      open = int64_t(i);
      continue;
    }
    if (sizes[i].is_static() && *sizes[i].value() < 0) call.corrupt("a size of it is negative");
    known = known + sizes[i];
  }
  if (open >= 0) sizes[size_t(open)] = whole - known;
  split_along(call, call.input(0), axis, sizes);
}

void shape(Call& call) {
  ValueId extents = call.b.emit(op::Shape, {call.input(0)});
  if (call.is_complex(0))
    extents = call.b.slice(extents, 0, Dim(0), Dim(int64_t(call.dims(0).size())));
  call.give(call.b.cast(extents, call.output_dtype(0)));
}
void rank(Call& call) { call.give(call.b.scalar(call.output_dtype(0), double(call.rank(0)))); }

/// The shape that both broadcast to.
void broadcast_args(Call& call) {
  Dims a = call.known_dims(0, "shape"), b = call.known_dims(1, "shape");
  while (a.size() < b.size()) a.insert(a.begin(), Dim(1));
  while (b.size() < a.size()) b.insert(b.begin(), Dim(1));
  std::vector<ValueId> all;
  for (size_t i = 0; i < a.size(); i++) {
    const Dim d = a[i] == Dim(1) ? b[i] : a[i];
    if (b[i] != Dim(1) && b[i] != d)
      call.refuse("shape", a[i].text() + " and " + b[i].text() + " have no shape in common");
    all.push_back(call.b.reshape(call.b.extent(d), {Dim(1)}));
  }
  const ValueId made = all.empty()       ? call.b.integers({})
                       : all.size() == 1 ? all[0]
                                         : call.b.emit(op::Concat, all, {{attr::axis, int64_t(0)}});
  call.give(call.b.cast(made, call.output_dtype(0)));
}

}  // namespace

void add_shape(TranslateTable& table) {
  table["RESHAPE"] = {1, 2, reshape};
  table["SQUEEZE"] = {1, 1, squeeze};
  table["EXPAND_DIMS"] = {2, 2, expand_dims};
  table["TRANSPOSE"] = {2, 2, transpose};
  table["CONCATENATION"] = {1, SIZE_MAX, concatenate};
  table["PACK"] = {1, SIZE_MAX, pack};
  table["UNPACK"] = {1, 1, unpack};
  table["SPLIT"] = {2, 2, split};
  table["SPLIT_V"] = {3, 3, split_v};
  table["SHAPE"] = {1, 1, shape};
  table["RANK"] = {1, 1, rank};
  table["BROADCAST_ARGS"] = {2, 2, broadcast_args};
}

}  // namespace ingot::tflite
