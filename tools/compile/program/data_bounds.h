// SPDX-License-Identifier: Apache-2.0
// tools/compile/program/data_bounds.h - sizes that only a run tells are planned for the most that
// was said: what to say where that is too much.
#pragma once
#include <string>

#include "tools/compile/program/lowered_program.h"

namespace ingot::convert {

/// Whether a tensor has so many elements along a dimension.
inline bool is_extent(int64_t d) { return Extent(d) == d && d >= 0; }
/// The options that say less for the sizes that decide an instruction's extents; "" where none of
/// them depends on data.
std::string how_to_bound(const LoweredProgram& lowered, const LoweredInstruction& instruction,
                         const Bindings& bindings);
/// The largest result whose extents depend on data, where that takes 256 MB or more; else "".
std::string large_by_bounds(const LoweredProgram& lowered);
/// Looks for extents that no tensor has. @throws ConversionError(kMismatch) with node and
/// dimension.
void check_extents(const LoweredProgram& lowered, const Bindings& bindings);

}  // namespace ingot::convert
