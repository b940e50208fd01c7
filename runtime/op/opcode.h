// SPDX-License-Identifier: Apache-2.0
// runtime/op/opcode.h - the operators of format version 1. Numbers equal the union
// ingot.fb.Attributes and never change.
#pragma once
#include <cstdint>

namespace ingot {

enum class OpCode : uint8_t {
  kNone = 0,
#define INGOT_OPERATOR(name, number, text, family) k##name = (number),
#include "runtime/op/operators.def"
};
inline constexpr OpCode kOpCodes[] = {
    OpCode::kNone,
#define INGOT_OPERATOR(name, number, text, family) OpCode::k##name,
#include "runtime/op/operators.def"
};
constexpr int kOpCodeCount = int(sizeof kOpCodes / sizeof kOpCodes[0]);

/// As in messages: "conv_transpose2d".
const char* op_name(OpCode op);

/// Run by the session itself: such an operator has a contract and no kernel.
constexpr bool is_control(OpCode op) { return op == OpCode::kIf || op == OpCode::kLoop; }

}  // namespace ingot
