// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_custom.h - operators of other namespaces than PyTorch's own that a plugin
// has.
#pragma once
#include <string>

#include "tools/import/aten/lower.h"
#include "tools/import/aten/operands.h"

namespace ingot::aten {

/// Whether a plugin has "space::name"; never of aten.
bool has_plugin(const std::string& name);
/// Its node: tensors are inputs, None is an absent one, the rest are attributes of the argument's
/// name, or "argN" where the source gives none. One tensor for each result. @throws Refused
Results lower_custom(Builder& b, const Call& call);

}  // namespace ingot::aten
