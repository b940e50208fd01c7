// SPDX-License-Identifier: Apache-2.0
// runtime/plan/greedy_planner.cpp - best fit by several orders.
#include "runtime/plan/greedy_planner.h"

#include <algorithm>

#include "runtime/base/checked_math.h"

namespace ingot {
namespace {

/// The caller's workspace cut into arrays.
struct Workspace {
  uint64_t* trial;       // offsets of the order being tried
  uint64_t* step_bytes;  // live bytes by step, step_count + 1
  uint64_t* breadth;     // by tensor: live bytes of its busiest step
  uint32_t* sequence;    // tensors in the order being tried
  uint32_t* placed;      // tensors placed so far, ascending offset
  uint32_t* kept;        // the best sequence while moving
};

uint64_t words(uint64_t bytes) { return (bytes + 7) & ~uint64_t{7}; }

Workspace cut(uint8_t* memory, uint32_t tensors, uint32_t steps) {
  Workspace w;
  w.trial = reinterpret_cast<uint64_t*>(memory);
  w.step_bytes = w.trial + tensors;
  w.breadth = w.step_bytes + steps + 2;
  w.sequence = reinterpret_cast<uint32_t*>(w.breadth + tensors);
  w.placed = w.sequence + tensors;
  w.kept = w.placed + tensors;
  return w;
}

class Planner {
 public:
  Planner(Span<const Lifetime> lifetimes, uint64_t alignment, Workspace workspace)
      : lifetimes_(lifetimes), mask_(alignment - 1), w_(workspace) {}

  uint32_t tensor_count = 0;  // with bytes, at the front of sequence
  uint32_t highest = 0;       // place in the sequence of what ended highest
  uint64_t steps_left = kPlanSteps;

  uint64_t size(uint32_t i) const { return (lifetimes_[i].bytes + mask_) & ~mask_; }
  uint64_t life(uint32_t i) const {
    return uint64_t{lifetimes_[i].last_step} - lifetimes_[i].first_step + 1;
  }

  void collect() {
    tensor_count = 0;
    for (uint32_t i = 0; i < lifetimes_.size; i++)
      if (lifetimes_[i].bytes) w_.sequence[tensor_count++] = i;
  }
  void sort(PlanOrder order) {
    std::sort(w_.sequence, w_.sequence + tensor_count, [this, order](uint32_t a, uint32_t b) {
      const uint64_t key_a = key(order, a), key_b = key(order, b);
      if (key_a != key_b) return key_a > key_b;
      if (size(a) != size(b)) return size(a) > size(b);
      if (lifetimes_[a].first_step != lifetimes_[b].first_step)
        return lifetimes_[a].first_step < lifetimes_[b].first_step;
      return a < b;  // the same layout on every machine
    });
  }
  /// Places all; false when the walk's bound is spent or the layout would reach `limit`.
  bool place_all(PlanOrder order, uint64_t limit, uint64_t* out_bytes) {
    uint64_t end = 0, live_bytes = 0;  // the latter of what is placed, ordered by first step
    uint32_t placed_count = 0, first_end = ~uint32_t{0};
    for (uint32_t i = 0; i < tensor_count; i++) {
      const uint32_t tensor = w_.sequence[i];
      bool is_behind = false;
      if (order == PlanOrder::kFirstStep) {
        // What has ended can meet nothing that follows; the rest is alive now, all of it at the
        // same time.
        const Lifetime& own = lifetimes_[tensor];
        if (first_end < own.first_step)
          placed_count = drop_ended(placed_count, own.first_step, &live_bytes, &first_end);
        // Where it lies without a gap, the next lies behind it: many inputs do not take a walk
        // each.
        is_behind = placed_count == 0 || live_bytes == end_of(w_.placed[placed_count - 1]);
        if (is_behind) place_behind(tensor, placed_count, live_bytes);
        live_bytes += size(tensor);
        first_end = std::min(first_end, own.last_step);
      }
      if (!is_behind && !place(tensor, placed_count)) return false;
      placed_count++;
      const uint64_t top = w_.trial[tensor] + size(tensor);
      if (top > end) end = top, highest = i;
      if (end >= limit) return false;
    }
    *out_bytes = end;
    return true;
  }
  /// Moves what ended highest, now and then any other, to an earlier place of the sequence.
  void move(uint64_t* random) {
    const auto below = [random](uint32_t count) {  // xorshift: the same moves on every machine
      *random ^= *random << 13, *random ^= *random >> 7, *random ^= *random << 17;
      return uint32_t(*random % count);
    };
    const uint32_t from =
        below(4) == 0 ? below(tensor_count - 1) + 1 : std::max<uint32_t>(highest, 1);
    const uint32_t to = below(from);
    std::rotate(w_.sequence + to, w_.sequence + from, w_.sequence + from + 1);
  }

 private:
  uint64_t key(PlanOrder order, uint32_t i) const {
    switch (order) {
      case PlanOrder::kFirstStep: return ~uint64_t{lifetimes_[i].first_step};
      case PlanOrder::kSizeTimesLife: {
        uint64_t product;
        return checked_mul(size(i), life(i), &product) ? product : ~uint64_t{0};
      }
      case PlanOrder::kBreadth: return w_.breadth[i];
      case PlanOrder::kLife: return life(i);
      case PlanOrder::kSize:
      case PlanOrder::kMoved:
      case PlanOrder::kNone: break;
    }
    return size(i);
  }
  uint64_t end_of(uint32_t tensor) const { return w_.trial[tensor] + size(tensor); }
  /// `live_bytes` and `first_end`: of what is kept, the sum of the sizes and the first last step.
  uint32_t drop_ended(uint32_t count, uint32_t step, uint64_t* live_bytes, uint32_t* first_end) {
    uint32_t kept = 0;
    *live_bytes = 0, *first_end = ~uint32_t{0};
    for (uint32_t i = 0; i < count; i++) {
      const uint32_t tensor = w_.placed[i];
      if (lifetimes_[tensor].last_step < step) continue;
      w_.placed[kept++] = tensor;
      *live_bytes += size(tensor);
      *first_end = std::min(*first_end, lifetimes_[tensor].last_step);
    }
    return kept;
  }
  void place_behind(uint32_t tensor, uint32_t placed_count, uint64_t offset) {
    w_.trial[tensor] = offset;
    w_.placed[placed_count] = tensor;
  }
  /// The smallest gap between tensors alive at the same time that holds it, else behind them all.
  bool place(uint32_t tensor, uint32_t placed_count) {
    const Lifetime& own = lifetimes_[tensor];
    const uint64_t need = size(tensor);
    uint64_t behind = 0, best_offset = 0, best_gap = ~uint64_t{0};
    if (steps_left < placed_count) return false;
    steps_left -= placed_count;
    for (uint32_t i = 0; i < placed_count; i++) {
      const uint32_t other = w_.placed[i];
      if (lifetimes_[other].last_step < own.first_step ||
          lifetimes_[other].first_step > own.last_step)
        continue;
      const uint64_t start = w_.trial[other];
      if (start > behind && start - behind >= need && start - behind < best_gap) {
        best_gap = start - behind;
        best_offset = behind;
      }
      behind = std::max(behind, start + size(other));
    }
    const uint64_t offset = best_gap == ~uint64_t{0} ? behind : best_offset;
    w_.trial[tensor] = offset;
    uint32_t* at =
        std::upper_bound(w_.placed, w_.placed + placed_count, offset,
                         [this](uint64_t o, uint32_t other) { return o < w_.trial[other]; });
    std::copy_backward(at, w_.placed + placed_count, w_.placed + placed_count + 1);
    *at = tensor;
    return true;
  }

  Span<const Lifetime> lifetimes_;
  uint64_t mask_;
  Workspace w_;
};

/// breadth[i]: live bytes of the busiest step in which tensor i lives. Sweeping by the running
/// maximum is n times life at worst, so it is bounded like the walks.
bool find_breadth(Span<const Lifetime> lifetimes, const Workspace& w, uint64_t* steps_left) {
  for (size_t i = 0; i < lifetimes.size; i++) {
    const Lifetime& lifetime = lifetimes[i];
    w.breadth[i] = 0;
    if (!lifetime.bytes) continue;
    const uint64_t life = uint64_t{lifetime.last_step} - lifetime.first_step + 1;
    if (*steps_left < life) return false;
    *steps_left -= life;
    for (uint64_t s = lifetime.first_step; s <= lifetime.last_step; s++)
      w.breadth[i] = std::max(w.breadth[i], w.step_bytes[s]);
  }
  return true;
}

/// Starts from the order that won. Writes offsets and returns the bytes when it finds less than
/// `best`.
uint64_t improve_by_moves(Planner* planner, const Workspace& w, Span<const Lifetime> lifetimes,
                          uint64_t best, Span<uint64_t> offsets, PlanSummary* summary) {
  const uint32_t count = planner->tensor_count;
  if (count < 2 || best - summary->lower_bound <= summary->lower_bound / 64) return best;
  planner->sort(summary->order);
  planner->steps_left = std::min(planner->steps_left, kMovedSteps);
  std::copy(w.sequence, w.sequence + count, w.kept);
  uint64_t kept_bytes = ~uint64_t{0}, bytes, random = 0x9e3779b97f4a7c15u;
  uint32_t kept_highest = 0;
  while (best > summary->lower_bound &&
         planner->place_all(PlanOrder::kMoved, ~uint64_t{0}, &bytes)) {
    if (bytes < best) {
      best = bytes;
      summary->order = PlanOrder::kMoved;
      for (uint32_t i = 0; i < lifetimes.size; i++)
        if (lifetimes[i].bytes) offsets[i] = w.trial[i];
    }
    if (bytes <= kept_bytes) {
      kept_bytes = bytes;
      kept_highest = planner->highest;
      std::copy(w.sequence, w.sequence + count, w.kept);
    } else {
      planner->highest = kept_highest;
      std::copy(w.kept, w.kept + count, w.sequence);
    }
    planner->move(&random);
  }
  return best;
}

}  // namespace

const char* plan_order_name(PlanOrder order) {
  switch (order) {
    case PlanOrder::kNone: return "none";
    case PlanOrder::kFirstStep: return "first step";
    case PlanOrder::kSize: return "size";
    case PlanOrder::kSizeTimesLife: return "size times life";
    case PlanOrder::kBreadth: return "breadth";
    case PlanOrder::kLife: return "life";
    case PlanOrder::kMoved: return "moved";
  }
  return "none";
}

uint64_t planner_workspace_bytes(uint32_t tensor_count, uint32_t step_count) {
  return (uint64_t{tensor_count} * 2 + step_count + 2) * 8 + words(uint64_t{tensor_count} * 12);
}

Status plan_greedy(Span<const Lifetime> lifetimes, uint32_t step_count, uint64_t alignment,
                   Span<uint8_t> workspace, Span<uint64_t> offsets, PlanSummary* out,
                   ErrorDetail* detail) {
  const uint32_t count = uint32_t(lifetimes.size);
  const uint64_t need = planner_workspace_bytes(count, step_count);
  if (workspace.size < need)
    return fail(detail, Code::kArenaTooSmall, "planner workspace", need, workspace.size);
  const Workspace w = cut(workspace.data, count, step_count);
  PlanSummary summary;
  summary.lower_bound =
      live_peak(lifetimes, alignment, {w.step_bytes, size_t(step_count) + 2}, &summary.peak_step);
  // Without reuse the layout is the sum of all sizes; once that fits in 63 bits no sum below can
  // overflow.
  uint64_t total = 0;
  for (const Lifetime& lifetime : lifetimes) {
    uint64_t bytes;
    if (!checked_align(lifetime.bytes, alignment, &bytes) || !checked_add(total, bytes, &total) ||
        total >> 62)
      return fail(detail, Code::kLimitExceeded, "plan: sum of tensor bytes", uint64_t{1} << 62,
                  lifetime.bytes);
  }
  Planner planner(lifetimes, alignment, w);
  planner.collect();
  for (uint64_t& offset : offsets) offset = kNoOffset;
  uint64_t best = ~uint64_t{0};
  const bool has_breadth = find_breadth(lifetimes, w, &planner.steps_left);
  constexpr PlanOrder kOrders[] = {PlanOrder::kFirstStep, PlanOrder::kSize,
                                   PlanOrder::kSizeTimesLife, PlanOrder::kBreadth,
                                   PlanOrder::kLife};
  for (const PlanOrder order : kOrders) {
    if (best == summary.lower_bound) break;
    if (order == PlanOrder::kBreadth && !has_breadth) continue;
    planner.sort(order);
    uint64_t bytes;
    if (!planner.place_all(order, best, &bytes)) continue;
    best = bytes;
    summary.order = order;
    for (uint32_t i = 0; i < count; i++)
      if (lifetimes[i].bytes) offsets[i] = w.trial[i];
  }
  if (best == ~uint64_t{0})
    return fail(detail, Code::kLimitExceeded, "plan: tensors alive at once", kPlanSteps,
                planner.tensor_count);
  summary.bytes = improve_by_moves(&planner, w, lifetimes, best, offsets, &summary);
  *out = summary;
  return {};
}

}  // namespace ingot
