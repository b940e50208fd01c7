// SPDX-License-Identifier: Apache-2.0
// runtime/text/constraint_limits.h - sizes of a constraint's tables, and the stacks that there are
// from the beginning.
#pragma once
#include "runtime/text/constraint.h"

namespace ingot::text {

constexpr uint32_t kStackNodes = 2 * kMaxGrammarDepth;  // half of them for walks over tokens
constexpr uint32_t kStackHeads = 4096;
constexpr uint32_t kWalkThreads = 16384;  // of all bytes of a token

// The stack of which nothing is known, and that of the grammar's beginning.
constexpr uint32_t kUnknownStack = 0, kRootStack = 1, kFirstStack = 2;
constexpr uint32_t kNoStack = ~uint32_t{0}, kNoByte = ~uint32_t{0}, kNoState = ~uint32_t{0};

}  // namespace ingot::text
