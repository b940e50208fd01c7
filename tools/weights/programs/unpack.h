// SPDX-License-Identifier: Apache-2.0
// tools/weights/programs/unpack.h - from the packings of schema/ingot.fbs back to dense row-major
// elements: the inverse of tools/compile/lower/packing.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/op/tensor.h"

namespace ingot::weights {

/// False for Winograd's transform, which rounds.
bool can_unpack(Packing packing);
/// `packed` has the storage_bytes() of elements of that many bytes in that packing over `dims`;
/// dense constants pass as they are. @pre can_unpack(packing), and the dims fit the packing.
std::vector<uint8_t> unpack(Packing packing, const std::vector<int64_t>& dims,
                            const uint8_t* packed, uint64_t bytes, std::size_t element);

}  // namespace ingot::weights
