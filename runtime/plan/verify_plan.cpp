// runtime/plan/verify_plan.cpp - a sweep over steps with the ordered set of live tensors.
//
// Tensors are ranked by offset. The set of live ranks is a bitmap with summaries above it, 64 to 1
// (a tree of at most 6 levels), so that the live neighbours of a rank are found in a few word
// reads. Live tensors are disjoint at all times, hence a new one overlaps something exactly when it
// overlaps a neighbour.
#include "runtime/plan/verify_plan.h"

#include <algorithm>

#include "runtime/base/checked_math.h"

namespace ingot {
namespace {

constexpr uint32_t kNobody = UINT32_MAX;

class RankSet {
 public:
  static uint64_t bytes(uint32_t count) {
    uint64_t total = 0;
    for (uint64_t n = count;; n = (n + 63) / 64) {
      total += (n + 63) / 64;
      if (n <= 64) return total * 8;
    }
  }
  RankSet(uint64_t* words, uint32_t count) {
    for (uint64_t n = count;; n = (n + 63) / 64) {
      level_[levels_++] = words;
      for (uint64_t i = 0; i < (n + 63) / 64; i++) words[i] = 0;
      words += (n + 63) / 64;
      if (n <= 64) return;
    }
  }
  void insert(uint32_t rank) {
    for (int l = 0; l < levels_; l++, rank >>= 6)
      level_[l][rank >> 6] |= uint64_t{1} << (rank & 63);
  }
  void erase(uint32_t rank) {
    for (int l = 0; l < levels_; l++, rank >>= 6) {
      level_[l][rank >> 6] &= ~(uint64_t{1} << (rank & 63));
      if (level_[l][rank >> 6]) return;
    }
  }
  /// Largest member below `rank`.
  uint32_t before(uint32_t rank) const {
    for (int l = 0; l < levels_; l++, rank >>= 6) {
      const uint64_t below = level_[l][rank >> 6] & ((uint64_t{1} << (rank & 63)) - 1);
      if (!below) continue;
      rank = (rank & ~63u) | (63u - uint32_t(__builtin_clzll(below)));
      while (l-- > 0) rank = (rank << 6) | (63u - uint32_t(__builtin_clzll(level_[l][rank])));
      return rank;
    }
    return kNobody;
  }
  /// Smallest member above `rank`.
  uint32_t after(uint32_t rank) const {
    for (int l = 0; l < levels_; l++, rank >>= 6) {
      const uint64_t above = level_[l][rank >> 6] & ~((uint64_t{2} << (rank & 63)) - 1);
      if (!above) continue;
      rank = (rank & ~63u) | uint32_t(__builtin_ctzll(above));
      while (l-- > 0) rank = (rank << 6) | uint32_t(__builtin_ctzll(level_[l][rank]));
      return rank;
    }
    return kNobody;
  }

 private:
  uint64_t* level_[6] = {};
  int levels_ = 0;
};

Status refuse(ErrorDetail* detail, const char* rule, uint32_t tensor, uint64_t need,
              uint64_t have) {
  const Status status = fail(detail, Code::kPlanInvalid, rule, need, have);
  if (detail) detail->operand = int32_t(tensor);
  return status;
}

/// Workspace: by_offset[rank] = tensor, rank_of[tensor], starts and ends = tensors by first and by
/// last step, then the set.
struct Sweep {
  Span<const Lifetime> lifetimes;
  Span<const uint64_t> offsets;
  uint32_t* by_offset;
  uint32_t* rank_of;
  uint32_t* starts;
  uint32_t* ends;
  uint32_t count = 0;

  uint64_t end(uint32_t tensor) const { return offsets[tensor] + lifetimes[tensor].bytes; }

  Status run(uint64_t* words, ErrorDetail* detail) const {
    RankSet live(words, count);
    uint32_t ended = 0;
    for (uint32_t i = 0; i < count; i++) {
      const uint32_t tensor = starts[i];
      while (ended < count && lifetimes[ends[ended]].last_step < lifetimes[tensor].first_step)
        live.erase(rank_of[ends[ended++]]);
      const uint32_t below = live.before(rank_of[tensor]);
      if (below != kNobody && end(by_offset[below]) > offsets[tensor])
        return refuse(detail, "plan: starts inside a tensor that is still alive", tensor,
                      end(by_offset[below]), offsets[tensor]);
      const uint32_t above = live.after(rank_of[tensor]);
      if (above != kNobody && end(tensor) > offsets[by_offset[above]])
        return refuse(detail, "plan: reaches into a tensor that is alive", tensor,
                      offsets[by_offset[above]], end(tensor));
      live.insert(rank_of[tensor]);
    }
    return {};
  }
};

}  // namespace

uint64_t verify_plan_workspace_bytes(uint32_t tensor_count) {
  return RankSet::bytes(tensor_count) + uint64_t{tensor_count} * 16;
}

Status verify_plan(Span<const Lifetime> lifetimes, Span<const uint64_t> offsets,
                   uint64_t plan_bytes, uint64_t alignment, Span<uint8_t> workspace,
                   ErrorDetail* detail) {
  const uint32_t total = uint32_t(lifetimes.size);
  const uint64_t need = verify_plan_workspace_bytes(total);
  if (workspace.size < need)
    return fail(detail, Code::kArenaTooSmall, "plan check workspace", need, workspace.size);
  uint64_t* words = reinterpret_cast<uint64_t*>(workspace.data);
  uint32_t* arrays = reinterpret_cast<uint32_t*>(workspace.data + RankSet::bytes(total));
  Sweep sweep{lifetimes,
              offsets,
              arrays,
              arrays + total,
              arrays + 2 * size_t{total},
              arrays + 3 * size_t{total}};
  for (uint32_t i = 0; i < total; i++) {
    if (!lifetimes[i].bytes) {
      if (offsets[i] != kNoOffset && offsets[i] > plan_bytes)
        return refuse(detail, "plan: offset beyond the region", i, plan_bytes, offsets[i]);
      continue;
    }
    if (offsets[i] == kNoOffset)
      return refuse(detail, "plan: a tensor has no place", i, lifetimes[i].bytes, 0);
    if (offsets[i] & (alignment - 1))
      return refuse(detail, "plan: offset is not aligned", i, alignment, offsets[i]);
    uint64_t end;
    if (!checked_add(offsets[i], lifetimes[i].bytes, &end) || end > plan_bytes)
      return refuse(detail, "plan: a tensor leaves the region", i, plan_bytes, offsets[i]);
    sweep.by_offset[sweep.count] = sweep.starts[sweep.count] = sweep.ends[sweep.count] = i;
    sweep.count++;
  }
  const auto sorted = [&sweep](uint32_t* tensors, auto key) {
    std::sort(tensors, tensors + sweep.count,
              [key](uint32_t a, uint32_t b) { return key(a) != key(b) ? key(a) < key(b) : a < b; });
  };
  sorted(sweep.by_offset, [&](uint32_t i) { return offsets[i]; });
  sorted(sweep.starts, [&](uint32_t i) { return lifetimes[i].first_step; });
  sorted(sweep.ends, [&](uint32_t i) { return lifetimes[i].last_step; });
  for (uint32_t rank = 0; rank < sweep.count; rank++) sweep.rank_of[sweep.by_offset[rank]] = rank;
  return sweep.run(words, detail);
}

}  // namespace ingot
