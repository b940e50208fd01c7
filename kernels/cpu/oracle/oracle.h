// kernels/cpu/oracle/oracle.h - the oracle kernels, one a contract. Nobody speeds these up. They run the whole instruction on
// thread 0 of the team and use no scratch.
#pragma once
#include "runtime/op/contract.h"

namespace ingot::cpu::oracle {

Status conv2d(const OpArguments&, const Team&);
Status chain(const OpArguments&, const Team&);
Status linear(const OpArguments&, const Team&);
Status matmul(const OpArguments&, const Team&);
Status pool2d(const OpArguments&, const Team&);
Status conv_transpose2d(const OpArguments&, const Team&);

}  // namespace ingot::cpu::oracle
