// SPDX-License-Identifier: Apache-2.0
// tools/compile/patches/windows.h - what an instruction reads for a part of its output, where rows
// and columns can be computed apart.
// Owns     nothing.
// Threads  any.
#pragma once
#include <algorithm>
#include <optional>

#include "tools/compile/program/lowered_program.h"

namespace ingot::convert {

/// Rows or columns, [begin, end).
struct Interval {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const Interval& o) const { return begin == o.begin && end == o.end; }
  /// The smallest that has both.
  Interval hull(const Interval& o) const {
    return {std::min(begin, o.begin), std::max(end, o.end)};
  }
};

/// Of an image [1, H, W, C], all its channels.
struct Area {
  Interval rows, columns;
  int64_t pixels() const { return rows.size() * columns.size(); }
  bool operator==(const Area& o) const { return rows == o.rows && columns == o.columns; }
  Area hull(const Area& o) const { return {rows.hull(o.rows), columns.hull(o.columns)}; }
};

/// The whole of a value [1, H, W, C]; nothing where it is none or an extent is open.
std::optional<Area> image_area(const LoweredValue& value);

/// How an operand is read for an area of the output.
enum class Reading {
  kApart,   // not known: the instruction is not computed in patches
  kWhole,   // all of it, for each area: weights, numbers of channels
  kSame,    // the same area
  kWindow,  // what the windows of the area reach
};
/// @pre the contract holds
Reading reading_of(const LoweredProgram& lowered, const LoweredInstruction& instruction,
                   size_t operand);

/// True where every operand is read in a known way and output 0 is an image.
bool works_in_patches(const LoweredProgram& lowered, const LoweredInstruction& instruction);

/// What of operand 0 the windows of `y` reach, within `x`; nothing where a window lies in the pads
/// alone. `pads`, which may be null: the pads that are left.
struct Pads {
  int64_t top = 0, left = 0, bottom = 0, right = 0;
};
std::optional<Area> window_area(const LoweredInstruction& instruction, const Area& x, const Area& y,
                                Pads* pads);
/// The attributes with other pads. @pre it has windows
void set_pads(LoweredInstruction* instruction, const Pads& pads);

}  // namespace ingot::convert
