// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/custom.cpp - an operator of the application's has no oracle here: it computes
// itself.
#include "runtime/op/custom.h"

#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {

Status custom(const OpArguments& a, const Team& team) { return run_custom(a, team); }

}  // namespace ingot::cpu::oracle
