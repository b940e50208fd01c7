// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_slice.cpp - parts of tensors and their opposite: Slice, Split, Concat,
// Pad.
#include <algorithm>

#include "tools/graph/data_dependent.h"
#include "tools/graph/infer/inference.h"
#include "tools/graph/infer/run_numbers.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

constexpr int64_t kBeyond = (int64_t(1) << 31) - 1;  // ends from here on mean "to the end"

/// A position counted from the front, not clamped: negative ones count from the end. Where the
/// bounds do not tell the sign, a factor that is 1 for negative ones does.
Dim from_front(const Dim& at, const Dim& extent) {
  if (proven_at_least(at, 0)) return at;
  if (proven_at_least(Dim(-1), at)) return at + extent;
  return at + extent * min(Dim(1), max(Dim(0), Dim(0) - at));
}

struct Cut {
  Dim start, count;
};
Cut cut(const Dim& start, const Dim& end, int64_t step, const Dim& extent) {
  const auto low = start.value(), high = end.value();
  if (step > 0) {
    Dim first = low && *low >= kBeyond    ? extent
                : low && *low <= -kBeyond ? Dim(0)
                                          : from_front(start, extent);
    Dim last = high && *high >= kBeyond    ? extent
               : high && *high <= -kBeyond ? Dim(0)
                                           : from_front(end, extent);
    first = min(max(first, Dim(0)), extent);
    last = min(max(last, Dim(0)), extent);
    return {first, ceil_div(max(last - first, Dim(0)), Dim(step))};
  }
  const Dim final = extent - Dim(1);
  Dim first = low && *low >= kBeyond ? final : from_front(start, extent);
  first = max(min(first, final), Dim(0));
  Dim last = high && *high <= -kBeyond  ? Dim(-1)
             : high && *high >= kBeyond ? final
                                        : from_front(end, extent);
  last = max(min(last, final), Dim(-1));
  Dim span = max(first - last, Dim(0));
  if (!proven_at_least(extent, 1)) span = min(span, extent);  // of an axis without elements: none
  return {first, ceil_div(span, Dim(-step))};
}

/// What a position that only the run knows is, counted from the front.
ValueId position(NodeContext& context, size_t input, int64_t at, ValueId extent) {
  const ValueId given = context.element(input, at);
  const ValueId is_negative =
      context.cast(context.make(op::Less, {given, context.scalar(DType::kI64, 0)}), DType::kI64);
  return context.make(op::Add, {given, context.make(op::Mul, {is_negative, extent})});
}

/// The elements of an axis between positions that only the run knows, `at` among starts and ends:
/// those whose index lies there.
ValueId between(NodeContext& context, ValueId data, int64_t axis, int64_t at) {
  const Dim extent = context.run().value(data).dims[size_t(axis)];
  const ValueId index = context.counting(extent), number = context.extent(extent);
  const ValueId start = position(context, 1, at, number), end = position(context, 2, at, number);
  const ValueId is_inside = context.make(op::And, {context.make(op::GreaterOrEqual, {index, start}),
                                                   context.make(op::Less, {index, end})});
  const ValueId found = context.make(op::NonZero, {is_inside});
  const Dim count = context.run().value(found).dims.at(1);
  return context.make(op::Gather, {data, context.reshape(found, {count})}, {{attr::axis, axis}});
}

/// Where a start, or an end, comes from data: those axes first, the others as always.
void slice_by_data(NodeContext& context, const std::vector<int64_t>& axes,
                   const std::vector<std::optional<int64_t>>& steps) {
  ValueId data = context.in(0);
  std::vector<int64_t> step_axes, kept_steps;
  Dims starts, ends;
  const auto known = [&](size_t input, size_t i) -> std::optional<Dim> {
    const auto contents = context.run().contents(context.in(input));
    const auto dim = contents && i < contents->size() ? (*contents)[i].dim() : std::nullopt;
    return dim && !is_data_dependent(context.model(), *dim) ? dim : std::nullopt;
  };
  for (size_t i = 0; i < axes.size(); i++) {
    const int64_t axis = context.axis(axes[i], context.rank(0));
    const auto start = known(1, i), end = known(2, i);
    if (start && end && steps[i]) {
      starts.push_back(*start), ends.push_back(*end);
    } else if (steps[i] && *steps[i] > 0) {
      data = between(context, data, axis, int64_t(i));
      if (*steps[i] == 1) continue;
      starts.push_back(Dim(0)), ends.push_back(Dim(kBeyond));
    } else {
      const ValueId step =
          steps[i] ? context.scalar(DType::kI64, double(std::clamp(*steps[i], -kBeyond, kBeyond)))
                   : context.element(4, int64_t(i));
      data = stepped(context, data, axis, context.element(1, int64_t(i)),
                     context.element(2, int64_t(i)), step);
      continue;
    }
    step_axes.push_back(axis), kept_steps.push_back(*steps[i]);
  }
  if (step_axes.empty()) return context.same(0, data);
  context.finish(op::Slice, {data},
                 {{attr::starts, starts},
                  {attr::ends, ends},
                  {attr::axes, step_axes},
                  {attr::steps, kept_steps}});
}

void slice(NodeContext& context) {
  // in normal form
  if (context.node.inputs.size() == 1 && !context.node.has(attr::ends) && context.settled()) return;
  const Dims in = context.dims(0);
  const auto known_starts = context.find_dims(attr::starts, 1),
             known_ends = context.find_or_stated(attr::ends, 2);
  const auto count = [&](const std::optional<Dims>& known, size_t input) {
    if (known) return known->size();
    const auto n = context.has(input) ? product(context.dims(input)).value() : std::nullopt;
    return n && *n <= int64_t(in.size()) ? size_t(*n) : ~size_t{0};
  };
  const size_t cuts = count(known_starts, 1);
  if (cuts > in.size()) context.need_dims(attr::starts, 1);  // refuses
  std::vector<int64_t> axes = context.integers(attr::axes, 3).value_or(std::vector<int64_t>());
  std::vector<int64_t> steps(cuts, 1);
  std::vector<std::optional<int64_t>> known_steps;
  const auto step_contents = context.node.has(attr::steps) || !context.has(4)
                                 ? std::nullopt
                                 : context.run().contents(context.in(4));
  const bool steps_are_data = context.has(4) && !context.find_dims(attr::steps, 4);
  if (steps_are_data) {
    if (product(context.dims(4)) != Dim(int64_t(cuts))) context.need_dims(attr::steps, 4);
    for (size_t i = 0; i < cuts; i++) {
      const auto step = step_contents ? (*step_contents)[i].dim() : std::nullopt;
      known_steps.push_back(step ? step->value() : std::nullopt);
    }
  } else {
    steps = context.integers(attr::steps, 4).value_or(steps);
    known_steps.assign(steps.begin(), steps.end());
  }
  if (axes.empty()) {
    for (size_t i = 0; i < cuts; i++) axes.push_back(int64_t(i));
  }
  if (cuts != count(known_ends, 2) || axes.size() != cuts || steps.size() != cuts ||
      axes.size() > in.size())
    context.corrupt("starts, ends, axes and steps have different lengths");
  context.axes(axes, context.rank(0));  // in range, distinct
  const bool is_data = !known_starts || !known_ends || steps_are_data ||
                       is_data_dependent(context.model(), *known_starts);
  if (is_data && !context.node.has(attr::starts) && !context.node.has(attr::ends))
    return slice_by_data(context, axes, known_steps);
  const Dims starts = context.need_dims(attr::starts, 1), ends = context.need_dims(attr::ends, 2);
  Dims first(in.size(), Dim(0)), out = in;
  std::vector<int64_t> all_steps(in.size(), 1);
  for (size_t i = 0; i < axes.size(); i++) {
    const size_t axis = size_t(context.axis(axes[i], context.rank(0)));
    if (steps[i] == 0) context.corrupt("step 0 is out of range");
    steps[i] = std::clamp(steps[i], -kBeyond, kBeyond);  // no extent is longer
    const Cut made = cut(starts[i], ends[i], steps[i], in[axis]);
    first[axis] = made.start;
    out[axis] = made.count;
    all_steps[axis] = steps[i];
  }
  context.drop_inputs_from(1);
  context.erase({attr::ends, attr::axes});
  const bool forward =
      std::all_of(all_steps.begin(), all_steps.end(), [](int64_t s) { return s > 0; });
  if (out == in && forward) return context.same(0, context.in(0));
  context.node.attributes[attr::starts] = first;
  context.node.attributes[attr::steps] = all_steps;
  context.set(0, context.dtype(0), std::move(out));
}

Dim sum_of(const Dims& sizes) {
  Dim sum;
  for (const Dim& d : sizes) sum = sum + d;
  return sum;
}

void split(NodeContext& context) {
  const int64_t axis = context.axis(context.node.integer(attr::axis, 0), context.rank(0));
  const Dims in = context.dims(0);
  const Dim extent = in[size_t(axis)];
  const size_t parts = context.node.outputs.size();
  context.node.attributes[attr::axis] = axis;
  if (context.node.inputs.size() == 1 && !context.node.has(attr::split) &&
      !context.node.has(attr::num_outputs) && context.settled())
    return;
  Dims sizes;
  if (const auto given = context.find_dims(attr::split, 1);
      given && (context.node.has(attr::split) || context.has(1))) {
    sizes = *given;
    if (is_data_dependent(context.model(), sizes) && sum_of(sizes) != extent)
      return split_by_data(context, axis);
  } else if (context.has(1)) {
    return split_by_data(context, axis);
  } else {
    const Dim count(context.node.integer(attr::num_outputs, int64_t(parts)));
    if (*count.value() < 1) context.corrupt("num_outputs is " + count.text());
    if (*count.value() != int64_t(parts))
      context.corrupt("num_outputs is " + count.text() + ", the node has " + std::to_string(parts) +
                      " outputs");
    const Dim each = ceil_div(extent, count);  // the last one is smaller when it does not divide
    for (size_t i = 0; i + 1 < parts; i++) sizes.push_back(each);
    sizes.push_back(extent - each * Dim(int64_t(parts) - 1));
  }
  if (sizes.size() != parts)
    context.corrupt("splits into " + std::to_string(sizes.size()) + ", the node has " +
                    std::to_string(parts) + " outputs");
  const Dim sum = sum_of(sizes);
  if (sum.is_static() && extent.is_static() && sum != extent)
    context.corrupt("its sizes add up to " + sum.text() + " of " + extent.text());
  context.drop_inputs_from(1);
  context.erase({attr::split, attr::num_outputs});
  if (parts == 1) return context.same(0, context.in(0));
  for (size_t i = 0; i < parts; i++) {
    Dims out = in;
    out[size_t(axis)] = sizes[i];
    context.set(i, context.dtype(0), std::move(out));
  }
}

void concat(NodeContext& context) {
  const int64_t axis = context.axis(context.node.integer(attr::axis, 0), context.rank(0));
  Dims out = context.dims(0);
  std::vector<bool> differ(out.size(), false);
  for (size_t i = 1; i < context.node.inputs.size(); i++) {
    const Dims& part = context.dims(i);
    if (context.dtype(i) != context.dtype(0))
      context.corrupt(std::string("joins ") + dtype_text(context.dtype(0)) + " and " +
                      dtype_text(context.dtype(i)));
    if (part.size() != out.size())
      context.corrupt("joins shapes " + text(context.dims(0)) + " and " + text(part));
    for (size_t d = 0; d < out.size(); d++) {
      if (int64_t(d) == axis) {
        out[d] = out[d] + part[d];
      } else if (out[d] != part[d]) {
        if (out[d].is_static() && part[d].is_static())
          context.corrupt("joins shapes " + text(context.dims(0)) + " and " + text(part) +
                          " along " + std::to_string(axis));
        context.force_equal(out[d], part[d]);
        differ[d] = true;
        const auto by_data = [&](const Dim& each) {
          return is_data_dependent(context.model(), each);
        };
        if (part[d].is_static() || (by_data(out[d]) && !by_data(part[d]))) out[d] = part[d];
      }
    }
  }
  if (context.node.inputs.size() == 1) return context.same(0, context.in(0));
  for (size_t d = 0; d < out.size(); d++) {
    for (size_t i = 0; differ[d] && i < context.node.inputs.size(); i++) {
      if (!is_data_dependent(context.model(), Dims{context.dims(i)[d], out[d]})) continue;
      const ValueId made = fit_axis(context, context.in(i), d, out[d]);
      context.node.inputs[i] = made;
    }
  }
  context.node.attributes[attr::axis] = axis;
  context.set(0, context.dtype(0), std::move(out));
}

double pad_value(NodeContext& context) {
  if (!context.has(2)) return context.node.number(attr::value, 0);
  const Constant* value = context.model().constant(context.in(2));
  if (!value || value->elements() != 1)
    context.refuse("constant_value", "is known only at run time");
  return read_number(*value, 0);
}
/// `count` elements along an axis that goes round: the first one lies `before` ahead of x's.
ValueId repeated_around(NodeContext& context, ValueId x, int64_t axis, const Dim& before,
                        const Dim& count) {
  const Dim extent = context.run().value(x).dims[size_t(axis)];
  const ValueId from = context.make(op::Sub, {context.counting(count), context.extent(before)});
  const ValueId at =
      context.make(op::Mod, {from, context.extent(extent)}, {{attr::fmod, int64_t(0)}});
  return context.make(op::Gather, {x, at}, {{attr::axis, axis}});
}
void pad(NodeContext& context) {
  if (context.node.inputs.size() == 1 && context.node.has(attr::before) && context.settled())
    return;
  const Dims in = context.dims(0);
  const size_t rank = in.size();
  const Dims pads = context.need_dims(attr::pads, 1);
  std::vector<int64_t> axes = context.integers(attr::axes, 3).value_or(std::vector<int64_t>());
  if (axes.empty()) {
    for (size_t i = 0; i < rank; i++) axes.push_back(int64_t(i));
  }
  if (pads.size() != axes.size() * 2)
    context.corrupt("pads has " + std::to_string(pads.size()) + " entries, expected " +
                    std::to_string(axes.size() * 2));
  context.axes(axes, int64_t(rank));
  const double value = pad_value(context);
  Dims before(rank, Dim(0)), out = in, starts(rank, Dim(0)), kept = in;
  std::vector<size_t> wrapped;  // axes whose pads may be longer than they are
  for (size_t i = 0; i < axes.size(); i++) {
    const size_t axis = size_t(context.axis(axes[i], int64_t(rank)));
    const Dim ends[2] = {pads[i], pads[i + axes.size()]};
    // Negative pads cut; where the sign is not known, a slice and a pad both take what they may
    // have to.
    starts[axis] = max(Dim(0), Dim(-1) * ends[0]);
    const Dim rest = in[axis] - starts[axis];
    kept[axis] = min(rest, rest + ends[1]);
    before[axis] = max(Dim(0), ends[0]);
    out[axis] = in[axis] + ends[0] + ends[1];
    const std::string mode = context.node.text(attr::mode, "constant");
    const Dim largest = max(before[axis], max(Dim(0), ends[1]));
    if (mode == "wrap" && kept[axis] != Dim(0) && !proven_at_least(kept[axis], largest)) {
      wrapped.push_back(axis);
    } else if ((mode == "reflect" || mode == "wrap") &&
               proven_at_least(largest, kept[axis] + Dim(mode == "reflect" ? 0 : 1))) {
      context.corrupt(mode + " pads of " + largest.text() + " are too large for a dimension of " +
                      kept[axis].text());
    }
  }
  ValueId data = context.in(0);
  if (kept != in) {  // negative pads cut
    Dims ends = starts;
    for (size_t i = 0; i < rank; i++) ends[i] = starts[i] + kept[i];
    data = context.make(op::Slice, {data}, {{attr::starts, starts}, {attr::ends, ends}});
  }
  for (const size_t axis : wrapped) {
    data = repeated_around(context, data, int64_t(axis), before[axis], out[axis]);
    kept[axis] = out[axis], before[axis] = Dim(0);
  }
  if (out == kept) return context.same(0, data);
  context.node.inputs = {data};
  context.erase({attr::pads});
  context.node.attributes[attr::before] = before;
  context.node.attributes[attr::value] = value;
  context.set(0, context.run().value(data).dtype, std::move(out));
}

}  // namespace

void add_slice_rules(InferTable& table) {
  table[op::Slice] = slice;
  table[op::Split] = split;
  table[op::Concat] = concat;
  table[op::Pad] = pad;
}

}  // namespace ingot::graph
