// kernels/cpu/oracle/oracle.h - the oracle kernels, one a contract. Nobody speeds these up. They run the whole instruction on
// thread 0 of the team and use no scratch.
#pragma once
#include "runtime/op/contract.h"

namespace ingot::cpu::oracle {

}  // namespace ingot::cpu::oracle
