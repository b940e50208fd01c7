// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/recurrent/cell.inl - what happens to the gates of one step once their products are
// made. Contract: runtime/op/recurrent.h. Device code as well.
#pragma once
#include "kernels/cpu/simd/activation.inl"
#include "kernels/cpu/simd/share.inl"
#include "runtime/op/recurrent.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// An activation known when running; the three usual ones without leaving the register.
template <class V>
INGOT_INLINE typename V::F apply_activation(const ActivationSpec& s, typename V::F x) {
  if (s.kind == Activation::kSigmoid) return Math<V>::sigmoid(x);
  if (s.kind == Activation::kTanh) return Math<V>::tanh(x);
  if (s.kind == Activation::kRelu) return Math<V>::relu(x);
  float lanes[V::kLanes];
  V::store(lanes, x);
  activate_rows<V>(s, lanes, 1, V::kLanes, V::kLanes);
  return V::load(lanes);
}

/// One direction: functions and addresses that do not change from step to step.
struct CellPlan {
  RecurrentKind kind = RecurrentKind::kLstm;
  ActivationSpec f, g, h;
  float clip = 0;
  bool linear_before_reset = false;
  const float* peepholes = nullptr;  // [3][padded], i o f
  int64_t hidden = 0, padded = 0;
};

/// One element of the batch at one step. Gate k of unit u is at [k * padded + u].
struct CellRow {
  const float* from_input;
  const float* from_state;
  const float* old_h;
  float* new_h;
  float* c;      // lstm
  float* reset;  // gru: r * h, or r where linear_before_reset
  float* y;      // or null
};

template <class V>
INGOT_INLINE typename V::F limit_gate(const CellPlan& p, typename V::F x) {
  return p.clip > 0 ? Math<V>::clamp(x, -p.clip, p.clip) : x;
}

template <class V>
INGOT_INLINE void put_state(const CellPlan& p, const CellRow& r, int64_t u, typename V::F h) {
  h = Math<V>::flush(h);
  V::store(r.new_h + u, h);
  if (!r.y || u >= p.hidden) return;
  if (p.hidden - u >= V::kLanes)
    V::store(r.y + u, h);
  else
    V::store_partial(r.y + u, h, p.hidden - u);
}

/// Units [first, last), multiples of 16.
template <class V>
INGOT_FN void lstm_cell(const CellPlan& p, const CellRow& r, int64_t first, int64_t last) {
  using F = typename V::F;
  const int64_t n = p.padded;
  for (int64_t u = first; u < last; u += V::kLanes) {
    const auto gate = [&](int k) {
      return V::add(V::load(r.from_input + k * n + u), V::load(r.from_state + k * n + u));
    };
    const auto peep = [&](int k, F x, F c) {
      return p.peepholes ? V::fma(V::load(p.peepholes + k * n + u), c, x) : x;
    };
    const F c = V::load(r.c + u);
    const F i = apply_activation<V>(p.f, limit_gate<V>(p, peep(0, gate(0), c)));
    const F f = apply_activation<V>(p.f, limit_gate<V>(p, peep(2, gate(2), c)));
    const F g = apply_activation<V>(p.g, limit_gate<V>(p, gate(3)));
    const F next = Math<V>::flush(V::fma(f, c, V::mul(i, g)));
    const F o = apply_activation<V>(p.f, limit_gate<V>(p, peep(1, gate(1), next)));
    V::store(r.c + u, next);
    put_state<V>(p, r, u, V::mul(o, apply_activation<V>(p.h, next)));
  }
}

/// The reset gate, ahead of the product of the third gate where that needs r * h.
template <class V>
INGOT_FN void gru_reset(const CellPlan& p, const CellRow& r, int64_t first, int64_t last) {
  const int64_t n = p.padded;
  for (int64_t u = first; u < last; u += V::kLanes) {
    const typename V::F gate = V::add(V::load(r.from_input + n + u), V::load(r.from_state + n + u));
    const typename V::F reset = apply_activation<V>(p.f, limit_gate<V>(p, gate));
    V::store(r.reset + u, p.linear_before_reset ? reset : V::mul(reset, V::load(r.old_h + u)));
  }
}

template <class V>
INGOT_FN void gru_cell(const CellPlan& p, const CellRow& r, int64_t first, int64_t last) {
  using F = typename V::F;
  const int64_t n = p.padded;
  for (int64_t u = first; u < last; u += V::kLanes) {
    const F z = apply_activation<V>(
        p.f, limit_gate<V>(p, V::add(V::load(r.from_input + u), V::load(r.from_state + u))));
    const F input = V::load(r.from_input + 2 * n + u), state = V::load(r.from_state + 2 * n + u);
    const F sum =
        p.linear_before_reset ? V::fma(V::load(r.reset + u), state, input) : V::add(input, state);
    const F g = apply_activation<V>(p.g, limit_gate<V>(p, sum));
    put_state<V>(p, r, u, V::fma(z, V::load(r.old_h + u), V::mul(V::sub(V::splat(1.0f), z), g)));
  }
}

template <class V>
INGOT_FN void rnn_cell(const CellPlan& p, const CellRow& r, int64_t first, int64_t last) {
  for (int64_t u = first; u < last; u += V::kLanes)
    put_state<V>(p, r, u,
                 apply_activation<V>(p.f, limit_gate<V>(p, V::add(V::load(r.from_input + u),
                                                                  V::load(r.from_state + u)))));
}

/// A sequence that has ended: the state stays, the output is zero.
template <class V>
INGOT_FN void idle_cell(const CellPlan& p, const CellRow& r, int64_t first, int64_t last) {
  for (int64_t u = first; u < last; u++) {
    r.new_h[u] = r.old_h[u];
    if (r.y && u < p.hidden) r.y[u] = 0;
  }
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
