// SPDX-License-Identifier: Apache-2.0
// runtime/op/pad.h - x placed `before` into y; y's dims say what follows. constant, reflect
// (without the edge), edge, wrap. A negative before or a smaller y crops. Any element type; `value`
// is converted. Operands: x, [value scalar constant].
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

enum class PadMode : uint8_t { kConstant = 0, kReflect = 1, kEdge = 2, kWrap = 3 };
struct PadAttributes {
  PadMode mode = PadMode::kConstant;
  uint32_t rank = 0;
  int64_t before[kMaxRank] = {};
  float value = 0;
};
extern const OpContract kPadContract;

}  // namespace ingot
