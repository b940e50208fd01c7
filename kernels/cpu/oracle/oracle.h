// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/oracle.h - the oracle kernels, one a contract: of each row of operators.def
// the function of its text. Nobody speeds these up. They run the whole instruction on thread 0 of
// the team and use no scratch.
#pragma once
#include "runtime/op/contract.h"

namespace ingot::cpu::oracle {

#define INGOT_OPERATOR(name, number, text, family) Status text(const OpArguments&, const Team&);
#define INGOT_CONTROL_OPERATOR(name, number, text, family)
#include "runtime/op/operators.def"

}  // namespace ingot::cpu::oracle
