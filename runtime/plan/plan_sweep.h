// SPDX-License-Identifier: Apache-2.0
// runtime/plan/plan_sweep.h - the tensors of a plan, step after step, in the order of their
// offsets.
// Owns     nothing; works in the caller's workspace.
// Threads  any.
// Cost     n log n for two sorts; then a few word reads to enter, leave or find a neighbour.
#pragma once
#include "runtime/plan/lifetime.h"

namespace ingot {

/// Tensors are ranked by offset. The set of live ranks is a bitmap with summaries above it, 64 to 1
/// (a tree of at most 6 levels).
class RankSet {
 public:
  static constexpr uint32_t kNobody = UINT32_MAX;
  static uint64_t bytes(uint32_t count);
  /// @pre `words` has bytes(count) bytes
  RankSet(uint64_t* words, uint32_t count);
  void insert(uint32_t rank);
  void erase(uint32_t rank);
  bool has(uint32_t rank) const { return level_[0][rank >> 6] >> (rank & 63) & 1; }
  /// Largest member below `rank`.
  uint32_t before(uint32_t rank) const;
  /// Smallest member above `rank`.
  uint32_t after(uint32_t rank) const;

 private:
  uint64_t* level_[6] = {};
  int levels_ = 0;
};

/// Only tensors with bytes take part.
class PlanSweep {
 public:
  static constexpr uint32_t kNobody = RankSet::kNobody;
  /// Bytes of workspace for `tensor_count` tensors.
  static uint64_t workspace_bytes(uint32_t tensor_count);
  /// @pre every tensor with bytes has an offset; offset + bytes does not overflow; the workspace is
  /// 8-byte aligned and large enough
  PlanSweep(Span<const Lifetime> lifetimes, Span<const uint64_t> offsets, uint8_t* workspace);

  uint32_t count() const { return count_; }
  /// The i-th tensor by first step.
  uint32_t starting(uint32_t i) const { return starts_[i]; }
  uint64_t end(uint32_t tensor) const { return offsets_[tensor] + lifetimes_[tensor].bytes; }
  void enter(uint32_t tensor) { live_.insert(rank_of_[tensor]); }
  /// All whose last step is before `step` leave. Steps ascend from call to call.
  void leave_before(uint32_t step);
  /// The live neighbours of a tensor by offset; kNobody: none.
  uint32_t below(uint32_t tensor) const { return tensor_at(live_.before(rank_of_[tensor])); }
  uint32_t above(uint32_t tensor) const { return tensor_at(live_.after(rank_of_[tensor])); }
  /// The live tensor with the least offset.
  uint32_t lowest() const {
    if (!count_) return kNobody;
    return tensor_at(live_.has(0) ? 0 : live_.after(0));
  }

 private:
  uint32_t tensor_at(uint32_t rank) const { return rank == kNobody ? kNobody : by_offset_[rank]; }

  Span<const Lifetime> lifetimes_;
  Span<const uint64_t> offsets_;
  uint32_t* by_offset_;
  uint32_t* rank_of_;
  uint32_t* starts_;
  uint32_t* ends_;
  uint32_t count_ = 0, left_ = 0;
  RankSet live_;
};

}  // namespace ingot
