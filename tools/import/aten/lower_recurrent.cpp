// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_recurrent.cpp - LSTM, GRU and RNN of several layers and directions.
#include "tools/import/aten/operands.h"

namespace ingot::aten {
namespace {

struct Kind {
  graph::Operator op;
  std::vector<int64_t> gates;  // where each of the graph's gates lies among PyTorch's
  const char* activation = "";
};
/// PyTorch's gates are i f g o and r z n; the graph's i o f g and z r n.
Kind kind_of(const std::string& op) {
  if (op == "lstm") return {op::LSTM, {0, 3, 1, 2}};
  if (op == "gru") return {op::GRU, {1, 0, 2}};
  return {op::RNN, {0}, op == "rnn_relu" ? "Relu" : "Tanh"};
}

struct Layer {
  ValueId w, r, bias;  // with a dimension of directions in front; bias kAbsent
};

class Stack {
 public:
  Stack(Operands& operands) : o(operands), kind(kind_of(operands.op())) {}

  Results run() {
    const std::vector<ValueId> params = o.read_all("params");
    const int64_t layers = o.integer("num_layers"), directions = o.flag("bidirectional") ? 2 : 1;
    const size_t each = o.flag("has_biases") ? 4 : 2;
    if (layers < 1 || layers > 1 << 16 || params.size() != size_t(layers * directions) * each) {
      if (params.size() == size_t(layers * directions) * (each + 1))
        o.refuse("params", "projections (proj_size) are not supported");
      o.corrupt("has " + std::to_string(params.size()) + " weights for " + std::to_string(layers) +
                " layers");
    }
    if (o.number("dropout") != 0 && o.flag("train"))
      o.b.note(
          "Dropout was saved in training mode; converted in inference form, where it does nothing");
    const bool packed = o.has("batch_sizes");
    ValueId x = packed ? graph::kAbsent : o.read("input"), lengths = graph::kAbsent;
    if (packed) {
      const auto sequences = Builder::packed(o.tensor("data"));
      if (!sequences)
        o.refuse("data", "is no packed sequence that this program makes",
                 "call pack_padded_sequence() within the exported module");
      x = sequences->padded;
      lengths = sequences->lengths;
    }
    const bool batched = o.b.rank(x) == 3,
               batch_first = batched && !packed && o.flag("batch_first");
    if (!batched) {
      if (o.b.rank(x) != 2) o.corrupt("its input has shape " + graph::text(o.b.dims(x)));
      const Dims in = o.b.dims(x);
      x = o.b.reshape(x, {in[0], Dim(1), in[1]});
    }
    if (batch_first) x = o.b.transpose(x, {1, 0, 2});
    const bool lstm = o.op() == "lstm";
    const std::vector<ValueId> first = lstm ? o.read_all("hx") : std::vector<ValueId>{o.read("hx")};
    if (lstm && first.size() != 2)
      o.corrupt("its hx has " + std::to_string(first.size()) + " states, expected 2: h and c");
    const ValueId h0 = state(first[0]), c0 = lstm ? state(first[1]) : graph::kAbsent;
    std::vector<ValueId> hs, cs;
    for (int64_t layer = 0; layer < layers; layer++) {
      const Layer weights =
          weights_of(params, size_t(layer * directions), size_t(directions), each);
      const Dim from(layer * directions), to((layer + 1) * directions);
      std::vector<ValueId> inputs = {
          x, weights.w, weights.r, weights.bias, lengths, o.b.slice(h0, 0, from, to)};
      if (lstm) inputs.push_back(o.b.slice(c0, 0, from, to));
      const std::vector<ValueId> made =
          o.b.emit_many(kind.op, inputs, attributes(weights, directions), lstm ? 3 : 2);
      const Dims y = o.b.dims(made[0]);  // [T, directions, B, H]
      x = o.b.reshape(o.b.transpose(made[0], {0, 2, 1, 3}), {y[0], y[2], y[1] * y[3]});
      hs.push_back(made[1]);
      if (lstm) cs.push_back(made[2]);
    }
    if (batch_first) x = o.b.transpose(x, {1, 0, 2});
    Results results =
        packed ? Results{Value::of(o.b.packed(x, lengths))} : o.result(unbatched(x, batched, 1));
    results.push_back(Value::of(o.b.own(unbatched(joined(hs), batched, 1))));
    if (lstm) results.push_back(Value::of(o.b.own(unbatched(joined(cs), batched, 1))));
    return results;
  }

 private:
  ValueId state(ValueId x) {
    const Dims in = o.b.dims(x);
    return in.size() == 2 ? o.b.reshape(x, {in[0], Dim(1), in[1]}) : x;
  }
  ValueId unbatched(ValueId x, bool batched, size_t axis) {
    if (batched) return x;
    Dims dims = o.b.dims(x);
    dims.erase(dims.begin() + int64_t(axis));
    return o.b.reshape(x, dims);
  }
  ValueId joined(const std::vector<ValueId>& parts) {
    return parts.size() == 1 ? parts[0] : o.b.emit(op::Concat, parts, {{attr::axis, int64_t(0)}});
  }
  /// Rows in the graph's order of gates, with a dimension in front.
  ValueId reordered(ValueId x) {
    const Dims in = o.b.dims(x);
    const int64_t count = int64_t(kind.gates.size());
    if (in.empty() || !in[0].is_static() || *in[0].value() % count != 0)
      o.corrupt("a weight has shape " + graph::text(in));
    const int64_t rows = *in[0].value() / count;
    std::vector<ValueId> parts;
    for (const int64_t gate : kind.gates)
      parts.push_back(o.b.slice(x, 0, Dim(gate * rows), Dim((gate + 1) * rows)));
    Dims out = in;
    out.insert(out.begin(), Dim(1));
    return o.b.reshape(count == 1 ? x : o.b.emit(op::Concat, parts, {{attr::axis, int64_t(0)}}),
                       out);
  }
  Layer weights_of(const std::vector<ValueId>& params, size_t first, size_t directions,
                   size_t each) {
    std::vector<ValueId> w, r, bias;
    for (size_t i = 0; i < directions; i++) {
      const size_t at = (first + i) * each;
      w.push_back(reordered(params[at]));
      r.push_back(reordered(params[at + 1]));
      if (each == 4)
        bias.push_back(o.b.emit(op::Concat, {reordered(params[at + 2]), reordered(params[at + 3])},
                                {{attr::axis, int64_t(1)}}));
    }
    return {joined(w), joined(r), bias.empty() ? graph::kAbsent : joined(bias)};
  }
  Attributes attributes(const Layer& weights, int64_t directions) {
    const auto hidden = o.b.dims(weights.r)[2].value();
    if (!hidden) o.corrupt("a weight has a symbolic shape");
    Attributes out = {{attr::hidden_size, *hidden},
                      {attr::direction, std::string(directions == 2 ? "bidirectional" : "forward")},
                      {attr::layout, int64_t(0)}};
    std::vector<std::string> activations;
    for (int64_t i = 0; i < directions; i++) {
      if (kind.op == op::LSTM)
        for (const char* name : {"Sigmoid", "Tanh", "Tanh"}) activations.push_back(name);
      else if (kind.op == op::GRU)
        for (const char* name : {"Sigmoid", "Tanh"}) activations.push_back(name);
      else
        activations.push_back(kind.activation);
    }
    out[attr::activation_alpha] = std::vector<double>(activations.size(), 0.0);
    out[attr::activation_beta] = std::vector<double>(activations.size(), 0.0);
    out[attr::activations] = std::move(activations);
    if (kind.op == op::LSTM) out[attr::input_forget] = int64_t(0);
    if (kind.op == op::GRU) out[attr::linear_before_reset] = int64_t(1);
    return out;
  }

  Operands& o;
  Kind kind;
};

Results recurrent(Operands& o) { return Stack(o).run(); }

}  // namespace

void add_recurrent(Table& table) {
  const std::string tail =
      "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool "
      "bidirectional, bool "
      "batch_first";
  table.add("lstm.input", "Tensor input, Tensor[] hx, " + tail, recurrent);
  table.add_all("gru.input rnn_tanh.input rnn_relu.input", "Tensor input, Tensor hx, " + tail,
                recurrent);
  const std::string packed =
      "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool "
      "bidirectional";
  table.add("lstm.data", "Tensor data, Tensor batch_sizes, Tensor[] hx, " + packed, recurrent);
  table.add_all("gru.data rnn_tanh.data rnn_relu.data",
                "Tensor data, Tensor batch_sizes, Tensor hx, " + packed, recurrent);
}

}  // namespace ingot::aten
