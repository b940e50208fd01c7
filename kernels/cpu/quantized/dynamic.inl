// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/dynamic.inl - floats to bytes by what they hold: the range of a group, its
// steps, its bytes. Contract: runtime/op/dynamic_quantize.h.
#pragma once
#include "kernels/cpu/quantized/dynamic_quant_params.inl"
#include "kernels/cpu/quantized/quantize.inl"
#include "runtime/op/dynamic_quantize.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// NaN is left out: min and max give their second operand for it.
template <class V>
INGOT_INLINE void widen_range(const float* x, int64_t n, ValueRange* range) {
  using F = typename V::F;
  F low[4], high[4];
  INGOT_UNROLL for (int k = 0; k < 4; k++) low[k] = high[k] = V::zero();
  int64_t i = 0;
  for (; i + 4 * V::kLanes <= n; i += 4 * V::kLanes) {
    INGOT_UNROLL for (int k = 0; k < 4; k++) {
      const F v = V::load(x + i + k * V::kLanes);
      low[k] = V::min(v, low[k]), high[k] = V::max(v, high[k]);
    }
  }
  for (; i < n; i += V::kLanes) {
    const F v = V::load_partial(x + i, n - i < V::kLanes ? n - i : V::kLanes);
    low[0] = V::min(v, low[0]), high[0] = V::max(v, high[0]);
  }
  float lows[V::kLanes], highs[V::kLanes];
  V::store(lows, V::min(V::min(low[0], low[1]), V::min(low[2], low[3])));
  V::store(highs, V::max(V::max(high[0], high[1]), V::max(high[2], high[3])));
  for (const float each : lows) range->low = each < range->low ? each : range->low;
  for (const float each : highs) range->high = each > range->high ? each : range->high;
}

template <class V, bool kAway>
INGOT_INLINE typename V::I group_byte(const GroupQuantParams& s, typename V::F x) {
  using F = typename V::F;
  const F factor = V::splat(s.factor);
  const F v = kAway ? V::mul(x, factor) : V::div(x, factor);
  const F number = V::select(V::unordered(v, v), V::zero(), v);
  const F placed = kAway ? V::add(V::splat(s.offset), number) : number;
  const F step = V::max(V::min(placed, V::splat(s.high)), V::splat(s.low));
  const typename V::I whole = kAway ? V::to_int(round_away<V>(step)) : V::to_int_nearest(step);
  return V::iadd(whole, V::isplat(s.zero));
}

template <class V, bool kAway>
INGOT_INLINE void group_bytes(const GroupQuantParams steps, const float* x, uint8_t* y, int64_t n) {
  int64_t i = 0;
  if constexpr (V::kPacks) {
    for (; i + V::kBytes <= n; i += V::kBytes) {
      typename V::I whole[4];
      INGOT_UNROLL for (int k = 0; k < 4; k++) whole[k] =
          group_byte<V, kAway>(steps, V::load(x + i + k * V::kLanes));
      V::bstore(y + i, V::bpack(whole));
    }
  }
  for (; i < n; i += V::kLanes) {
    const int64_t count = least_of(V::kLanes, n - i);
    V::istore_u8_partial(y + i, group_byte<V, kAway>(steps, V::load_partial(x + i, count)), count);
  }
}

/// One call: rows that lie apart are runs of their own.
template <class V>
struct DynamicGroups {
  const TensorView &x, &y, &steps;
  DynamicRange kind;
  bool flat;                         // all runs of a group touch
  int64_t groups, elements, length;  // elements of a group, and of a run
  explicit DynamicGroups(const OpArguments& a)
      : x(a.inputs[0]),
        y(a.outputs[0]),
        steps(a.outputs[1]),
        kind(a.as<DynamicQuantizeAttributes>().range),
        flat(x.is_dense() && y.is_dense()),
        groups(steps.dims[0]),
        elements(groups ? x.elements() / groups : 0),
        length(flat ? most_of(elements, 1) : x.row_length()) {}

  /// f(offset in x, offset in y, elements) of elements [part) of group g.
  template <class F>
  INGOT_INLINE void for_runs(int64_t g, const Part& part, F f) const {
    for (int64_t at = g * elements + part.begin, end = g * elements + part.end; at < end;) {
      const int64_t row = at / length, column = at - row * length,
                    n = least_of(length - column, end - at);
      f(flat ? at : row * x.row_stride + column, flat ? at : row * y.row_stride + column, n);
      at += n;
    }
  }
  ValueRange range(int64_t g, const Part& part) const {
    ValueRange found;
    for_runs(g, part, [&](int64_t from, int64_t, int64_t n) {
      widen_range<V>(x.template as<const float>() + from, n, &found);
    });
    return found;
  }
  void quantize(int64_t g, const Part& part, const GroupQuantParams& s) const {
    for_runs(g, part, [&](int64_t from, int64_t to, int64_t n) {
      const float* const numbers = x.template as<const float>() + from;
      uint8_t* const bytes = y.template as<uint8_t>() + to;
      if (s.away)
        group_bytes<V, true>(s, numbers, bytes, n);
      else
        group_bytes<V, false>(s, numbers, bytes, n);
    });
  }
  void put_steps(int64_t g, const GroupQuantParams& s) const {
    steps.template as<float>()[2 * g] = s.scale;
    steps.template as<float>()[2 * g + 1] = s.zero_point;
  }
  void run_alone(int64_t g) const {
    const Part all{0, elements};
    const GroupQuantParams s = group_quant_params(kind, range(g, all));
    put_steps(g, s);
    quantize(g, all, s);
  }
};

constexpr int64_t kJointElements = 8192;  // of a group that several members work on

template <class V>
Status dynamic_quantize(const OpArguments& a, const Team& team) {
  const DynamicGroups<V> all(a);
  if (team.size == 1 || all.groups >= team.size || all.elements < kJointElements) {
    const Part mine = part_of(team, all.groups, 1, most_of(1, 4096 / most_of(all.elements, 1)));
    for (int64_t g = mine.begin; g < mine.end; g++) all.run_alone(g);
    return {};
  }
  for (int64_t g = 0; g < all.groups; g++) {
    // a member that is ahead writes the other half
    ValueRange* const ranges = static_cast<ValueRange*>(team.shared) + g % 2 * kMaxThreads;
    const Part mine = part_of(team, all.elements, 64, 4096);
    ranges[team.id] = all.range(g, mine);
    team.join();
    ValueRange whole;
    for (int i = 0; i < team.size; i++) {
      if (ranges[i].low < whole.low) whole.low = ranges[i].low;
      if (ranges[i].high > whole.high) whole.high = ranges[i].high;
    }
    const GroupQuantParams s = group_quant_params(all.kind, whole);
    if (team.id == 0) all.put_steps(g, s);
    all.quantize(g, mine, s);
  }
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
