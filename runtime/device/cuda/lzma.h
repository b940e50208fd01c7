// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/lzma.h - decoder of one raw LZMA stream, as device code is packed by
// kernels/cuda/embed/pack.py.
#pragma once
#include <cstdint>

#include "runtime/base/span.h"

namespace ingot::cuda {

/// Decodes a stream of exactly `size` bytes that ends in an end mark, with lc 0, lp 4, pb 4
/// (statistics by the byte within 16: the width of a GPU's instruction). `out` is the dictionary.
/// False when anything is malformed, cut or left over; never reads or writes outside. is_prefix:
/// the stream may go on behind them, and nothing of that is looked at. No allocation; 30 KB of
/// stack; any thread.
bool lzma_decode(Span<const uint8_t> packed, uint8_t* out, size_t size, bool is_prefix = false);

}  // namespace ingot::cuda
