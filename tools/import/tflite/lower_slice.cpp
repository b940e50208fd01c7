// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_slice.cpp - parts of tensors, and tensors with more around them.
#include <algorithm>

#include "tools/graph/tensor_math.h"
#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

constexpr int64_t kFarAway = int64_t{1} << 40;  // beyond every extent
constexpr int64_t kMaxPlaces = 31;              // as bits in a mask

/// Where a part begins or ends; where only a run tells that, `by_run` is it, i64 [1].
struct Position {
  Dim at;
  ValueId by_run = kAbsent;
};
bool is_known(const Position& position) { return position.by_run == kAbsent; }

/// Axes of the input in the order of what is asked of them.
struct Part {
  std::vector<int64_t> axes, steps;
  std::vector<Position> starts, ends;
};

/// The numbers of an input, one of each place.
std::vector<Position> positions(Call& call, size_t input, const char* what) {
  aten::Builder& b = call.b;
  const auto contents = b.contents(call.input(input));
  const Dims dims = b.dims(call.input(input));
  const auto count = dims.size() == 1 ? dims[0].value() : std::nullopt;
  std::vector<Position> out;
  if (!count || *count > kMaxPlaces || (contents && int64_t(contents->size()) != *count)) {
    for (const Dim& each : call.known_dims(input, what)) out.push_back({each});
    return out;
  }
  for (int64_t i = 0; i < *count; i++) {
    const auto known = contents ? (*contents)[size_t(i)].dim() : std::nullopt;
    if (known) {
      out.push_back({*known});
    } else {
      const ValueId all = b.cast(call.input(input), DType::kI64);
      out.push_back({Dim(0), b.slice(all, 0, Dim(i), Dim(i + 1))});
    }
  }
  return out;
}
ValueId joined(aten::Builder& b, const std::vector<Position>& all) {
  std::vector<ValueId> each;
  for (const Position& one : all) {
    const auto number = one.at.value();
    each.push_back(!is_known(one) ? one.by_run
                   : number       ? b.integers({*number})
                                  : b.reshape(b.extent(one.at), {Dim(1)}));
  }
  return b.emit(op::Concat, each, {{attr::axis, int64_t(0)}});
}
Dims known(const std::vector<Position>& all) {
  Dims out;
  for (const Position& one : all) out.push_back(one.at);
  return out;
}

ValueId sliced(Call& call, ValueId x, const Part& part) {
  if (part.axes.empty()) return x;
  aten::Builder& b = call.b;
  if (!std::all_of(part.starts.begin(), part.starts.end(), is_known) ||
      !std::all_of(part.ends.begin(), part.ends.end(), is_known))
    return b.emit(op::Slice, {x, joined(b, part.starts), joined(b, part.ends),
                              b.integers(part.axes), b.integers(part.steps)});
  return b.emit(op::Slice, {x},
                {{attr::starts, known(part.starts)},
                 {attr::ends, known(part.ends)},
                 {attr::axes, part.axes},
                 {attr::steps, part.steps}});
}

/// Python's x[begin:end:step, ..., None, i]: what the masks say of each place of the lists.
void strided_slice(Call& call) {
  const ValueId x = call.input(0);
  const Dims dims = call.b.dims(x);
  const std::vector<Position> begins = positions(call, 1, "begin"),
                              ends = positions(call, 2, "end");
  const std::vector<int64_t> steps = call.known_integers(3, "strides");
  const int64_t begin_mask = call.integer("begin_mask"), end_mask = call.integer("end_mask"),
                ellipsis_mask = call.integer("ellipsis_mask"),
                new_mask = call.integer("new_axis_mask"),
                shrink_mask = call.integer("shrink_axis_mask");
  const bool offset = call.flag("offset");
  const size_t count = begins.size();
  if (ends.size() != count || steps.size() != count || count > kMaxPlaces)
    call.corrupt("begin, end and strides have different lengths");
  const auto bit = [](int64_t mask, size_t i) { return ((mask >> i) & 1) != 0; };
  int64_t taken = 0, ellipses = 0;
  for (size_t i = 0; i < count; i++) {
    if (bit(ellipsis_mask, i))
      ellipses++;
    else if (!bit(new_mask, i))
      taken++;
  }
  if (ellipses > 1) call.corrupt("has two ellipses");
  if (taken > int64_t(dims.size()))
    call.corrupt("takes " + std::to_string(taken) + " axes of " + std::to_string(dims.size()));
  Part part;
  int64_t axis = 0;
  std::vector<int64_t> kept;  // axes of the slice that stay; -1: a new one
  for (size_t i = 0; i < count; i++) {
    if (bit(ellipsis_mask, i)) {
      for (int64_t k = int64_t(dims.size()) - taken; k > 0; k--) kept.push_back(axis++);
      continue;
    }
    if (bit(new_mask, i)) {
      kept.push_back(-1);
      continue;
    }
    if (steps[i] == 0) call.corrupt("a stride of it is 0");
    const bool shrinks = bit(shrink_mask, i);
    Position begin = begins[i], end = ends[i];
    if ((offset || shrinks) && !(is_known(begin) && (shrinks || is_known(end))))
      call.refuse(is_known(begin) ? "end" : "begin",
                  "is computed by the program, expected a constant or dimensions where one element "
                  "of an axis is taken, or an end counts from the begin");
    if (offset) end.at = begin.at + end.at;
    int64_t step = steps[i];
    if (shrinks) {
      step = 1;
      if (begin.at.is_static() && *begin.at.value() < 0) begin.at = begin.at + dims[size_t(axis)];
      end = {begin.at + Dim(1)};
    } else {
      if (bit(begin_mask, i)) begin = {Dim(step > 0 ? 0 : kFarAway)};
      if (bit(end_mask, i)) end = {Dim(step > 0 ? kFarAway : -kFarAway)};
    }
    part.axes.push_back(axis);
    part.starts.push_back(begin);
    part.ends.push_back(end);
    part.steps.push_back(step);
    if (!shrinks) kept.push_back(axis);
    axis++;
  }
  while (axis < int64_t(dims.size())) kept.push_back(axis++);
  const ValueId made = sliced(call, x, part);
  const Dims got = call.b.dims(made);
  Dims result;
  for (const int64_t k : kept) result.push_back(k < 0 ? Dim(1) : got[size_t(k)]);
  for (size_t d = 0; d < got.size(); d++)
    if (std::find(kept.begin(), kept.end(), int64_t(d)) == kept.end() && got[d] != Dim(1))
      call.corrupt("takes an element outside of " + graph::text(dims));
  call.give(call.b.reshape(made, result));
}

void slice(Call& call) {
  const Dims dims = call.b.dims(call.input(0)), begins = call.known_dims(1, "begin"),
             sizes = call.known_dims(2, "size");
  if (begins.size() != dims.size() || sizes.size() != dims.size())
    call.corrupt("begin or size does not have " + std::to_string(dims.size()) + " numbers");
  Part part;
  for (size_t d = 0; d < dims.size(); d++) {
    const bool rest = sizes[d] == Dim(-1);
    if (begins[d].is_static() && *begins[d].value() < 0) call.corrupt("begins below 0");
    const Dim end = rest ? dims[d] : begins[d] + sizes[d];
    if (end.is_static() && dims[d].is_static() && *end.value() > *dims[d].value())
      call.corrupt("takes more than there is of " + graph::text(dims));
    part.axes.push_back(int64_t(d));
    part.starts.push_back({begins[d]});
    part.ends.push_back({end});
    part.steps.push_back(1);
  }
  call.give(sliced(call, call.input(0), part));
}

/// Begins that the program computes are kept within the input.
void update_slice(Call& call) {
  aten::Builder& b = call.b;
  ValueId x = call.input(0);
  const ValueId update = call.input(1);
  const Dims dims = b.dims(x), part = b.dims(update);
  const std::vector<int64_t> begins = call.known_integers(2, "start_indices");
  if (begins.size() != dims.size() || part.size() != dims.size())
    call.corrupt("has different numbers of dimensions");
  // Row by row of axes: what is before, the middle (with the next axis done), what is behind.
  const auto place = [&](auto&& self, ValueId whole, size_t d) -> ValueId {
    if (d == dims.size()) return update;
    const auto extent = dims[d].value(), taken = part[d].value();
    if (!extent || !taken) call.refuse("", "has symbolic extents", "bind them with --dim");
    const int64_t begin = std::clamp<int64_t>(begins[d], 0, std::max<int64_t>(*extent - *taken, 0));
    const ValueId middle = b.slice(whole, int64_t(d), Dim(begin), Dim(begin + *taken));
    std::vector<ValueId> pieces;
    if (begin > 0) pieces.push_back(b.slice(whole, int64_t(d), Dim(0), Dim(begin)));
    pieces.push_back(self(self, middle, d + 1));
    if (begin + *taken < *extent)
      pieces.push_back(b.slice(whole, int64_t(d), Dim(begin + *taken), Dim(*extent)));
    return pieces.size() == 1 ? pieces[0] : b.emit(op::Concat, pieces, {{attr::axis, int64_t(d)}});
  };
  call.give(place(place, x, 0));
}

/// Begins and ends of each axis.
struct Borders {
  std::vector<int64_t> before, after;
};
Borders borders(Call& call) {
  const std::vector<int64_t> flat = call.known_integers(1, "paddings");
  const size_t rank = size_t(call.rank(0));
  if (flat.size() != 2 * rank)
    call.corrupt("has " + std::to_string(flat.size()) + " paddings, expected " +
                 std::to_string(2 * rank));
  Borders out;
  for (size_t d = 0; d < rank; d++) {
    for (const int64_t n : {flat[2 * d], flat[2 * d + 1]})
      if (n < 0 || n > (int64_t{1} << 31)) call.corrupt("a padding is " + std::to_string(n));
    out.before.push_back(flat[2 * d]);
    out.after.push_back(flat[2 * d + 1]);
  }
  return out;
}
ValueId padded(Call& call, const Borders& border, const char* mode, double value) {
  std::vector<int64_t> pads = border.before;
  pads.insert(pads.end(), border.after.begin(), border.after.end());
  const ValueId x = call.input(0);
  std::vector<ValueId> inputs = {x, call.b.integers(pads)};
  if (value != 0) inputs.push_back(call.b.scalar(call.b.dtype(x), value));
  return call.b.emit(op::Pad, inputs, {{attr::mode, std::string(mode)}});
}
void pad(Call& call) { call.give(padded(call, borders(call), "constant", call.zero_of(0))); }
void pad_v2(Call& call) {
  const double value = call.known_number(2, "constant_values");
  call.give(padded(call, borders(call), "constant", value));
}
/// REFLECT leaves the edge out, SYMMETRIC repeats it.
void mirror_pad(Call& call) {
  const Borders border = borders(call);
  if (call.integer("mode") == 0) return call.give(padded(call, border, "reflect", 0));
  if (call.integer("mode") != 1) call.refuse("mode", "is not known");
  aten::Builder& b = call.b;
  ValueId x = call.input(0);
  for (size_t d = 0; d < border.before.size(); d++) {
    const int64_t axis = int64_t(d);
    const Dim extent = b.dims(x)[d];
    const auto known = extent.value();
    if (known && std::max(border.before[d], border.after[d]) > *known)
      call.corrupt("a padding is larger than its dimension");
    std::vector<ValueId> pieces;
    const auto turned = [&](const Dim& begin, const Dim& end) {
      return b.slice(b.slice(x, axis, begin, end), axis, Dim(-1), Dim(-kFarAway), -1);
    };
    if (border.before[d] > 0) pieces.push_back(turned(Dim(0), Dim(border.before[d])));
    pieces.push_back(x);
    if (border.after[d] > 0) pieces.push_back(turned(extent - Dim(border.after[d]), extent));
    if (pieces.size() > 1) x = b.emit(op::Concat, pieces, {{attr::axis, axis}});
  }
  call.give(x);
}

void reverse(Call& call) {
  ValueId x = call.input(0);
  for (const int64_t given : call.known_integers(1, "axis"))
    x = call.b.slice(x, call.axis(given, call.rank(0)), Dim(-1), Dim(-kFarAway), -1);
  call.give(x);
}
void reverse_sequence(Call& call) {
  const int64_t rank = call.rank(0);
  const int64_t time = call.axis(call.integer("seq_dim"), rank),
                batch = call.axis(call.integer("batch_dim"), rank);
  if (time == batch) call.corrupt("its sequences are its batch");
  // The operator of the graph has both in front.
  std::vector<int64_t> perm = {batch, time};
  for (int64_t d = 0; d < rank; d++)
    if (d != time && d != batch) perm.push_back(d);
  std::vector<int64_t> back(perm.size());
  for (size_t d = 0; d < perm.size(); d++) back[size_t(perm[d])] = int64_t(d);
  const ValueId made =
      call.b.emit(op::ReverseSequence,
                  {call.b.transpose(call.input(0), perm), call.b.cast(call.input(1), DType::kI64)},
                  {{attr::batch_axis, int64_t(0)}, {attr::time_axis, int64_t(1)}});
  call.give(call.b.transpose(made, back));
}

}  // namespace

void add_slice(TranslateTable& table) {
  table["STRIDED_SLICE"] = {4, 4, strided_slice};
  table["SLICE"] = {3, 3, slice};
  table["DYNAMIC_UPDATE_SLICE"] = {3, 3, update_slice};
  table["PAD"] = {2, 2, pad};
  table["PADV2"] = {3, 3, pad_v2};
  table["MIRROR_PAD"] = {2, 2, mirror_pad};
  table["REVERSE_V2"] = {2, 2, reverse};
  table["REVERSE_SEQUENCE"] = {2, 2, reverse_sequence};
}

}  // namespace ingot::tflite
