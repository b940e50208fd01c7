// SPDX-License-Identifier: Apache-2.0
// runtime/op/multiply_adds.h - how many products an instruction sums.
// Owns     nothing.
// Threads  any.
// Errors   none: types were checked by the operator's contract.
#pragma once
#include "runtime/op/contract.h"
#include "runtime/op/opcode.h"

namespace ingot {

/// Of convolutions, linear layers, products of matrices, attention, recurrent layers and chains;
/// 0 for operators that sum none. Only types and attributes of `a` are read.
uint64_t multiply_adds(OpCode op, const OpArguments& a);

}  // namespace ingot
