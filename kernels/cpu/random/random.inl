// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/random/random.inl - Random. Contract: runtime/op/random.h. Words one block after the
// other, logarithms and waves in vectors.
#pragma once
#include "kernels/cpu/simd/math_trig.inl"
#include "kernels/cpu/simd/share.inl"
#include "runtime/base/philox.h"
#include "runtime/op/random.h"

namespace ingot::cpu {
namespace {
namespace random {

constexpr int kChunk = 64;  // pairs of words

/// Normal numbers of mean 0 and deviation 1 out of pairs of words.
template <class V>
void to_normal(const uint32_t* words, float* to) {
  float radius[kChunk], turn[kChunk], sine[kChunk], cosine[kChunk];
  for (int i = 0; i < kChunk; i++) {
    radius[i] = float((words[2 * i] >> 8) + 1) * (1.0f / 16777216.0f);
    turn[i] = float(words[2 * i + 1] >> 8) * (1.0f / 16777216.0f);
  }
  for (int i = 0; i < kChunk; i += V::kLanes) {
    const typename V::F angle = V::mul(V::load(turn + i), V::splat(6.28318530717958647692f));
    const typename V::F r = V::sqrt(V::mul(Math<V>::log(V::load(radius + i)), V::splat(-2)));
    V::store(cosine + i, V::mul(r, Trig<V>::cos(angle)));
    V::store(sine + i, V::mul(r, Trig<V>::sin(angle)));
  }
  for (int i = 0; i < kChunk; i++) to[2 * i] = cosine[i], to[2 * i + 1] = sine[i];
}

template <class V>
Status random(const OpArguments& a, const Team& team) {
  const TensorView& y = a.outputs[0];
  const RandomAttributes& t = a.as<RandomAttributes>();
  const int64_t* const state = a.inputs[0].as<const int64_t>();
  const TensorView* const iteration = a.optional(1);
  const uint32_t run = uint32_t(state[1]),
                 turn = iteration ? uint32_t(*iteration->as<const int64_t>()) : 0;
  const uint32_t key0 = uint32_t(state[0]), key1 = uint32_t(uint64_t(state[0]) >> 32);
  const float scale = t.kind == RandomKind::kNormal ? t.second : t.second - t.first;
  const tensors::Part mine = tensors::part_of(team, y.elements(), 2 * kChunk, 2048);
  float* const to = y.as<float>();
  for (int64_t at = mine.begin; at < mine.end; at += 2 * kChunk) {
    uint32_t words[2 * kChunk];
    float numbers[2 * kChunk];
    for (int i = 0; i < 2 * kChunk; i += 4) {
      const PhiloxWords made = philox({{uint32_t((at + i) / 4), t.stream, run, turn}}, key0, key1);
      for (int k = 0; k < 4; k++) words[i + k] = made.word[k];
    }
    if (t.kind == RandomKind::kNormal)
      to_normal<V>(words, numbers);
    else
      for (int i = 0; i < 2 * kChunk; i++) numbers[i] = float(words[i] >> 8) * (1.0f / 16777216.0f);
    const int64_t count = tensors::least_of(mine.end - at, 2 * kChunk);
    for (int64_t i = 0; i < count; i++) to[at + i] = t.first + scale * numbers[i];
  }
  return {};
}

}  // namespace random
}  // namespace
}  // namespace ingot::cpu
