// SPDX-License-Identifier: Apache-2.0
// A convolution of f32 whose weights are no constant.
#pragma once
#include "tools/compile/passes/canonical/rules.h"

namespace ingot::passes {

void computed_convolution(Canonical& c, Node& node);

}  // namespace ingot::passes
