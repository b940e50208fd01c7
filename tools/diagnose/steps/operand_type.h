// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/steps/operand_type.h - what products of a session round their operands to, which
// says how far its outputs may be from another runtime's.
#pragma once
#include "tools/session/engine.h"

namespace ingot::cli {

/// The narrowest type that operands of products have in the session: that of the weights in the
/// file, or, of a file with a lesser precision, on a GPU the 11 bits that tf32 and f16 share, on a
/// CPU the halves that it multiplies. kInvalid: f32. @pre `engine` has a session
DType operand_type(Engine* engine);

}  // namespace ingot::cli
