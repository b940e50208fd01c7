// SPDX-License-Identifier: Apache-2.0
// runtime/op/copy.h - copies in row-major order between any dims of the same number of elements (a
// reshape that could not be a view, the end of a branch; the bits of another type of that width,
// short of bool), and Tile (output dims are multiples of the input's). Any element type.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

struct CopyAttributes {};
struct TileAttributes {};
extern const OpContract kCopyContract;
extern const OpContract kTileContract;

}  // namespace ingot
