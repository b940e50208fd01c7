// SPDX-License-Identifier: Apache-2.0
// runtime/op/opcode.cpp - names for messages and reports.
#include "runtime/op/opcode.h"

namespace ingot {
namespace {

constexpr bool are_in_order() {
  for (int i = 0; i < kOpCodeCount; i++)
    if (int(kOpCodes[i]) != i) return false;
  return true;
}
static_assert(
    are_in_order(),
    "runtime/op/operators.def: the rows stand in the order of the numbers, without a gap");

}  // namespace

const char* op_name(OpCode op) {
  static constexpr const char* kNames[kOpCodeCount] = {
      "none",
#define INGOT_OPERATOR(name, number, text, family) #text,
#include "runtime/op/operators.def"
  };
  return int(op) < kOpCodeCount ? kNames[int(op)] : "unknown";
}

}  // namespace ingot
