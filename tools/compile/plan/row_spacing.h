// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/row_spacing.h - rows a multiple of 4 KiB apart have the same few places of an
// L1 cache, and a product reads a column of more rows than there are places.
#pragma once
#include "tools/compile/plan/view_tree.h"

namespace ingot::convert {

/// Values that products read so get rows a cache line further apart, and with them all that may lie
/// in their place. Where an instruction wants dense rows they stay as they are.
void space_rows(LoweredProgram* lowered, ViewTree* tree);

}  // namespace ingot::convert
