// runtime/micro/work.h - what validation remembers of each value, in the arena that is not in use.
// Owns     nothing.
#pragma once
#include "runtime/micro/model.h"

namespace ingot::micro {

/// Of one value: the root whose storage it lies in, the step that writes it, and of a root the
/// first and last step that touch it.
struct Work {
  static constexpr uint16_t kNever = 0xffff;
  static constexpr uint32_t kBefore = 0xfffe;  // constants and inputs: before all steps
  uint16_t root = 0, written = kNever, first = kNever, last = 0;

  void touch(uint32_t step) {
    if (first == kNever || step < first) first = uint16_t(step);
    if (step > last) last = uint16_t(step);
  }
  bool lives_in(uint32_t step) const { return first != kNever && first <= step && step <= last; }
};

/// At the start of the arena, one for each value.
bool take_work(const MicroModel& model, Work** out, MicroError* error);
/// Holds the plan against the lifetimes, gives scratch its places and says in model->arena_bytes
/// what is used. `plan_bytes` and `alignment`: of the plan.
bool place_all(MicroModel* model, const Work* work, uint32_t plan_bytes, uint32_t alignment,
               MicroError* error);

}  // namespace ingot::micro
