// kernels/cpu/oracle/oracle.h - the oracle kernels, one a contract. Nobody speeds these up. They
// run the whole instruction on thread 0 of the team and use no scratch.
#pragma once
#include "runtime/op/contract.h"

namespace ingot::cpu::oracle {

Status conv2d(const OpArguments&, const Team&);
Status chain(const OpArguments&, const Team&);
Status linear(const OpArguments&, const Team&);
Status matmul(const OpArguments&, const Team&);
Status attention(const OpArguments&, const Team&);
Status pool2d(const OpArguments&, const Team&);
Status conv_transpose2d(const OpArguments&, const Team&);
Status elementwise(const OpArguments&, const Team&);
Status reduce(const OpArguments&, const Team&);
Status arg_reduce(const OpArguments&, const Team&);
Status softmax(const OpArguments&, const Team&);
Status normalize(const OpArguments&, const Team&);
Status recurrent(const OpArguments&, const Team&);
Status transpose(const OpArguments&, const Team&);
Status gather(const OpArguments&, const Team&);
Status gather_elements(const OpArguments&, const Team&);
Status gather_nd(const OpArguments&, const Team&);
Status scatter_nd(const OpArguments&, const Team&);
Status scatter_elements(const OpArguments&, const Team&);
Status concat(const OpArguments&, const Team&);
Status slice(const OpArguments&, const Team&);
Status pad(const OpArguments&, const Team&);
Status resize(const OpArguments&, const Team&);
Status picture(const OpArguments&, const Team&);
Status copy(const OpArguments&, const Team&);
Status tile(const OpArguments&, const Team&);
Status topk(const OpArguments&, const Team&);
Status cumsum(const OpArguments&, const Team&);
Status nonzero(const OpArguments&, const Team&);
Status unique(const OpArguments&, const Team&);
Status non_max_suppression(const OpArguments&, const Team&);

}  // namespace ingot::cpu::oracle
