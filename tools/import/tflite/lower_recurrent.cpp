// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_recurrent.cpp - cells and the layers that repeat them. Their state lies
// in tensors that the operator changes, which a program keeps from run to run.
#include "tools/import/tflite/hybrid.h"

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

constexpr int64_t kMaxSteps = 1024;  // that are spelled out

ValueId linear(Call& call, ValueId x, size_t weight) {
  if (has_hybrid_weights(call, weight, 0))
    return hybrid_linear(call, x, weight, kNoBias, call.flag("asymmetric_quantize_inputs"));
  return call.b.emit(op::Gemm, {x, call.input(weight)},
                     {{attr::alpha, 1.0},
                      {attr::beta, 1.0},
                      {attr::transA, int64_t(0)},
                      {attr::transB, int64_t(1)}});
}
ValueId plus(Call& call, ValueId x, ValueId y) { return call.b.emit(op::Add, {x, y}); }
ValueId times(Call& call, ValueId x, ValueId y) { return call.b.emit(op::Mul, {x, y}); }
ValueId limited(Call& call, ValueId x, double limit) {
  if (limit <= 0) return x;
  return call.b.emit(op::Clip, {x}, {{attr::min, -limit}, {attr::max, limit}});
}

/// [B, T, I] or, with the time in front, [T, B, I].
int64_t steps_of(Call& call, ValueId x, bool time_major) {
  const Dims dims = call.b.dims(x);
  if (dims.size() != 3) call.corrupt("its input has shape " + graph::text(dims));
  const Dim steps = dims[time_major ? 0 : 1];
  if (!steps.is_static() || *steps.value() > kMaxSteps)
    call.refuse(
        "",
        "has " + steps.text() + " steps, at most " + std::to_string(kMaxSteps) + " are spelled out",
        "bind the number of steps with --dim or --input-shape");
  return *steps.value();
}
ValueId step_of(Call& call, ValueId x, int64_t step, bool time_major) {
  const int64_t axis = time_major ? 0 : 1;
  Dims rest = call.b.dims(x);
  rest.erase(rest.begin() + axis);
  return call.b.reshape(call.b.slice(x, axis, Dim(step), Dim(step + 1)), rest);
}
ValueId joined(Call& call, const std::vector<ValueId>& steps, bool time_major) {
  const int64_t axis = time_major ? 0 : 1;
  std::vector<ValueId> all;
  for (const ValueId step : steps) {
    Dims dims = call.b.dims(step);
    dims.insert(dims.begin() + axis, Dim(1));
    all.push_back(call.b.reshape(step, dims));
  }
  if (all.empty()) call.corrupt("has no steps");
  return all.size() == 1 ? all[0] : call.b.emit(op::Concat, all, {{attr::axis, axis}});
}

/// Where the tensors of one direction of an LSTM stand among the inputs of its operator.
struct LstmPlaces {
  size_t input, input_weights, recurrent_weights, peephole, biases, projection, projection_bias,
      hidden, cell, norms;
};
constexpr size_t kNowhere = 1000;
constexpr LstmPlaces kBothForward = {0, 1, 5, 9, 12, 16, 17, 35, 36, kNowhere},
                     kBothBackward = {0, 18, 22, 26, 29, 33, 34, 37, 38, kNowhere};
constexpr LstmPlaces kForward = {0, 1, 5, 9, 12, 16, 17, 18, 19, 20};

/// Most may be left out.
void expect_lstm(Call& call) {
  if (call.input_count() < 20 || call.input_count() > 24)
    call.corrupt("has " + std::to_string(call.input_count()) + " inputs, expected 20 to 24");
}

class Lstm {
 public:
  Lstm(Call& c, const LstmPlaces& p)
      : call(c),
        at(p),
        cell_clip(c.number("cell_clip")),
        projection_clip(c.number("proj_clip")),
        function(c.integer("fused_activation_function")) {
    coupled = !call.has(at.input_weights);  // the input gate is what the forget gate leaves
    normed = call.has(at.norms + 1);
    if (cell_clip < 0 || projection_clip < 0) call.corrupt("a clip of it is negative");
  }

  struct State {
    ValueId hidden, cell;
  };
  State step(ValueId x, const State& before) {
    const ValueId forget = sigmoid(gate(x, before, 1, before.cell));
    const ValueId candidate = call.activated(gate(x, before, 2, kAbsent), function);
    const ValueId input = coupled ? call.b.emit(op::Sub, {call.b.scalar(DType::kF32, 1), forget})
                                  : sigmoid(gate(x, before, 0, before.cell));
    ValueId cell = plus(call, times(call, forget, before.cell), times(call, input, candidate));
    cell = limited(call, cell, cell_clip);
    const ValueId output = sigmoid(gate(x, before, 3, cell));
    ValueId hidden = times(call, output, call.activated(cell, function));
    if (call.has(at.projection)) {
      hidden = linear(call, hidden, at.projection);
      if (call.has(at.projection_bias)) hidden = plus(call, hidden, call.input(at.projection_bias));
      hidden = limited(call, hidden, projection_clip);
    }
    return {hidden, cell};
  }

 private:
  ValueId sigmoid(ValueId x) { return call.b.emit(op::Sigmoid, {x}); }

  /// Gates are input, forget, cell, output; peepholes have none for the third.
  ValueId gate(ValueId x, const State& before, size_t number, ValueId peeped) {
    ValueId sum = plus(call, linear(call, x, at.input_weights + number),
                       linear(call, before.hidden, at.recurrent_weights + number));
    const size_t peephole = at.peephole + (number == 3 ? 2 : number);
    if (number != 2 && call.has(peephole))
      sum = plus(call, sum, times(call, peeped, call.input(peephole)));
    if (normed) sum = normalized(sum, at.norms + number);
    if (call.has(at.biases + number)) sum = plus(call, sum, call.input(at.biases + number));
    return sum;
  }
  /// To mean 0 and variance 1 over the cells, times a weight.
  ValueId normalized(ValueId x, size_t weight) {
    aten::Builder& b = call.b;
    const ValueId mean = b.reduce(op::ReduceMean, x, {1}, true),
                  centered = b.emit(op::Sub, {x, mean});
    const ValueId variance = b.reduce(op::ReduceMean, times(call, centered, centered), {1}, true);
    const ValueId deviation =
        b.emit(op::Sqrt, {plus(call, variance, b.scalar(DType::kF32, double(1e-8f)))});
    return times(call, b.emit(op::Div, {centered, deviation}), call.input(weight));
  }

  Call& call;
  const LstmPlaces& at;
  const double cell_clip, projection_clip;
  const int64_t function;
  bool coupled = false, normed = false;
};

/// A tensor that the operator reads and changes.
class StateTensor {
 public:
  StateTensor(Call& call, size_t input) : call_(call), input_(input) {
    if (!call.tensor(input).is_variable()) call.corrupt("its state is no variable tensor");
    value = call.input(input);
  }
  ValueId value;
  void keep(ValueId after) {
    if (call_.b.dims(after) != call_.b.dims(value))
      call_.corrupt("its state has shape " + graph::text(call_.b.dims(value)) + ", a step gives " +
                    graph::text(call_.b.dims(after)));
    call_.translator.write_variable(
        call_.translator.variable_of(call_.scope, call_.tensor_index(input_)), after);
  }

 private:
  Call& call_;
  size_t input_;
};

/// One node where the graph's own LSTM says the same: nothing clipped, normed, projected or left
/// out, and tanh; nothing quantized in each step.
bool is_plain(Call& call) {
  if (has_hybrid_weights(call, 2, 0)) return false;
  for (size_t i = 1; i <= 8; i++)
    if (!call.has(i)) return false;
  for (const size_t i : {9, 10, 11, 16, 17, 20, 21, 22, 23})
    if (call.has(i)) return false;
  for (size_t i = 12; i <= 15; i++)
    if (!call.has(i)) return false;
  return call.number("cell_clip") == 0 && call.number("proj_clip") == 0 &&
         call.integer("fused_activation_function") == 4;
}
ValueId stacked(Call& call, size_t first) {
  std::vector<ValueId> all;
  for (const size_t gate : {0, 3, 1, 2}) all.push_back(call.input(first + gate));  // i o f c
  const ValueId one = call.b.emit(op::Concat, all, {{attr::axis, int64_t(0)}});
  Dims dims = call.b.dims(one);
  dims.insert(dims.begin(), Dim(1));
  return call.b.reshape(one, dims);
}
ValueId as_direction(Call& call, ValueId x) {
  Dims dims = call.b.dims(x);
  dims.insert(dims.begin(), Dim(1));
  return call.b.reshape(x, dims);
}

void sequence_lstm(Call& call) {
  expect_lstm(call);
  const bool time_major = call.flag("time_major");
  if (call.flag("diagonal_recurrent_tensors"))
    call.refuse("diagonal_recurrent_tensors", "is not supported");
  StateTensor hidden(call, 18), cell(call, 19);
  if (is_plain(call)) {
    aten::Builder& b = call.b;
    ValueId x = call.input(0);
    if (call.b.rank(x) != 3) call.corrupt("its input has shape " + graph::text(b.dims(x)));
    if (!time_major) x = b.transpose(x, {1, 0, 2});
    const ValueId w = stacked(call, 1), r = stacked(call, 5), bias = stacked(call, 12);
    const ValueId none = b.expand(b.scalar(DType::kF32, 0), b.dims(bias));
    const auto size = b.dims(hidden.value).back().value();
    if (!size) call.refuse("", "has a symbolic number of cells");
    const std::vector<ValueId> made =
        b.emit_many(op::LSTM,
                    {x, w, r, b.emit(op::Concat, {bias, none}, {{attr::axis, int64_t(1)}}), kAbsent,
                     as_direction(call, hidden.value), as_direction(call, cell.value)},
                    {{attr::hidden_size, *size},
                     {attr::direction, std::string("forward")},
                     {attr::layout, int64_t(0)}},
                    3);
    Dims dims = b.dims(made[0]);  // [T, 1, B, H]
    dims.erase(dims.begin() + 1);
    const ValueId all = b.reshape(made[0], dims);
    hidden.keep(b.reshape(made[1], b.dims(hidden.value)));
    cell.keep(b.reshape(made[2], b.dims(cell.value)));
    return call.give(time_major ? all : b.transpose(all, {1, 0, 2}));
  }
  Lstm lstm(call, kForward);
  Lstm::State state = {hidden.value, cell.value};
  std::vector<ValueId> steps;
  const int64_t count = steps_of(call, call.input(0), time_major);
  for (int64_t t = 0; t < count; t++) {
    state = lstm.step(step_of(call, call.input(0), t, time_major), state);
    steps.push_back(state.hidden);
  }
  hidden.keep(state.hidden);
  cell.keep(state.cell);
  call.give(joined(call, steps, time_major));
}

/// One direction over the steps, the results in the order of the input.
ValueId direction(Call& call, const LstmPlaces& places, bool backwards, bool time_major) {
  StateTensor hidden(call, places.hidden), cell(call, places.cell);
  Lstm lstm(call, places);
  Lstm::State state = {hidden.value, cell.value};
  const int64_t count = steps_of(call, call.input(0), time_major);
  std::vector<ValueId> steps(size_t(count), kAbsent);
  for (int64_t i = 0; i < count; i++) {
    const int64_t t = backwards ? count - 1 - i : i;
    state = lstm.step(step_of(call, call.input(0), t, time_major), state);
    steps[size_t(t)] = state.hidden;
  }
  hidden.keep(state.hidden);
  cell.keep(state.cell);
  return joined(call, steps, time_major);
}
void both_ways_lstm(Call& call) {
  if (call.input_count() < 39 || call.input_count() > 48)
    call.corrupt("has " + std::to_string(call.input_count()) + " inputs, expected 39 to 48");
  for (size_t i = 39; i < 48; i++)
    if (call.has(i)) call.refuse("", "has a second input beside the first");
  const bool time_major = call.flag("time_major"), merged = call.flag("merge_outputs");
  const ValueId forward = direction(call, kBothForward, false, time_major),
                backward = direction(call, kBothBackward, true, time_major);
  if (!merged) return call.give_all({forward, backward});
  call.give(call.b.emit(op::Concat, {forward, backward}, {{attr::axis, int64_t(2)}}));
}

/// The basic kernel: one matrix of all gates over input and state together, the state handed over
/// as tensors.
void basic_lstm(Call& call) {
  call.expect_inputs(5, 5);
  aten::Builder& b = call.b;
  const int64_t function = call.integer("fused_activation_function");
  const ValueId both =
      b.emit(op::Concat, {call.input(0), call.input(1)}, {{attr::axis, int64_t(1)}});
  const ValueId gates = plus(call, linear(call, both, 2), call.input(3));
  const Dim depth = b.dims(call.input(4)).back();
  if (b.rank(gates) != 2 || b.dims(gates)[1] != depth * Dim(4))
    call.corrupt("its gates have shape " + graph::text(b.dims(gates)));
  const auto part = [&](int64_t i) {  // input, new, forget, output
    return b.slice(gates, 1, depth * Dim(i), depth * Dim(i + 1));
  };
  const ValueId fresh = call.activated(part(1), function);
  ValueId cell = plus(call, times(call, b.emit(op::Sigmoid, {part(2)}), call.input(4)),
                      times(call, b.emit(op::Sigmoid, {part(0)}), fresh));
  cell = limited(call, cell, call.number("cell_clip"));
  const ValueId hidden =
      times(call, b.emit(op::Sigmoid, {part(3)}), call.activated(cell, function));
  if (call.number("proj_clip") != 0) call.refuse("proj_clip", "there is nothing to project");
  call.give_all({hidden, cell, both, gates});
}
void lstm(Call& call) {
  if (call.integer("kernel_type") == 1) return basic_lstm(call);
  expect_lstm(call);
  StateTensor hidden(call, 18), cell(call, 19);
  Lstm one(call, kForward);
  const Lstm::State after = one.step(call.input(0), {hidden.value, cell.value});
  hidden.keep(after.hidden);
  cell.keep(after.cell);
  call.give(after.hidden);
}

/// [x W' + h R' + b], the function behind it.
ValueId rnn_step(Call& call, ValueId x, ValueId before, int64_t function) {
  ValueId sum = plus(call, linear(call, x, 1), linear(call, before, 2));
  sum = plus(call, sum, call.input(3));
  return call.activated(sum, function);
}
void rnn(Call& call) {
  StateTensor hidden(call, 4);
  const ValueId after =
      rnn_step(call, call.input(0), hidden.value, call.integer("fused_activation_function"));
  hidden.keep(after);
  call.give(after);
}
void sequence_rnn(Call& call) {
  const bool time_major = call.flag("time_major");
  const int64_t function = call.integer("fused_activation_function");
  StateTensor hidden(call, 4);
  ValueId at = hidden.value;
  std::vector<ValueId> steps;
  const int64_t count = steps_of(call, call.input(0), time_major);
  for (int64_t t = 0; t < count; t++) {
    at = rnn_step(call, step_of(call, call.input(0), t, time_major), at, function);
    steps.push_back(at);
  }
  hidden.keep(at);
  call.give(joined(call, steps, time_major));
}

/// A product in two factors: over the input, then over the last steps of what that gave.
void svdf(Call& call) {
  aten::Builder& b = call.b;
  const int64_t rank = call.integer("rank");
  StateTensor memory(call, 4);              // [B, F * steps]
  const Dims time = b.dims(call.input(2));  // [F, steps]
  const Dims kept = b.dims(memory.value);
  if (time.size() != 2 || kept.size() != 2 || rank < 1 || !time[0].is_static() ||
      !time[1].is_static() || kept[1] != time[0] * time[1] || *time[0].value() % rank != 0)
    call.corrupt("its weights have shape " + graph::text(time) + ", its state " +
                 graph::text(kept) + ", its rank is " + std::to_string(rank));
  const Dim filters = time[0], steps = time[1], batch = kept[0];
  const ValueId feature = b.reshape(linear(call, call.input(0), 1), {batch, filters, Dim(1)});
  const ValueId old = b.reshape(memory.value, {batch, filters, steps});
  const ValueId window =
      b.emit(op::Concat, {b.slice(old, 2, Dim(1), steps), feature}, {{attr::axis, int64_t(2)}});
  memory.keep(b.reshape(window, kept));
  ValueId y = b.reduce(op::ReduceSum, times(call, window, call.input(2)), {2}, false);
  const Dim units = filters / Dim(rank);
  y = b.reduce(op::ReduceSum, b.reshape(y, {batch, units, Dim(rank)}), {2}, false);
  if (call.has(3)) y = plus(call, y, call.input(3));
  call.give(call.activated(y));
}

}  // namespace

void add_recurrent(TranslateTable& table) {
  table["UNIDIRECTIONAL_SEQUENCE_LSTM"] = {0, SIZE_MAX, sequence_lstm};
  table["BIDIRECTIONAL_SEQUENCE_LSTM"] = {0, SIZE_MAX, both_ways_lstm};
  table["LSTM"] = {0, SIZE_MAX, lstm};
  table["RNN"] = {5, 5, rnn};
  table["UNIDIRECTIONAL_SEQUENCE_RNN"] = {5, 5, sequence_rnn};
  table["SVDF"] = {5, 5, svdf};
}

}  // namespace ingot::tflite
