// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_quantized_recurrent.cpp - LSTM and GRU whose weights are integers and
// whose inputs are quantized in each run: the input of a layer as a whole, the hidden state in each
// step. Steps are spelled out.
#include "tools/import/aten/quantized_tensor.h"

namespace ingot::aten {
namespace {

constexpr int64_t kMaxSteps = 512;

/// One direction of a layer.
struct QuantizedCell {
  Value input_weight, input_bias, state_weight, state_bias;
};

class QuantizedStack {
 public:
  explicit QuantizedStack(Operands& operands)
      : o(operands), b(operands.b), lstm(operands.op() == "quantized_lstm") {}

  Results run() {
    const std::vector<QuantizedCell> cells = cells_of();
    const int64_t layers = o.integer("num_layers"), directions = o.flag("bidirectional") ? 2 : 1;
    if (layers < 1 || layers > 1 << 16 || cells.size() != size_t(layers * directions))
      o.corrupt("has " + std::to_string(cells.size()) + " cells for " + std::to_string(layers) +
                " layers");
    reduced = o.flag("reduce_range");
    const bool is_training = o.flag("train");
    if (o.number("dropout") != 0 && is_training)
      o.b.note(
          "Dropout was saved in training mode; converted in inference form, where it does nothing");
    ValueId x = o.read("input");
    const bool batch_first = o.flag("batch_first");
    if (b.rank(x) != 3) o.refuse("input", "has shape " + graph::text(b.dims(x)) + ", expected 3");
    if (batch_first) x = b.transpose(x, {1, 0, 2});
    const auto count = b.dims(x)[0].value();
    if (!count || *count < 1 || *count > kMaxSteps)
      o.refuse("input",
               "has " + b.dims(x)[0].text() + " steps, at most " + std::to_string(kMaxSteps) +
                   " are spelled out",
               "bind the number of steps with --dim or --input-shape");
    const std::vector<ValueId> states =
        lstm ? o.read_all("hx") : std::vector<ValueId>{o.read("hx")};
    if (states.size() != (lstm ? 2 : 1))
      o.corrupt("has " + std::to_string(states.size()) + " states");
    std::vector<ValueId> hs, cs;
    for (int64_t layer = 0; layer < layers; layer++) {
      std::vector<ValueId> sides;
      for (int64_t d = 0; d < directions; d++) {
        const int64_t at = layer * directions + d;
        State state{part(states[0], at), lstm ? part(states[1], at) : graph::kAbsent};
        sides.push_back(run_direction(cells[size_t(at)], x, *count, d == 1, &state));
        hs.push_back(in_front(state.h));
        if (lstm) cs.push_back(in_front(state.c));
      }
      x = joined(sides, 2);
    }
    if (batch_first) x = b.transpose(x, {1, 0, 2});
    Results results = o.result(x);
    results.push_back(Value::of(b.own(joined(hs, 0))));
    if (lstm) results.push_back(Value::of(b.own(joined(cs, 0))));
    return results;
  }

 private:
  struct State {
    ValueId h, c;
  };

  /// Weights of the input and of the state, each with its bias behind it.
  std::vector<QuantizedCell> cells_of() {
    const Value& list = o.value("params");
    const bool has_biases = o.flag("has_biases");
    const size_t parts = has_biases ? 4 : 2;
    if (!list.items || list.items->size() % parts != 0)
      o.corrupt("its weights are " + list.describe() + ", expected " + std::to_string(parts) +
                " of each cell");
    std::vector<QuantizedCell> cells;
    for (size_t i = 0; i < list.items->size(); i += parts) {
      const Value* const at = list.items->data() + i;
      cells.push_back(has_biases ? QuantizedCell{at[0], at[1], at[2], at[3]}
                                 : QuantizedCell{at[0], Value::none(), at[1], Value::none()});
    }
    return cells;
  }
  ValueId joined(const std::vector<ValueId>& parts, int64_t axis) {
    return parts.size() == 1 ? parts[0] : b.emit(op::Concat, parts, {{attr::axis, axis}});
  }
  ValueId in_front(ValueId x) {
    Dims dims = b.dims(x);
    dims.insert(dims.begin(), Dim(1));
    return b.reshape(x, dims);
  }
  /// Row `at` of the first dimension.
  ValueId part(ValueId x, int64_t at) {
    Dims dims = b.dims(x);
    if (dims.size() != 3) o.refuse("hx", "has shape " + graph::text(dims) + ", expected 3");
    dims.erase(dims.begin());
    return b.reshape(b.slice(x, 0, Dim(at), Dim(at + 1)), dims);
  }
  ValueId linear(ValueId x, const Value& weight, const Value& bias) {
    const Tensor bytes = b.own(quantized_in_run(b, x, reduced));
    return b.read(lower_as(b, "linear", {Value::of(bytes), weight, bias}).at(0).tensor);
  }
  ValueId made(graph::Operator op, std::vector<ValueId> inputs) {
    return b.emit(op, std::move(inputs));
  }

  /// Gate k of `count`, along the last dimension.
  ValueId gate(ValueId x, int64_t k, int64_t count) {
    const Dim all = b.dims(x).back(), each = all / Dim(count);
    return b.slice(x, b.rank(x) - 1, each * Dim(k), each * Dim(k + 1));
  }
  State lstm_step(ValueId gates, const State& before) {  // i f g o
    const ValueId kept = made(op::Mul, {made(op::Sigmoid, {gate(gates, 1, 4)}), before.c});
    const ValueId fresh = made(
        op::Mul, {made(op::Sigmoid, {gate(gates, 0, 4)}), made(op::Tanh, {gate(gates, 2, 4)})});
    const ValueId c = made(op::Add, {kept, fresh});
    return {made(op::Mul, {made(op::Sigmoid, {gate(gates, 3, 4)}), made(op::Tanh, {c})}), c};
  }
  State gru_step(ValueId of_input, ValueId of_state, const State& before) {  // r z n
    const auto sum = [&](int64_t k) {
      return made(op::Sigmoid, {made(op::Add, {gate(of_state, k, 3), gate(of_input, k, 3)})});
    };
    const ValueId reset = sum(0), update = sum(1);
    const ValueId fresh =
        made(op::Tanh,
             {made(op::Add, {gate(of_input, 2, 3), made(op::Mul, {gate(of_state, 2, 3), reset})})});
    const ValueId apart = made(op::Sub, {before.h, fresh});
    return {made(op::Add, {made(op::Mul, {apart, update}), fresh}), graph::kAbsent};
  }

  /// [T, B, H]
  ValueId run_direction(const QuantizedCell& cell, ValueId x, int64_t count, bool backwards,
                        State* state) {
    const ValueId all = linear(x, cell.input_weight, cell.input_bias);
    std::vector<ValueId> steps(size_t(count), graph::kAbsent);
    for (int64_t i = 0; i < count; i++) {
      const int64_t t = backwards ? count - 1 - i : i;
      Dims rows = b.dims(all);
      rows.erase(rows.begin());
      const ValueId of_input = b.reshape(b.slice(all, 0, Dim(t), Dim(t + 1)), rows);
      const ValueId of_state = linear(state->h, cell.state_weight, cell.state_bias);
      *state = lstm ? lstm_step(made(op::Add, {of_state, of_input}), *state)
                    : gru_step(of_input, of_state, *state);
      steps[size_t(t)] = in_front(state->h);
    }
    return joined(steps, 0);
  }

  Operands& o;
  Builder& b;
  const bool lstm;
  bool reduced = false;  // steps of 7 bits
};

Results quantized_recurrent(Operands& o) { return QuantizedStack(o).run(); }
Results quantized_lstm(Operands& o) {
  if (o.given("dtype") && o.integer("dtype") != c10_of_integers(DType::kI8))
    o.refuse("dtype", "is no int8");
  if (!o.flag("use_dynamic")) o.refuse("use_dynamic", "is not set");
  return quantized_recurrent(o);
}

}  // namespace

void add_quantized_recurrent(Table& table) {
  const std::string tail =
      "Tensor[] params, bool reduce_range, bool has_biases, int num_layers, float dropout, bool "
      "train, bool bidirectional, bool batch_first";
  table.add("quantized_lstm.input",
            "Tensor input, Tensor[] hx, " + tail + ", *, int? dtype=None, bool use_dynamic=False",
            quantized_lstm);
  table.add("quantized_gru.input", "Tensor input, Tensor hx, " + tail, quantized_recurrent);
}

}  // namespace ingot::aten
