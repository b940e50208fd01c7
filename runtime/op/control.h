// SPDX-License-Identifier: Apache-2.0
// runtime/op/control.h - If and Loop: the session itself runs them, no kernel exists. Their
// subprograms are laid out behind them (runtime/format/program.h).
//
// If     Input 0: bool, one element. Both branches write every output. A branch that is 0 does not
// exist: the run that
//        would take it ends with kControlRefused.
// Loop   Runs its body while iteration < count and condition.
//        Input 0, optional: the count, i64, one element; a run in which it is above `most` ends
//        with kControlRefused, one below
//        1 skips the body. Input 1, optional: the condition, bool, one element. Inputs 1 and up are
//        carried: written before the
//        loop, in the subprogram it stands in, and again in the body, once each; whoever reads one
//        sees what was written last.
//        Output 0, optional: the iteration, i64, one element; 0 in the first, after the loop how
//        many there were.
//        At most `most` iterations, so a run ends.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

struct IfAttributes {
  uint32_t then_subprogram = 0, else_subprogram = 0;
};
struct LoopAttributes {
  uint32_t body = 0;
  int64_t most = 0;  // a Dim in the file
};
extern const OpContract kIfContract;
extern const OpContract kLoopContract;

/// First input of a Loop that is carried.
constexpr uint32_t kFirstCarried = 1;

}  // namespace ingot
