// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/random.cpp - Random, element by element; logarithms and waves in double.
#include "runtime/op/random.h"

#include <cmath>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {
namespace {

struct Block {
  uint32_t x[4];
};
/// Philox's function of a counter and a key, as its paper has it.
Block block_of(Block c, uint64_t key) {
  uint32_t k[2] = {uint32_t(key), uint32_t(key >> 32)};
  for (int round = 0; round < 10; round++) {
    const uint64_t low = uint64_t(c.x[0]) * 3528531795u, high = uint64_t(c.x[2]) * 3449720151u;
    c = {{uint32_t(high >> 32) ^ c.x[1] ^ k[0], uint32_t(high), uint32_t(low >> 32) ^ c.x[3] ^ k[1],
          uint32_t(low)}};
    k[0] += 2654435769u, k[1] += 3144134277u;
  }
  return c;
}

}  // namespace

Status random(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const RandomAttributes& t = a.as<RandomAttributes>();
  const TensorView& y = a.outputs[0];
  const int64_t* const state = a.inputs[0].as<const int64_t>();
  const int64_t iteration = a.optional(1) ? read_integer(a.inputs[1], 0) : 0;
  for (int64_t i = 0; i < y.elements(); i++) {
    const Block words = block_of(
        {{uint32_t(i / 4), t.stream, uint32_t(state[1]), uint32_t(iteration)}}, uint64_t(state[0]));
    const auto part = [&](int64_t k) { return double(words.x[k] >> 8) / 16777216.0; };
    double value;
    if (t.kind == RandomKind::kUniform) {
      value = t.first + (double(t.second) - t.first) * part(i % 4);
    } else {
      const int64_t pair = i % 4 / 2 * 2;
      const double r = std::sqrt(-2 * std::log(part(pair) + 1 / 16777216.0)),
                   angle = 6.283185307179586476925 * part(pair + 1);
      value = t.first + t.second * (r * (i % 2 ? std::sin(angle) : std::cos(angle)));
    }
    write(y, i, value);
  }
  return {};
}

}  // namespace ingot::cpu::oracle
