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

// multiply-adds of a step, its share of the inputs' too, that pay for joins
constexpr int64_t kUnitSplitWork = 1 << 16;

template <class V>
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

  /// rows of `from` times the weights of operand 1 or 2 for gates [first, last), this member's
  /// units.
  void product(int operand, const float* from, int64_t from_stride, int64_t k, int64_t rows,
               float* to, int64_t first, int64_t last) {
    static constexpr Epilogue kPlain{{}, false, true, false, 0, 0, 0};
    const int64_t per_gate = plan.padded / kPanel, row_length = gates * plan.padded;
    const TensorView* bias = a.optional(3);
    GemmJob g;
    g.a = from;
    g.a_stride = from_stride;
    g.k = k;
    g.weights = a.inputs[operand].as<const float>() + direction * row_length * k;
    g.out = to;
    g.out_stride = row_length;
    g.o = row_length;
    g.epilogue = &kPlain;
    if (bias && operand == 1)
      g.bias = bias->as<const float>() + direction * bias->dims[1] * row_length;
    if (bias && operand == 2 && bias->dims[1] == 2)
      g.bias = bias->as<const float>() + (direction * 2 + 1) * row_length;
    if (panels.begin == 0 && panels.end == per_gate) {
      gemm<V>(g, {0, rows}, {first * per_gate, last * per_gate});
      return;
    }
    for (int64_t gate = first; gate < last; gate++)
      gemm<V>(g, {0, rows}, {gate * per_gate + panels.begin, gate * per_gate + panels.end});
  }

  /// Products of the inputs at times [begin, begin + count).
  void multiply_inputs(int64_t begin, int64_t count) {
    const float* x = a.inputs[0].as<const float>();
    if (!t.batch_first)
      return product(1, x + begin * batches * input, input, input, count * batches, inputs, 0,
                     gates);
    for (int64_t b = 0; b < batches; b++)
      product(1, x + (b * steps + begin) * input, input, input, count,
              inputs + b * count * gates * plan.padded, 0, gates);
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

  /// One step at `time`, which is number `at` of a chunk of `count`.
  void step(int64_t time, int64_t at, int64_t count) {
    const int64_t n = plan.padded, first = first_unit(), last = last_unit();
    const bool two_parts = t.kind == RecurrentKind::kGru && !t.linear_before_reset;
    product(2, h[current], n, plan.hidden, batches, states, 0, two_parts ? 2 : gates);
    const auto each = [&](auto fn) {
      for (int64_t b = 0; b < batches; b++) {
        const CellRow r = row(time, b, t.batch_first ? b * count + at : at * batches + b);
        fn(r, time < length_of(b));
      }
    };
    if (t.kind == RecurrentKind::kGru)
      each([&](const CellRow& r, bool) { gru_reset<V>(plan, r, first, last); });
    if (two_parts) {
      join();
      product(2, reset, n, plan.hidden, batches, states, 2, 3);
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
    join();
    const bool reverse = t.direction == Direction::kReverse || direction == 1;
    for (int64_t done = 0; done < steps; done += chunk) {
      const int64_t count = least_of(chunk, steps - done),
                    begin = reverse ? steps - done - count : done;
      multiply_inputs(begin, count);
      for (int64_t i = 0; i < count; i++) {
        const int64_t at = reverse ? count - 1 - i : i;
        step(begin + at, at, count);
      }
    }
    store_state(1, h[current]);
    store_state(2, c);
  }
};

template <class V>
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
    for (int d = team.id; d < 2; d += team.size) Recurrence<V>(a, team, d, false).run();
    return {};
  }
  const int64_t padded = (int64_t(t.hidden) + kPanel - 1) / kPanel;
  const int64_t of_step =
      recurrent_gates(t.kind) * padded * kPanel * (t.hidden + a.inputs[0].dims[2]) * batches;
  const bool joint = team.size > 1 && padded >= team.size && of_step >= kUnitSplitWork;
  if (joint || team.id == 0) Recurrence<V>(a, team, 0, joint).run();
  return {};
}

inline bool recurrent_is_packed(const OpArguments& a) {
  return a.inputs[1].packing == Packing::kPanels16 && a.inputs[2].packing == Packing::kPanels16;
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
