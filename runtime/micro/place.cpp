// SPDX-License-Identifier: Apache-2.0
// runtime/micro/place.cpp - the file's plan against the lifetimes, and places of scratch. Roots are
// sorted by their places once; what overlaps in time is found among neighbors.
#include <cstring>

#include "runtime/base/checked_math.h"
#include "runtime/micro/work.h"

namespace ingot::micro {
namespace {

bool is_placed(const Work& w, uint32_t index) {
  return w.root == index && w.first != Work::kNever && w.bytes != 0 &&
         w.kind != ValueKind::kConstant;
}

/// Every root of the plan, by its place, in Work::order of the first `count` entries; Work::at is
/// its place then. No two that live in the same step share bytes.
bool check_plan(const MicroModel& m, Work* work, uint32_t plan_bytes, uint32_t alignment,
                uint32_t* count, Watch* watch, MicroError* e) {
  *count = 0;
  for (uint32_t i = 0; i < m.values.count; i++) {
    Work& a = work[i];
    if (!is_placed(a, i)) continue;
    a.at = planned_offset(m, i);
    if (a.at == kNoPlace || a.at % alignment != 0 || a.at > plan_bytes ||
        a.bytes > plan_bytes - a.at)
      return refuse(e, Code::kPlanInvalid, INGOT_MICRO_TEXT("plan: a tensor leaves the region"),
                    int32_t(i), plan_bytes, a.at);
    uint32_t k = (*count)++;
    for (; k > 0 && work[work[k - 1].order].at > a.at; k--) work[k].order = work[k - 1].order;
    work[k].order = uint16_t(i);
    if (!watch->spend(2 + *count / 8, e)) return false;  // for the pass below as well
  }
  for (uint32_t i = 0; i < *count; i++) {
    const Work& a = work[work[i].order];
    for (uint32_t k = i + 1; k < *count; k++) {
      const Work& b = work[work[k].order];
      if (b.at >= a.at + a.bytes) break;
      if (a.first <= b.last && b.first <= a.last)
        return refuse(e, Code::kPlanInvalid,
                      INGOT_MICRO_TEXT("plan: two that live in the same step share bytes"),
                      int32_t(work[k].order), a.at, b.at);
    }
  }
  return true;
}

/// The smallest gap that holds `bytes` between what lives in `step`, else behind all of it.
uint32_t find_gap(const Work* work, uint32_t count, uint32_t step, uint32_t bytes) {
  uint32_t behind = 0, best = 0, best_gap = kNoPlace;
  for (uint32_t i = 0; i < count; i++) {
    const Work& next = work[work[i].order];
    if (!next.lives_in(step)) continue;
    if (next.at >= behind && next.at - behind >= bytes && next.at - behind < best_gap)
      best = behind, best_gap = next.at - behind;
    const uint32_t end = uint32_t(round_up(next.at + next.bytes, kScratchBlock));
    if (end > behind) behind = end;
  }
  return best_gap == kNoPlace ? behind : best;
}

uint32_t table_bytes(const MicroModel& m) { return 2 * m.instructions.count; }

bool too_small(MicroError* e, uint32_t need, uint32_t have) {
  return refuse(e, Code::kArenaTooSmall, INGOT_MICRO_TEXT("arena"), -1, need, have);
}

}  // namespace

bool take_work(const MicroModel& m, Work** out, MicroError* e) {
  const uint32_t need = m.values.count * uint32_t(sizeof(Work)) + table_bytes(m);
  if (m.arena_bytes < need) return too_small(e, need, m.arena_bytes);
  *out = reinterpret_cast<Work*>(m.arena);
  return true;
}

bool place_all(MicroModel* m, Work* work, uint32_t plan_bytes, uint32_t alignment, Watch* watch,
               MicroError* e) {
  uint32_t count;
  if (!check_plan(*m, work, plan_bytes, alignment, &count, watch, e)) return false;
  const uint32_t work_bytes = m->values.count * uint32_t(sizeof(Work));
  uint8_t* const table = m->arena + work_bytes;
  uint32_t end = plan_bytes > work_bytes ? plan_bytes : work_bytes;
  for (uint32_t step = 0; step < m->instructions.count; step++) {
    MicroCall call;
    if (!read_call(*m, step, &call, e) || !watch->spend(8 + count / 16, e)) return false;
    const OpContract& contract = *call.kernel->entry.contract;
    uint32_t at = 0;
    if (contract.scratch) {
      const ScratchNeed need = contract.scratch(call.arguments, 1);
      if (need.per_thread_bytes > kMaxBytes || need.shared_bytes > kMaxBytes)
        return refuse(e, Code::kLimitExceeded, INGOT_MICRO_TEXT("scratch"), int32_t(step),
                      kMaxBytes);
      const uint32_t bytes = uint32_t(round_up(int64_t(need.per_thread_bytes), kScratchBlock) +
                                      round_up(int64_t(need.shared_bytes), kScratchBlock));
      if (bytes) at = find_gap(work, count, step, bytes);
      if (at + bytes > end) end = at + bytes;
    }
    if (at / kScratchBlock > UINT16_MAX)
      return refuse(e, Code::kLimitExceeded, INGOT_MICRO_TEXT("scratch lies too far"),
                    int32_t(step), kScratchBlock * UINT16_MAX, at);
    const uint16_t block = uint16_t(at / kScratchBlock);
    memcpy(table + 2 * step, &block, sizeof block);
  }
  const uint32_t need = uint32_t(round_up(end, 2)) + table_bytes(*m);
  if (need > m->arena_bytes) return too_small(e, need, m->arena_bytes);
  m->arena_bytes = need;
  memmove(scratch_table(*m), table, table_bytes(*m));
  return true;
}

}  // namespace ingot::micro
