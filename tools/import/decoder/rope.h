// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/rope.h - the angles of rotary positions.
#pragma once
#include <vector>

#include "tools/import/decoder/architecture.h"

namespace ingot::decoder {

struct RopeTables {
  std::vector<float> cosine, sine;  // [context, width / 2]
};
/// @pre numbers.width is even; numbers.divisors is empty or has width / 2
RopeTables rope_tables(const RopeNumbers& numbers, int64_t context);

/// Of each element of a head of `width` whose neighbors turn together, which one stands there once
/// those half of `turned` apart do: 0, 2, .. 1, 3, .., and what does not turn as it is. `heads` of
/// them one behind the other, the first at `begin`.
std::vector<int64_t> halves_of_neighbors(int64_t begin, int64_t heads, int64_t width,
                                         int64_t turned);

/// Slopes of `heads` times each position [heads, context].
std::vector<float> slopes(const DecoderNumbers& numbers, int64_t heads);
/// What scales queries, of each position.
std::vector<float> temperatures(const DecoderNumbers& numbers);

}  // namespace ingot::decoder
