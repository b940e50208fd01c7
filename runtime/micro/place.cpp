// runtime/micro/place.cpp - the file's plan against the lifetimes, and places of scratch. Programs
// here have tens of values, so that every pair is compared.
#include <cstring>

#include "runtime/base/checked_math.h"
#include "runtime/micro/work.h"

namespace ingot::micro {
namespace {

/// A root that has bytes in the arena.
struct Tensor {
  uint32_t at, bytes;
};
bool find_tensor(const MicroModel& m, const Work* work, uint32_t index, Tensor* out) {
  MicroValue v;
  if (work[index].root != index || work[index].first == Work::kNever ||
      !read_value(m, index, &v, nullptr) || v.kind == ValueKind::kConstant || v.bytes == 0)
    return false;
  *out = {planned_offset(m, index), v.bytes};
  return true;
}

bool check_plan(const MicroModel& m, const Work* work, uint32_t plan_bytes, uint32_t alignment,
                MicroError* e) {
  for (uint32_t i = 0; i < m.values.count; i++) {
    Tensor a, b;
    if (!find_tensor(m, work, i, &a)) continue;
    if (a.at == kNoPlace || a.at % alignment != 0 || a.at > plan_bytes ||
        a.bytes > plan_bytes - a.at)
      return refuse(e, Code::kPlanInvalid, INGOT_MICRO_TEXT("plan: a tensor leaves the region"),
                    int32_t(i), plan_bytes, a.at);
    for (uint32_t k = 0; k < i; k++)
      if (find_tensor(m, work, k, &b) && work[i].first <= work[k].last &&
          work[k].first <= work[i].last && a.at < b.at + b.bytes && b.at < a.at + a.bytes)
        return refuse(e, Code::kPlanInvalid,
                      INGOT_MICRO_TEXT("plan: two that live in the same step share bytes"),
                      int32_t(i), a.at, b.at);
  }
  return true;
}

/// The smallest gap that holds `bytes` between what lives in `step`, else behind all of it.
uint32_t find_gap(const MicroModel& m, const Work* work, uint32_t step, uint32_t bytes) {
  uint32_t behind = 0, best = 0, best_gap = kNoPlace;
  for (;;) {  // each turn: the lowest tensor that begins at or behind `behind`
    Tensor t, next = {kNoPlace, 0};
    for (uint32_t i = 0; i < m.values.count; i++)
      if (work[i].lives_in(step) && find_tensor(m, work, i, &t) && t.at + t.bytes > behind &&
          t.at < next.at)
        next = t;
    if (next.at == kNoPlace) return best_gap == kNoPlace ? behind : best;
    if (next.at >= behind && next.at - behind >= bytes && next.at - behind < best_gap)
      best = behind, best_gap = next.at - behind;
    behind = uint32_t(round_up(next.at + next.bytes, kScratchBlock));
  }
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

bool place_all(MicroModel* m, const Work* work, uint32_t plan_bytes, uint32_t alignment,
               MicroError* e) {
  if (!check_plan(*m, work, plan_bytes, alignment, e)) return false;
  const uint32_t work_bytes = m->values.count * uint32_t(sizeof(Work));
  uint8_t* const table = m->arena + work_bytes;
  uint32_t end = plan_bytes > work_bytes ? plan_bytes : work_bytes;
  for (uint32_t step = 0; step < m->instructions.count; step++) {
    MicroCall call;
    if (!read_call(*m, step, &call, e)) return false;
    const OpContract& contract = *call.kernel->entry.contract;
    uint32_t at = 0;
    if (contract.scratch) {
      const ScratchNeed need = contract.scratch(call.arguments, 1);
      if (need.per_thread_bytes > kMaxBytes || need.shared_bytes > kMaxBytes)
        return refuse(e, Code::kLimitExceeded, INGOT_MICRO_TEXT("scratch"), int32_t(step),
                      kMaxBytes);
      const uint32_t bytes = uint32_t(round_up(int64_t(need.per_thread_bytes), kScratchBlock) +
                                      round_up(int64_t(need.shared_bytes), kScratchBlock));
      if (bytes) at = find_gap(*m, work, step, bytes);
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
