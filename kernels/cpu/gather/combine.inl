// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gather/combine.inl - what one update of a scatter makes of an element. Device code as
// well.
#pragma once
#include "kernels/cpu/simd/inline.h"
#include "runtime/op/gather.h"

namespace ingot::cpu {
namespace {
namespace tensors {

template <class T>
INGOT_INLINE T combine(ScatterReduction r, T old, T update) {
  switch (r) {
    case ScatterReduction::kAdd:
      if constexpr (T(0.5) == T(0))
        return T(uint64_t(old) + uint64_t(update));
      else
        return old + update;
    case ScatterReduction::kMul:
      if constexpr (T(0.5) == T(0))
        return T(uint64_t(old) * uint64_t(update));
      else
        return old * update;
    case ScatterReduction::kMax: return old > update || old != old ? old : update;  // NaN stays
    case ScatterReduction::kMin: return old < update || old != old ? old : update;
    case ScatterReduction::kNone: return update;
  }
  return update;
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
