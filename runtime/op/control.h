// runtime/op/control.h - If: the session itself runs it, no kernel exists. Input 0: bool, one element. The branches are
// subprograms laid out behind it; each writes the outputs before it ends.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

struct IfAttributes { uint32_t then_subprogram = 0, else_subprogram = 0; };
extern const OpContract kIfContract;

}  // namespace ingot
