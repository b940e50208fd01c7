// SPDX-License-Identifier: Apache-2.0
// tools/compile/patches/region.h - consecutive instructions of which one value alone is read
// behind them: they can be computed patch by patch of that value.
// Owns     nothing.
// Threads  any.
#pragma once
#include <map>
#include <vector>

#include "tools/compile/patches/windows.h"

namespace ingot::convert {

/// Instructions [first, last] of the main program.
struct Region {
  uint32_t first = 0, last = 0;
};

/// Into how many rows and columns of patches the region's output is cut.
struct Grid {
  uint32_t rows = 1, columns = 1;
  uint32_t patches() const { return rows * columns; }
};

/// The areas of a patch, by value: what is computed of it, or read of it where it comes from
/// outside of the region.
using PatchAreas = std::map<int32_t, Area>;

/// What a region computes for one patch of its output. Nothing where it has a window in the pads
/// alone. @pre works_in_patches() of each instruction
std::optional<PatchAreas> patch_areas(const LoweredProgram& lowered, const Region& region,
                                      const Area& patch);
/// The patches in the order in which they are computed: row by row.
std::vector<Area> cut(const Area& whole, const Grid& grid);

/// The region of a program computed in patches. What it reads from outside is read where it lies as
/// far as it can be.
/// @pre patch_areas() of every patch
void compute_in_patches(LoweredProgram* lowered, const Region& region, const Grid& grid);

}  // namespace ingot::convert
