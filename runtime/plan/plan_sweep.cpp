// SPDX-License-Identifier: Apache-2.0
// runtime/plan/plan_sweep.cpp - see plan_sweep.h.
#include "runtime/plan/plan_sweep.h"

#include <algorithm>

namespace ingot {

uint64_t RankSet::bytes(uint32_t count) {
  uint64_t total = 0;
  for (uint64_t n = count;; n = (n + 63) / 64) {
    total += (n + 63) / 64;
    if (n <= 64) return total * 8;
  }
}

RankSet::RankSet(uint64_t* words, uint32_t count) {
  for (uint64_t n = count;; n = (n + 63) / 64) {
    level_[levels_++] = words;
    for (uint64_t i = 0; i < (n + 63) / 64; i++) words[i] = 0;
    words += (n + 63) / 64;
    if (n <= 64) return;
  }
}

void RankSet::insert(uint32_t rank) {
  for (int l = 0; l < levels_; l++, rank >>= 6) level_[l][rank >> 6] |= uint64_t{1} << (rank & 63);
}

void RankSet::erase(uint32_t rank) {
  for (int l = 0; l < levels_; l++, rank >>= 6) {
    level_[l][rank >> 6] &= ~(uint64_t{1} << (rank & 63));
    if (level_[l][rank >> 6]) return;
  }
}

uint32_t RankSet::before(uint32_t rank) const {
  for (int l = 0; l < levels_; l++, rank >>= 6) {
    const uint64_t below = level_[l][rank >> 6] & ((uint64_t{1} << (rank & 63)) - 1);
    if (!below) continue;
    rank = (rank & ~63u) | (63u - uint32_t(__builtin_clzll(below)));
    while (l-- > 0) rank = (rank << 6) | (63u - uint32_t(__builtin_clzll(level_[l][rank])));
    return rank;
  }
  return kNobody;
}

uint32_t RankSet::after(uint32_t rank) const {
  for (int l = 0; l < levels_; l++, rank >>= 6) {
    const uint64_t above = level_[l][rank >> 6] & ~((uint64_t{2} << (rank & 63)) - 1);
    if (!above) continue;
    rank = (rank & ~63u) | uint32_t(__builtin_ctzll(above));
    while (l-- > 0) rank = (rank << 6) | uint32_t(__builtin_ctzll(level_[l][rank]));
    return rank;
  }
  return kNobody;
}

uint64_t PlanSweep::workspace_bytes(uint32_t tensor_count) {
  return RankSet::bytes(tensor_count) + uint64_t{tensor_count} * 16;
}

PlanSweep::PlanSweep(Span<const Lifetime> lifetimes, Span<const uint64_t> offsets,
                     uint8_t* workspace)
    : lifetimes_(lifetimes),
      offsets_(offsets),
      live_(reinterpret_cast<uint64_t*>(workspace), uint32_t(lifetimes.size)) {
  const size_t total = lifetimes.size;
  by_offset_ = reinterpret_cast<uint32_t*>(workspace + RankSet::bytes(uint32_t(total)));
  rank_of_ = by_offset_ + total, starts_ = rank_of_ + total, ends_ = starts_ + total;
  for (uint32_t i = 0; i < total; i++) {
    if (!lifetimes[i].bytes) continue;
    by_offset_[count_] = starts_[count_] = ends_[count_] = i;
    count_++;
  }
  const auto sort = [this](uint32_t* tensors, auto key) {
    std::sort(tensors, tensors + count_,
              [key](uint32_t a, uint32_t b) { return key(a) != key(b) ? key(a) < key(b) : a < b; });
  };
  sort(by_offset_, [&](uint32_t i) { return offsets[i]; });
  sort(starts_, [&](uint32_t i) { return lifetimes[i].first_step; });
  sort(ends_, [&](uint32_t i) { return lifetimes[i].last_step; });
  for (uint32_t rank = 0; rank < count_; rank++) rank_of_[by_offset_[rank]] = rank;
}

void PlanSweep::leave_before(uint32_t step) {
  while (left_ < count_ && lifetimes_[ends_[left_]].last_step < step)
    live_.erase(rank_of_[ends_[left_++]]);
}

}  // namespace ingot
