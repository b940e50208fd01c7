// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/tiles.h - AMX is used by permission of the system.
#pragma once

namespace ingot::cpu {

/// Asks the system for AMX's tiles; asking again changes nothing. From then on it refuses signal
/// stacks that they do not fit on, so only programs that multiply in tiles ask.
bool may_use_tiles();

}  // namespace ingot::cpu
