// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/grow_carried.cpp - what a loop carries in another extent after each iteration:
// it lies in a buffer of the most that it can have, beside how much of that counts.
#include "tools/graph/infer/infer_loop.h"

namespace ingot::graph {
namespace {

constexpr int64_t kUnbounded = 1 << 20;  // while nothing but the growth is looked for

}  // namespace

/// The most elements along a growing axis: from the start, the growth of an iteration and their
/// number, else what the user stated for all.
Dim LoopBuilder::most_of(const Dim& start, const Growth& growth) const {
  if (!growth.is_known) return Dim(kUnbounded);
  if (growth.reaches) return max(start, *growth.reaches);
  if (growth.each) return start + trips_ * max(*growth.each, Dim(0));
  if (run_.model.max_elements > 0) return max(start, Dim(run_.model.max_elements));
  throw Refusal{"", "what it carries grows by a number that only the run tells",
                bound_hint("give the upper bound of an extent: ")};
}

std::string LoopBuilder::extent_name(const Carried& carried, size_t axis) const {
  return run_.value(carried.inner).name + "." + std::to_string(axis);
}

/// Carried values that grow become buffers. @pre the types of the others are set.
void LoopBuilder::begin_growing(const Growths& growths) {
  std::vector<Node> body = std::move(body_->nodes);  // what is cut is cut first
  body_->nodes.clear();
  std::vector<Carried> all;
  for (Carried& each : carried_) {
    const auto found = growths.find(each.place);
    if (found == growths.end()) {
      all.push_back(each);
      continue;
    }
    const Value type = run_.value(each.initial);
    NodeContext context(run_, node_);
    Grown grown;
    grown.original = each;
    Dims most = type.dims, ends;
    for (const auto& along : found->second) {
      const auto axis = along.first;  // no binding: older clang keeps those out of lambdas
      most[axis] = most_of(type.dims[axis], along.second);
      grown.axes.push_back(int64_t(axis));
      Carried extent;
      extent.initial = context.extent(type.dims[axis]);
      extent.inner = typed("extent", DType::kI64, {});
      extent.result = typed("extent", DType::kI64, {});
      run_.visit_into(body_->nodes, [&] {
        NodeContext inner(run_, node_);
        ends.push_back(inner.data_dependent_dim(inner.make(op::ResolveDim, {extent.inner}),
                                                most[axis], extent_name(each, axis)));
      });
      grown.symbols.push_back(ends.back());
      grown.numbers.push_back(all.size());
      all.push_back(extent);
    }
    Carried buffer;
    // Nothing is made of the bound while only the growth is looked for.
    const bool is_trial = !found->second.begin()->second.is_known;
    buffer.initial = is_trial ? context.expand(context.scalar(type.dtype, 0), most)
                              : context.padded(each.initial, most);
    buffer.inner = typed("buffer", type.dtype, most);
    buffer.result = typed("buffer", type.dtype, most);
    grown.most = most;
    grown.buffer = all.size();
    all.push_back(buffer);
    run_.replace(each.inner, inside(op::Slice, {buffer.inner},
                                    {{attr::starts, Dims(ends.size(), Dim(0))},
                                     {attr::ends, ends},
                                     {attr::axes, grown.axes}}));
    grown_.push_back(std::move(grown));
  }
  for (Node& each : body) body_->nodes.push_back(std::move(each));
  made_by_.clear();
  for (const Node& each : body_->nodes)
    for (const ValueId id : each.outputs)
      if (id != kAbsent) made_by_[id] = &each;
  carried_ = std::move(all);
}

/// How much more than before an iteration makes of each growing axis; new ones where others turn
/// out to change. Empty when all of it is known already.
Growths LoopBuilder::find_growth(const Growths& known) const {
  Growths found = known;
  bool is_new = false;
  const auto is_same_kind = [](const Value& a, const Value& b) {
    return a.dtype == b.dtype && a.dims.size() == b.dims.size();
  };
  for (const Carried& each : carried_) {
    if (each.next == kAbsent) continue;  // a buffer's
    const Value &before = run_.value(each.inner), &after = run_.value(run_.resolve(each.next));
    if (!is_same_kind(before, after)) continue;
    for (size_t axis = 0; axis < before.dims.size(); axis++)
      if (before.dims[axis] != after.dims[axis]) found[each.place][axis] = Growth(), is_new = true;
  }
  for (const Grown& grown : grown_) {
    const Value after = run_.value(run_.resolve(grown.original.next));
    const Dims before = run_.value(grown.original.initial).dims;
    if (after.dims.size() != before.size()) continue;
    auto& axes = found[grown.original.place];
    for (size_t axis = 0; axis < before.size(); axis++)
      if (!axes.count(axis) && before[axis] != after.dims[axis])
        axes[axis] = Growth(), is_new = true;
    for (size_t i = 0; i < grown.axes.size(); i++) {
      Growth& growth = axes[size_t(grown.axes[i])];
      if (growth.is_known) continue;
      is_new = growth.is_known = true;
      const Dim extent = after.dims[size_t(grown.axes[i])];
      const Dim more = extent - grown.symbols[i];
      if (more.is_static()) growth.each = more;
      if (extent.is_static()) growth.reaches = extent;
    }
  }
  return is_new ? found : Growths();
}

/// What an iteration leaves of a growing value: its buffer, and how much of it counts; -1, which
/// the next iteration refuses, where that is more than the buffer holds.
void LoopBuilder::end_growing() {
  for (const Grown& grown : grown_) {
    ValueId next = run_.resolve(grown.original.next);
    run_.visit_into(body_->nodes, [&] {
      NodeContext context(run_, node_);
      for (size_t i = 0; i < grown.axes.size(); i++) {
        const size_t axis = size_t(grown.axes[i]);
        const Value type = run_.value(next);
        const ValueId count = context.extent(type.dims[axis]);
        const ValueId fits =
            context.make(op::LessOrEqual, {count, context.extent(grown.most[axis])});
        carried_[grown.numbers[i]].next =
            context.make(op::Where, {fits, count, context.scalar(DType::kI64, -1)});
        Dims rest = type.dims;
        rest[axis] = grown.most[axis];
        const ValueId zeros = context.expand(context.scalar(type.dtype, 0), rest);
        const ValueId joined =
            context.make(op::Concat, {next, zeros}, {{attr::axis, grown.axes[i]}});
        next = context.make(op::Slice, {joined},
                            {{attr::starts, Dims{Dim(0)}},
                             {attr::ends, Dims{grown.most[axis]}},
                             {attr::axes, std::vector<int64_t>{grown.axes[i]}}});
      }
    });
    carried_[grown.buffer].next = next;
  }
}

/// Behind the loop: as much of each buffer as counts.
void LoopBuilder::place_grown() {
  for (const Grown& grown : grown_) {
    if (grown.original.result == kAbsent) continue;
    NodeContext context(run_, node_);
    Dims ends;
    for (size_t i = 0; i < grown.axes.size(); i++)
      ends.push_back(context.data_dependent_dim(
          context.make(op::ResolveDim, {run_.resolve(carried_[grown.numbers[i]].result)}),
          grown.most[size_t(grown.axes[i])], extent_name(grown.original, size_t(grown.axes[i]))));
    run_.replace(grown.original.result,
                 context.make(op::Slice, {run_.resolve(carried_[grown.buffer].result)},
                              {{attr::starts, Dims(ends.size(), Dim(0))},
                               {attr::ends, ends},
                               {attr::axes, grown.axes}}));
  }
}

}  // namespace ingot::graph
