// SPDX-License-Identifier: Apache-2.0
// tools/weights/programs/unpack.h - from the packings of schema/ingot.fbs back to dense row-major
// elements: the inverse of tools/compile/lower/packing.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/op/tensor.h"

namespace ingot::weights {

/// False for Winograd's transform, which rounds, and for blocks.
bool can_unpack(Packing packing);
/// Whether such a constant may be f16 or bf16 in blocks of runtime/op/block_linear.h; `dims`, of
/// bytes, become those of the numbers. Other blocks have the same look.
bool may_be_halves(DType dtype, Packing packing, std::vector<int64_t>* dims);
/// `packed` has the storage_bytes() of elements of that many bytes in that packing over `dims`;
/// dense constants pass as they are. @pre can_unpack(packing) or may_be_halves(), with elements of
/// two bytes, and the dims fit the packing.
std::vector<uint8_t> unpack(Packing packing, const std::vector<int64_t>& dims,
                            const uint8_t* packed, uint64_t bytes, std::size_t element);

}  // namespace ingot::weights
