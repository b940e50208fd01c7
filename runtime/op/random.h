// SPDX-License-Identifier: Apache-2.0
// runtime/op/random.h - Random: state i64 [2] (seed, number of the run), iteration? i64 scalar
// -> y [..] f32, numbers that depend on the seed, the run, the iteration of the loops around it,
// `stream` (of the instruction) and their place alone: not on the threads nor on what else runs.
//
// Elements 4i to 4i + 3 are the four words of Philox 4x32, ten rounds (Salmon et al., "Parallel
// random numbers: as easy as 1, 2, 3"), for the counter (i, stream, run, iteration), their low 32
// bits, and the key (seed, high half of the seed). A word x is a number by its upper 24 bits:
//   kUniform  first + (second - first) * (x >> 8) / 2^24: of [first, second), but for rounding
//   kNormal   first + second * z: mean and deviation. Words in pairs (x, w) give by Box and Muller
//             z = r cos(t), then r sin(t), with r^2 = -2 ln(((x >> 8) + 1) / 2^24) and
//             t = 2 pi ((w >> 8) / 2^24)
// Products and sums of the last step are not contracted.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

enum class RandomKind : uint8_t { kUniform = 0, kNormal = 1 };
struct RandomAttributes {
  RandomKind kind = RandomKind::kUniform;
  uint32_t stream = 0;
  float first = 0;   // lowest; mean
  float second = 1;  // above the highest; deviation
};

extern const OpContract kRandomContract;

}  // namespace ingot
