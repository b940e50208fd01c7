// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/recurrent/recurrent.inl - LSTM, GRU, RNN. Contract and order: runtime/op/recurrent.h.
// The products of the inputs of up to 64 rows are one matrix product; each step adds the product of
// the state. Two directions go to two members of the team; one direction is divided by hidden units
// where a step is worth a join, else one member runs it alone. Scratch of a direction: [chunk
// rows][gates * P] inputs, [B][gates * P] state, h twice, c and r * h [B][P] each.
#pragma once
#include "kernels/cpu/gemm/gemm.inl"
#include "kernels/cpu/recurrent/cell.inl"

namespace ingot::cpu {
namespace {
namespace tensors {

/// What step s of a sequence works on.
struct Turn {
  int64_t time;
  bool active;  // it has not ended
};

/// `Products` are of floats here, of bytes in byte_products.inl.
template <class V, class Products>
struct Recurrence {
  const OpArguments& a;
  const RecurrentAttributes& t;
  const Team& team;
  int direction;
  bool joint;         // several members share this direction
  Part panels{0, 0};  // of 16 hidden units, this member's
  CellPlan plan;
  int64_t steps = 0, batches = 0, input = 0, gates = 0, chunk = 0, directions = 1;
  float *inputs = nullptr, *states = nullptr, *h[2] = {}, *c = nullptr, *reset = nullptr;
  int current = 0;  // h[current] is the state
  Products products;

  Recurrence(const OpArguments& arguments, const Team& members, int d, bool shared)
      : a(arguments),
        t(arguments.as<RecurrentAttributes>()),
        team(members),
        direction(d),
        joint(shared) {
    const TensorView& x = a.inputs[0];
    steps = x.dims[t.batch_first ? 1 : 0];
    batches = x.dims[t.batch_first ? 0 : 1];
    input = x.dims[2];
    gates = recurrent_gates(t.kind);
    directions = t.direction == Direction::kBidirectional ? 2 : 1;
    chunk = recurrent_chunk_steps(steps, batches);
    make_plan();
    const int64_t n = plan.padded;
    float* room = static_cast<float*>(team.shared) +
                  direction * ((chunk * batches + batches) * gates * n + batches * 4 * n);
    inputs = room;
    states = inputs + chunk * batches * gates * n;
    h[0] = states + batches * gates * n;
    h[1] = h[0] + batches * n;
    c = h[1] + batches * n;
    reset = c + batches * n;
    panels = joint ? part_of(team, n / kPanel) : Part{0, n / kPanel};
  }

  void make_plan() {
    plan.kind = t.kind;
    plan.clip = t.clip;
    plan.linear_before_reset = t.linear_before_reset;
    plan.hidden = t.hidden;
    plan.padded = (plan.hidden + kPanel - 1) / kPanel * kPanel;
    plan.f = {t.kind == RecurrentKind::kRnn ? Activation::kTanh : Activation::kSigmoid, 0, 0};
    plan.g = plan.h = {Activation::kTanh, 0, 0};
    if (t.activation_count != 0) {
      const int each = t.kind == RecurrentKind::kLstm ? 3 : t.kind == RecurrentKind::kGru ? 2 : 1;
      plan.f = t.activations[direction * each];
      if (each > 1) plan.g = t.activations[direction * each + 1];
      if (each > 2) plan.h = t.activations[direction * each + 2];
    }
    if (const TensorView* p = a.optional(7))
      plan.peepholes = p->as<const float>() + direction * 3 * plan.padded;
  }

  int64_t first_unit() const { return panels.begin * kPanel; }
  int64_t last_unit() const { return panels.end * kPanel; }
  void join() const {
    if (joint) team.join();
  }

  bool in_reverse() const { return t.direction == Direction::kReverse || direction == 1; }
  const float* input_row(int64_t time, int64_t batch) const {
    const int64_t at = t.batch_first ? batch * steps + time : time * batches + batch;
    return a.inputs[0].as<const float>() + at * input;
  }
  /// f(first panel, end) of this member's panels of gates [first, last).
  template <class F>
  void for_panels(int64_t first, int64_t last, F f) const {
    const int64_t per_gate = plan.padded / kPanel;
    if (panels.begin == 0 && panels.end == per_gate) return f(first * per_gate, last * per_gate);
    for (int64_t gate = first; gate < last; gate++)
      f(gate * per_gate + panels.begin, gate * per_gate + panels.end);
  }

  int64_t length_of(int64_t batch) const {
    const TensorView* lens = a.optional(6);
    return lens ? int64_t(lens->as<const int32_t>()[batch]) : steps;
  }

  CellRow row(int64_t time, int64_t batch, int64_t chunk_row) {
    const int64_t n = plan.padded, at = batch * n;
    CellRow r{inputs + chunk_row * gates * n,
              states + batch * gates * n,
              h[current] + at,
              h[1 - current] + at,
              c + at,
              reset + at,
              nullptr};
    const TensorView& y = a.outputs[0];
    if (y.present()) {
      const int64_t y_row = t.batch_first ? (batch * steps + time) * directions + direction
                                          : (time * directions + direction) * batches + batch;
      r.y = y.as<float>() + y_row * plan.hidden;
    }
    return r;
  }

  /// Step number `s`, the one number `at` of a chunk of `count`.
  void step(int64_t s, int64_t at, int64_t count) {
    const int64_t first = first_unit(), last = last_unit();
    const bool two_parts = t.kind == RecurrentKind::kGru && !t.linear_before_reset;
    products.multiply_state(*this, h[current], s, 0, two_parts ? 2 : gates);
    const auto each = [&](auto fn) {
      for (int64_t b = 0; b < batches; b++) {
        const Turn turn = Products::turn(*this, s, b);
        fn(row(turn.time, b, Products::chunk_row(*this, b, at, count)), turn.active);
      }
    };
    if (t.kind == RecurrentKind::kGru)
      each([&](const CellRow& r, bool) { gru_reset<V>(plan, r, first, last); });
    if (two_parts) {
      join();
      products.multiply_state(*this, reset, s, 2, 3);
    }
    each([&](const CellRow& r, bool active) {
      if (!active)
        idle_cell<V>(plan, r, first, last);
      else if (t.kind == RecurrentKind::kLstm)
        lstm_cell<V>(plan, r, first, last);
      else if (t.kind == RecurrentKind::kGru)
        gru_cell<V>(plan, r, first, last);
      else
        rnn_cell<V>(plan, r, first, last);
    });
    current = 1 - current;
    join();
  }

  void load_state(int operand, float* to) {
    const TensorView* from = a.optional(operand);
    for (int64_t b = 0; b < batches; b++)
      for (int64_t u = first_unit(); u < last_unit(); u++)
        to[b * plan.padded + u] =
            from && u < plan.hidden
                ? from->as<const float>()[(direction * batches + b) * plan.hidden + u]
                : 0;
  }
  void store_state(int output, const float* from) {
    if (output >= a.output_count || !a.outputs[output].present()) return;
    for (int64_t b = 0; b < batches; b++)
      for (int64_t u = first_unit(); u < last_unit() && u < plan.hidden; u++)
        a.outputs[output].as<float>()[(direction * batches + b) * plan.hidden + u] =
            from[b * plan.padded + u];
  }

  void run() {
    load_state(4, h[0]);
    load_state(5, c);
    products.start(*this);
    join();
    for (int64_t done = 0; done < steps; done += chunk) {
      const int64_t count = least_of(chunk, steps - done);
      products.multiply_inputs(*this, done, count);
      for (int64_t i = 0; i < count; i++) step(done + i, i, count);
    }
    store_state(1, h[current]);
    store_state(2, c);
  }
};

/// All sequences go through the same times, so that inputs are multiplied where they lie.
template <class V>
struct FloatProducts {
  // multiply-adds of a step, its share of the inputs' too, that pay for joins
  static constexpr int64_t kUnitSplitWork = 1 << 16;

  template <class R>
  static Turn turn(const R& r, int64_t s, int64_t batch) {
    const int64_t time = r.in_reverse() ? r.steps - 1 - s : s;
    return {time, time < r.length_of(batch)};
  }
  template <class R>
  static int64_t chunk_row(const R& r, int64_t batch, int64_t at, int64_t count) {
    if (r.in_reverse()) at = count - 1 - at;
    return r.t.batch_first ? batch * count + at : at * r.batches + batch;
  }
  template <class R>
  void start(const R&) {}

  /// rows of `from` times the weights of operand 1 or 2 for gates [first, last).
  template <class R>
  void multiply(const R& r, int operand, const float* from, int64_t from_stride, int64_t k,
                int64_t rows, float* to, int64_t first, int64_t last) {
    static constexpr Epilogue kPlain{{}, false, true, false, 0, 0, 0};
    const int64_t row_length = r.gates * r.plan.padded;
    const TensorView* bias = r.a.optional(3);
    GemmJob g;
    g.a = from;
    g.a_stride = from_stride;
    g.k = k;
    g.weights = r.a.inputs[operand].template as<const float>() + r.direction * row_length * k;
    g.out = to;
    g.out_stride = row_length;
    g.o = row_length;
    g.epilogue = &kPlain;
    if (bias && operand == 1)
      g.bias = bias->as<const float>() + r.direction * bias->dims[1] * row_length;
    if (bias && operand == 2 && bias->dims[1] == 2)
      g.bias = bias->as<const float>() + (r.direction * 2 + 1) * row_length;
    r.for_panels(first, last, [&](int64_t begin, int64_t end) {
      gemm<V>(g, {0, rows}, {begin, end});
    });
  }
  /// Of steps [done, done + count).
  template <class R>
  void multiply_inputs(const R& r, int64_t done, int64_t count) {
    const int64_t begin = r.in_reverse() ? r.steps - done - count : done;
    if (!r.t.batch_first)
      return multiply(r, 1, r.input_row(begin, 0), r.input, r.input, count * r.batches, r.inputs, 0,
                      r.gates);
    for (int64_t b = 0; b < r.batches; b++)
      multiply(r, 1, r.input_row(begin, b), r.input, r.input, count,
               r.inputs + b * count * r.gates * r.plan.padded, 0, r.gates);
  }
  template <class R>
  void multiply_state(const R& r, const float* state, int64_t, int64_t first, int64_t last) {
    multiply(r, 2, state, r.plan.padded, r.plan.hidden, r.batches, r.states, first, last);
  }
};

template <class V, class Products = FloatProducts<V>>
Status recurrent(const OpArguments& a, const Team& team) {
  const RecurrentAttributes& t = a.as<RecurrentAttributes>();
  const int64_t steps = a.inputs[0].dims[t.batch_first ? 1 : 0],
                batches = a.inputs[0].dims[t.batch_first ? 0 : 1];
  if (const TensorView* lens = a.optional(6)) {
    for (int64_t b = 0; b < batches; b++)
      if (lens->as<const int32_t>()[b] < 0 || lens->as<const int32_t>()[b] > steps)
        return Code::kBadIndexValue;
  }
  if (batches == 0) return {};
  if (t.direction == Direction::kBidirectional) {
    for (int d = team.id; d < 2; d += team.size) Recurrence<V, Products>(a, team, d, false).run();
    return {};
  }
  const int64_t padded = (int64_t(t.hidden) + kPanel - 1) / kPanel;
  const int64_t of_step =
      recurrent_gates(t.kind) * padded * kPanel * (t.hidden + a.inputs[0].dims[2]) * batches;
  const bool joint = team.size > 1 && padded >= team.size && of_step >= Products::kUnitSplitWork;
  if (joint || team.id == 0) Recurrence<V, Products>(a, team, 0, joint).run();
  return {};
}

inline bool recurrent_is_packed(const OpArguments& a) {
  return a.inputs[1].packing == Packing::kPanels16 && a.inputs[2].packing == Packing::kPanels16 &&
         !recurrent_of_bytes(a);
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
