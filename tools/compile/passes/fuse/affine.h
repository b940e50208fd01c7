// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/fuse/affine.h - elementwise nodes that are affine functions of one operand.
#pragma once
#include <optional>
#include <vector>

#include "tools/compile/passes/common/editor.h"

namespace ingot::passes {

/// y = x * factor + shift, channel by channel.
struct Affine {
  std::vector<double> factor, shift;
};

/// The node as an Affine of operand `x`, when it is one.
std::optional<Affine> affine(const Editor& e, const Node& node, ValueId x);

}  // namespace ingot::passes
