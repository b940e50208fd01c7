// SPDX-License-Identifier: Apache-2.0
// runtime/micro/work.h - what validation remembers of each value, in the arena that is not in use,
// and the watchdog's hook while it runs.
// Owns     nothing.
#pragma once
#include "runtime/micro/model.h"

namespace ingot::micro {

/// Values that were written and lie in one root make a list behind it, so that validation is linear
/// in what the file has; kMaxShared bounds the list.
constexpr uint32_t kMaxShared = 256;

/// Of one value: the root whose storage it lies in and how far behind its start, the step that
/// writes it, the next written one of its root; of a root the first and last step that touch it, of
/// a view whether it was read.
struct Work {
  static constexpr uint16_t kNever = 0xffff;
  static constexpr uint32_t kBefore = 0xfffe;  // constants, inputs, states: before all steps
  uint16_t root = kNever, written = kNever, first = kNever, last = 0, next = kNever;
  uint16_t order = kNever;  // place_all(): the roots by their places; before it: a mark
  uint32_t at = 0, bytes = 0;
  AliasKind alias = AliasKind::kNone;
  ValueKind kind = ValueKind::kActivation;

  void touch(uint32_t step) {
    if (first == kNever || step < first) first = uint16_t(step);
    if (step > last) last = uint16_t(step);
  }
  bool lives_in(uint32_t step) const { return first != kNever && first <= step && step <= last; }
};

/// Counts units of work: a value or an instruction looked at, a block that was hashed. The hook is
/// called after so many of them. @return false where it ended the opening.
class Watch {
 public:
  static constexpr uint32_t kUnits = 256;
  Watch(ingot_micro_hook hook, void* user) : hook_(hook), user_(user) {}
  [[gnu::noinline]] bool spend(uint32_t units, MicroError* e) {
    spent_ += units;
    if (spent_ < kUnits) return true;
    spent_ = 0;
    return !hook_ || hook_(user_, calls_++) == 0 ||
           refuse(e, Code::kCancelled, INGOT_MICRO_TEXT("ended by the hook"));
  }

 private:
  ingot_micro_hook hook_;
  void* user_;
  uint32_t calls_ = 0, spent_ = 0;
};

/// At the start of the arena, one for each value.
bool take_work(const MicroModel& model, Work** out, MicroError* error);
/// Holds the plan against the lifetimes, gives scratch its places and says in model->arena_bytes
/// what is used. `plan_bytes` and `alignment`: of the plan.
bool place_all(MicroModel* model, Work* work, uint32_t plan_bytes, uint32_t alignment, Watch* watch,
               MicroError* error);

}  // namespace ingot::micro
