// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/operations_moving.cpp - keras.ops that move elements: x[index], reshapes,
// turns, parts, copies.
#include "tools/import/keras/layer_call.h"

namespace ingot::keras {
namespace {

using graph::Dim;
using graph::Dims;

constexpr int64_t kEnd = int64_t{1} << 40;  // behind every element

bool is_class(const Json& item, const char* name) {
  const auto found = item.is_object() ? item.find("class_name") : item.end();
  return found != item.end() && *found == name;
}
/// start, stop or step of a slice.
std::optional<int64_t> bound(LayerCall& call, const Json& slice, const char* key) {
  const auto config = slice.find("config");
  if (config == slice.end() || !config->is_object()) call.corrupt("has a slice without its bounds");
  const auto found = config->find(key);
  if (found == config->end() || found->is_null()) return std::nullopt;
  if (!found->is_number_integer())
    call.refuse("index", "a " + std::string(key) + " that is computed is not built");
  const int64_t n = found->get<int64_t>();
  if (n > kEnd || n < -kEnd) call.corrupt("has a slice with " + std::to_string(n));
  return n;
}

/// x[index]: numbers, slices, an ellipsis, None.
void get_item(LayerCall& call) {
  if (call.inputs().size() != 1 || !call.index) call.refuse("index", "is not built");
  const Json items = call.index->is_array() ? *call.index : Json::array({*call.index});
  int64_t named = 0;
  for (const Json& item : items) named += !item.is_null() && !is_class(item, "__ellipsis__");
  const int64_t rank = call.rank();
  if (named > rank) call.corrupt("has an index of " + std::to_string(named) + " dimensions");
  ValueId x = call.input();
  Dims dims;
  int64_t axis = 0;
  bool was_ellipsis = false;
  const auto keep = [&](int64_t count) {
    for (; count > 0; count--, axis++) dims.push_back(call.b.dims(x)[size_t(axis)]);
  };
  for (const Json& item : items) {
    if (item.is_null()) {
      dims.push_back(Dim(1));
    } else if (is_class(item, "__ellipsis__")) {
      if (was_ellipsis) call.corrupt("has two ellipses in its index");
      was_ellipsis = true;
      keep(rank - named);
    } else if (is_class(item, "__slice__")) {
      const int64_t step = bound(call, item, "step").value_or(1);
      if (step == 0) call.corrupt("has a slice of step 0");
      const auto start = bound(call, item, "start"), stop = bound(call, item, "stop");
      if (start || stop || step != 1)
        x = call.b.slice(x, axis, Dim(start.value_or(step > 0 ? 0 : -1)),
                         Dim(stop.value_or(step > 0 ? kEnd : -kEnd)), step);
      keep(1);
    } else if (item.is_number_integer()) {
      const int64_t at = item.get<int64_t>();
      const auto extent = call.b.dims(x)[size_t(axis)].value();
      if (at > kEnd || at < -kEnd || (extent && (at >= *extent || at < -*extent)))
        call.corrupt("has index " + std::to_string(at) + " of " + graph::text(call.b.dims(x)));
      x = call.b.slice(x, axis, Dim(at), Dim(at == -1 ? kEnd : at + 1));
      axis++;
    } else {
      call.refuse("index", "of other than numbers and slices is not built");
    }
  }
  keep(rank - axis);
  call.give(call.b.reshape(x, dims));
}

void new_shape(LayerCall& call) {
  const Dims from = call.b.dims(call.input());
  Dims dims;
  Dim known(1);
  int open = -1;
  for (const int64_t number : call.whole_numbers_of("newshape")) {
    if (number < -1) call.corrupt("has a new shape with " + std::to_string(number));
    if (number == -1) {
      if (open >= 0) call.corrupt("has a new shape with two extents of -1");
      open = int(dims.size());
    } else {
      known = known * Dim(number);
    }
    dims.push_back(Dim(number == -1 ? 1 : number));
  }
  if (open >= 0) {
    if (known == Dim(0)) call.corrupt("has a new shape without elements");
    dims[size_t(open)] = graph::product(from) / known;
  }
  call.give(call.b.reshape(call.input(), dims));
}
void turn(LayerCall& call) {
  std::vector<int64_t> perm = call.whole_numbers_of("axes");
  if (perm.empty())
    for (int64_t d = call.rank(); d-- > 0;) perm.push_back(d);
  std::vector<bool> taken(size_t(call.rank()), false);
  for (int64_t& axis : perm) {
    if (axis < 0) axis += call.rank();
    if (axis < 0 || axis >= call.rank() || taken[size_t(axis)])
      call.corrupt("its axes are no order of its input's");
    taken[size_t(axis)] = true;
  }
  if (int64_t(perm.size()) != call.rank()) call.corrupt("its axes are no order of its input's");
  call.give(call.b.transpose(call.input(), perm));
}
void swap_axes(LayerCall& call) {
  const int64_t one = call.axis("axis1", 0, call.rank()),
                other = call.axis("axis2", 0, call.rank());
  call.give(swapped(aten::Term{&call.b, call.input()}, one, other).id);
}
void add_axes(LayerCall& call) {
  const size_t count = call.numbers_of("axis").size();
  const std::vector<int64_t> axes = call.axes("axis", call.rank() + int64_t(count));
  if (axes.size() != count || axes.empty()) call.corrupt("names an axis twice, or none");
  Dims dims = call.b.dims(call.input());
  for (const int64_t axis : axes) dims.insert(dims.begin() + axis, Dim(1));
  call.give(call.b.reshape(call.input(), dims));
}
void drop_axes(LayerCall& call) {
  const Dims from = call.b.dims(call.input());
  std::vector<int64_t> axes = call.axes("axis", call.rank());
  Dims dims;
  for (size_t d = 0; d < from.size(); d++) {
    bool gone = axes.empty() && from[d] == Dim(1);
    for (const int64_t axis : axes) gone |= axis == int64_t(d);
    if (gone && from[d] != Dim(1)) call.corrupt("drops an axis of " + graph::text(from));
    if (!gone) dims.push_back(from[d]);
  }
  call.give(call.b.reshape(call.input(), dims));
}
void expect_one_type(LayerCall& call) {
  for (const ValueId x : call.inputs())
    if (call.b.dtype(x) != call.b.dtype(call.inputs()[0]))
      call.refuse("", "of tensors of different types is not built", "cast them first");
}
void concat_tensors(LayerCall& call) {
  expect_one_type(call);
  const int64_t axis = call.axis("axis", 0, call.rank());
  if (call.inputs().size() == 1) return call.give(call.input());
  call.give(call.b.emit(op::Concat, call.inputs(), {{attr::axis, axis}}));
}
void stack(LayerCall& call) {
  expect_one_type(call);
  const int64_t axis = call.axis("axis", 0, call.rank() + 1);
  std::vector<ValueId> parts;
  for (const ValueId x : call.inputs()) {
    Dims dims = call.b.dims(x);
    if (axis > int64_t(dims.size())) call.corrupt("stacks tensors of different ranks");
    dims.insert(dims.begin() + axis, Dim(1));
    parts.push_back(call.b.reshape(x, dims));
  }
  call.give(parts.size() == 1 ? parts[0] : call.b.emit(op::Concat, parts, {{attr::axis, axis}}));
}
/// Equal parts, or parts between places.
void split(LayerCall& call) {
  const int64_t axis = call.axis("axis", 0, call.rank()), extent = call.extent(axis);
  const Json* said = call.field("indices_or_sections");
  std::vector<int64_t> ends;
  if (said && said->is_number_integer()) {
    const int64_t count = call.integer("indices_or_sections", 1);
    if (count < 1 || count > extent || extent % count)
      call.corrupt("splits " + std::to_string(extent) + " into " + std::to_string(count));
    for (int64_t i = 1; i <= count; i++) ends.push_back(extent / count * i);
  } else {
    ends = call.whole_numbers_of("indices_or_sections");
    ends.push_back(extent);
  }
  int64_t begin = 0;
  for (const int64_t end : ends) {
    if (end < begin || end > extent) call.corrupt("splits at " + std::to_string(end));
    call.outputs.push_back(call.b.slice(call.input(), axis, Dim(begin), Dim(end)));
    begin = end;
  }
}
void flip(LayerCall& call) {
  std::vector<int64_t> axes = call.axes("axis", call.rank());
  if (axes.empty()) call.refuse("axis", "of all is not built");
  ValueId x = call.input();
  for (const int64_t axis : axes) x = call.b.slice(x, axis, Dim(-1), Dim(-kEnd), -1);
  call.give(x);
}
/// Each element several times, one behind the other.
void repeat(LayerCall& call) {
  if (!call.field("axis")) call.refuse("axis", "of all elements is not built");
  const int64_t axis = call.axis("axis", 0, call.rank()), count = call.integer("repeats", 1);
  if (count < 1 || count > (1 << 20)) call.corrupt("repeats " + std::to_string(count) + " times");
  Dims dims = call.b.dims(call.input()), wide = dims, made = dims;
  dims.insert(dims.begin() + axis + 1, Dim(1));
  wide.insert(wide.begin() + axis + 1, Dim(count));
  made[size_t(axis)] = made[size_t(axis)] * Dim(count);
  call.give(call.b.reshape(call.b.expand(call.b.reshape(call.input(), dims), wide), made));
}
void tile(LayerCall& call) {
  const std::vector<int64_t> counts = call.whole_numbers_of("repeats");
  if (int64_t(counts.size()) != call.rank()) call.refuse("repeats", "of another rank is not built");
  for (const int64_t n : counts)
    if (n < 1 || n > (1 << 20)) call.corrupt("repeats " + std::to_string(n) + " times");
  call.give(call.b.emit(op::Tile, {call.input(), call.b.integers(counts)}));
}
void pad(LayerCall& call) {
  const std::string mode = call.text("mode", "constant");
  if (mode != "constant" && mode != "reflect") call.refuse("mode", "'" + mode + "' is not built");
  const std::vector<int64_t> widths = call.whole_numbers_of("pad_width");
  if (int64_t(widths.size()) != 2 * call.rank())
    call.refuse("pad_width", "of another rank is not built");
  std::vector<int64_t> pads(widths.size());
  for (size_t i = 0; i < widths.size(); i++) {
    if (widths[i] < 0 || widths[i] > (1 << 20)) call.corrupt("pads " + std::to_string(widths[i]));
    pads[i / 2 + (i % 2) * size_t(call.rank())] = widths[i];
  }
  call.give(call.b.emit(op::Pad, {call.input(), call.b.integers(pads)}, {{attr::mode, mode}}));
}
/// Elements at places that stand in the call: one, or several.
void take(LayerCall& call) {
  if (call.inputs().size() != 1 || !call.index || call.index->is_null())
    call.refuse("indices", "that are computed are not built");
  if (!call.field("axis")) call.refuse("axis", "of all elements is not built");
  const int64_t axis = call.axis("axis", 0, call.rank());
  const bool is_one = call.index->is_number_integer();
  const Json items = is_one ? Json::array({*call.index}) : *call.index;
  std::vector<int64_t> places;
  for (const Json& item : items) {
    if (!item.is_number_integer()) call.refuse("indices", "of several dimensions are not built");
    places.push_back(item.get<int64_t>());
    const auto extent = call.b.dims(call.input())[size_t(axis)].value();
    if (extent && (places.back() >= *extent || places.back() < -*extent))
      call.corrupt("takes element " + std::to_string(places.back()) + " of " +
                   std::to_string(*extent));
  }
  const ValueId some =
      call.b.emit(op::Gather, {call.input(), call.b.integers(places)}, {{attr::axis, axis}});
  Dims dims = call.b.dims(some);
  if (is_one) dims.erase(dims.begin() + axis);
  call.give(call.b.reshape(some, dims));
}

}  // namespace

void add_moving_operations(TranslateTable& table) {
  table["GetItem"] = get_item;
  table["Reshape"] = new_shape;
  table["Transpose"] = turn;
  table["Swapaxes"] = swap_axes;
  table["ExpandDims"] = add_axes;
  table["Squeeze"] = drop_axes;
  table["Concatenate"] = concat_tensors;
  table["Stack"] = stack;
  table["Split"] = split;
  table["Flip"] = flip;
  table["Repeat"] = repeat;
  table["Tile"] = tile;
  table["Pad"] = pad;
  table["Take"] = take;
}

}  // namespace ingot::keras
