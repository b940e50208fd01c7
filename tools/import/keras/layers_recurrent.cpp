// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/layers_recurrent.cpp - LSTM, GRU, SimpleRNN, and Bidirectional around them.
#include <algorithm>
#include <optional>

#include "tools/import/keras/layer_call.h"

namespace ingot::keras {
namespace {

using graph::Dim;
using layers::append_bias;
using layers::append_gates;
using layers::Recurrent;

/// Gates of Keras' kernels in ONNX's order.
std::vector<size_t> gate_order(graph::Operator op) {
  if (op == op::LSTM) return {0, 3, 1, 2};  // i f c o to i o f c
  if (op == op::GRU) return {0, 1, 2};      // z r h
  return {0};
}

struct Options {
  bool sequences = false, state = false, backwards = false, keeps_state = false;
};

void add_activation(LayerCall& call, const std::string& key, const std::string& otherwise,
                    Recurrent* cell) {
  const std::string name = call.activation(key, otherwise);
  const layers::CellActivation found = layers::cell_activation(name);
  if (found.name.empty())
    call.refuse(key, "'" + name + "' is not built inside of a recurrent layer");
  cell->activations.push_back(found.name);
  cell->alphas.push_back(found.alpha);
  cell->betas.push_back(found.beta);
}

/// Reads one direction and appends its weights.
Options read_cell(LayerCall& call, graph::Operator op, int64_t width, Recurrent* cell,
                  const std::string& part = "cell") {
  Options options;
  options.sequences = call.truth("return_sequences", false);
  options.state = call.truth("return_state", false);
  options.backwards = call.truth("go_backwards", false);
  options.keeps_state = call.truth("stateful", false);
  if (call.truth("time_major", false)) call.refuse("time_major", "is not built");
  cell->op = op;
  cell->hidden = call.integer("units", 0);
  if (cell->hidden < 1) call.corrupt("has " + std::to_string(cell->hidden) + " units");
  const bool bias = call.truth("use_bias", true);
  const int64_t gates = op == op::LSTM ? 4 : op == op::GRU ? 3 : 1;
  if (op != op::RNN)
    add_activation(call, "recurrent_activation",
                   call.version < 3 && op == op::GRU ? "hard_sigmoid" : "sigmoid", cell);
  add_activation(call, "activation", "tanh", cell);
  if (op == op::LSTM) add_activation(call, "activation", "tanh", cell);
  const bool after = op == op::GRU && call.truth("reset_after", call.version >= 3);
  cell->linear_before_reset = after;
  const std::vector<Weight> w = call.weights(bias ? 3 : 2, call.source.legacy() ? "" : part);
  call.expect_dims(w[0], {width, gates * cell->hidden}, "kernel");
  call.expect_dims(w[1], {cell->hidden, gates * cell->hidden}, "recurrent kernel");
  const std::vector<size_t> order = gate_order(op);
  append_gates(w[0], cell->hidden, order, &cell->input.values);
  append_gates(w[1], cell->hidden, order, &cell->state.values);
  if (bias) {
    if (after)
      call.expect_dims(w[2], {2, gates * cell->hidden}, "bias");
    else
      call.expect_dims(w[2], {gates * cell->hidden}, "bias");
    append_bias(w[2].values.data(), cell->hidden, order, &cell->bias.values);
    append_bias(after ? w[2].values.data() + gates * cell->hidden : nullptr, cell->hidden, order,
                &cell->bias.values);
  }
  const int64_t directions = cell->input.dims.empty() ? 1 : 2;
  cell->input.dims = {directions, gates * cell->hidden, width};
  cell->state.dims = {directions, gates * cell->hidden, cell->hidden};
  if (bias) cell->bias.dims = {directions, 2 * gates * cell->hidden};
  return options;
}

ValueId steps_first(LayerCall& call) { return call.b.transpose(call.input(), {1, 0, 2}); }
/// One direction of [directions, batch, hidden] as [batch, hidden].
ValueId state_of(LayerCall& call, ValueId x, int64_t direction) {
  const ValueId one = call.b.slice(x, 0, graph::Dim(direction), graph::Dim(direction + 1));
  return call.b.reshape(one, graph::Dims{call.b.dims(x)[1], call.b.dims(x)[2]});
}
/// One direction of [steps, directions, batch, hidden] as [batch, steps, hidden].
ValueId sequence_of(LayerCall& call, ValueId y, int64_t direction) {
  const graph::Dims dims = call.b.dims(y);
  ValueId one = call.b.slice(y, 1, graph::Dim(direction), graph::Dim(direction + 1));
  one = call.b.reshape(one, graph::Dims{dims[0], dims[2], dims[3]});
  return call.b.transpose(one, {1, 0, 2});
}

/// Steps from the last to the first.
ValueId reversed(LayerCall& call, ValueId x) {
  return call.b.slice(x, 1, Dim(-1), Dim(-(int64_t{1} << 40)), -1);
}
/// States that the layer is called with, behind its input: those of each direction in turn.
std::vector<ValueId> initial_states(LayerCall& call, const Recurrent& cell, size_t directions) {
  const std::vector<ValueId>& given = call.inputs();
  const size_t states = cell.op == op::LSTM ? 2 : 1;
  if (given.size() == 1) return {};
  if (given.size() != 1 + states * directions)
    call.corrupt("is called with " + std::to_string(given.size() - 1) + " states, expected " +
                 std::to_string(states * directions));
  std::vector<ValueId> out;
  for (size_t s = 0; s < states; s++) {
    std::vector<ValueId> parts;
    for (size_t d = 0; d < directions; d++) {
      const ValueId one = given[1 + d * states + s];
      const graph::Dims dims = call.b.dims(one);
      if (dims.size() != 2 || dims[1] != Dim(cell.hidden))
        call.corrupt("a state that it is called with has shape " + graph::text(dims) +
                     ", expected [batch, " + std::to_string(cell.hidden) + "]");
      parts.push_back(call.b.reshape(one, {Dim(1), dims[0], dims[1]}));
    }
    out.push_back(parts.size() == 1 ? parts[0]
                                    : call.b.emit(op::Concat, parts, {{attr::axis, int64_t(0)}}));
  }
  return out;
}

/// Steps that a mask leaves out: the layer goes over the others, and its outputs move back.
void masked_recurrent(LayerCall& call, const Options& options, Recurrent* cell,
                      std::vector<ValueId>* made) {
  const bool zeros = call.truth("zero_output_for_mask", false);
  const ValueId mask = options.backwards ? reversed(call, call.mask()) : call.mask(),
                x = options.backwards ? reversed(call, call.input()) : call.input();
  const HeldSteps held(call.b, mask);
  cell->lengths = held.lengths();
  *made = call.net.recurrent(*cell, call.b.transpose(held.packed(x), {1, 0, 2}));
  ValueId out;
  if (options.sequences) {
    out = held.spread(sequence_of(call, (*made)[0], 0), zeros);
    call.output_masks = {call.mask()};
  } else {
    out = state_of(call, (*made)[1], 0);
    const ValueId last = call.b.slice(mask, 1, Dim(-1), Dim(int64_t{1} << 40));
    if (zeros) out = call.b.emit(op::Where, {last, out, call.net.scalar(0)});
  }
  call.give(out);
}

void recurrent(LayerCall& call, graph::Operator op) {
  call.expect_rank(3);
  Recurrent cell;
  const Options options = read_cell(call, op, call.extent(2), &cell);
  cell.direction = options.backwards && !call.is_masked() ? "reverse" : "forward";
  cell.initial = initial_states(call, cell, 1);
  if (options.keeps_state && !cell.initial.empty())
    call.refuse("initial_state", "of a stateful layer is not built");
  if (options.keeps_state)
    for (const char* part : {"h", "c"})
      if (cell.initial.empty() || op == op::LSTM)
        cell.initial.push_back(
            call.net.state(call.layer.name + "/" + part,
                           {Dim(1), call.b.dims(call.input())[0], Dim(cell.hidden)}));
  std::vector<ValueId> made;
  if (call.is_masked()) {
    masked_recurrent(call, options, &cell, &made);
  } else {
    made = call.net.recurrent(cell, steps_first(call));
    const ValueId out =
        options.sequences ? sequence_of(call, made[0], 0) : state_of(call, made[1], 0);
    // a sequence is in the order in which it went
    call.give(options.sequences && options.backwards ? reversed(call, out) : out);
  }
  if (options.keeps_state)
    for (size_t i = 0; i < cell.initial.size(); i++) call.net.keep(cell.initial[i], made[i + 1]);
  if (options.state)
    for (size_t i = 1; i < made.size(); i++) call.outputs.push_back(state_of(call, made[i], 0));
}
void lstm(LayerCall& call) { recurrent(call, op::LSTM); }
void gru(LayerCall& call) { recurrent(call, op::GRU); }
void simple_rnn(LayerCall& call) { recurrent(call, op::RNN); }

graph::Operator op_of(LayerCall& call, const std::string& kind) {
  if (kind == "LSTM" || kind == "CuDNNLSTM") return op::LSTM;
  if (kind == "GRU") return op::GRU;
  if (kind == "SimpleRNN") return op::RNN;
  call.refuse("layer", "a " + kind + " inside is not built");
}

void bidirectional(LayerCall& call) {
  call.expect_rank(3);
  const Json* inner = call.field("layer");
  if (!inner) call.corrupt("lacks its layer");
  const std::string merge = call.field("merge_mode") ? call.text("merge_mode", "concat") : "none";
  Layer forward = inner_layer(*inner);
  const Json* other = call.field("backward_layer");
  Layer backward = other ? inner_layer(*other) : forward;
  const graph::Operator op = op_of(call, forward.kind);
  if (op_of(call, backward.kind) != op)
    call.refuse("backward_layer", "of another kind is not built");
  const int64_t width = call.extent(2);
  Recurrent cell;
  Options options[2];
  const Layer* const both[] = {&forward, &backward};
  for (int d = 0; d < 2; d++) {
    // Keras 3 writes the names that the directions got, Keras 2 the one that they were made from.
    const std::string side = d ? "backward_" : "forward_", own = both[d]->name;
    const std::string legacy_part = own.rfind("forward_", 0) == 0 || own.rfind("backward_", 0) == 0
                                        ? side + own.substr(own.find('_') + 1)
                                        : side + own;
    const std::string part = call.source.legacy() ? legacy_part : side + "layer";
    LayerCall one(call.net, *both[d], call.source, call.place, part, call.version, {call.input()});
    const size_t named = cell.activations.size();
    const int64_t hidden = cell.hidden;
    options[d] = read_cell(one, op, width, &cell);
    one.refuse_unknown_fields();
    if (options[d].keeps_state) call.refuse("stateful", "is not built in both directions");
    if (d == 0) continue;
    if (cell.hidden != hidden) call.refuse("backward_layer", "of another size is not built");
    const std::vector<std::string> second(cell.activations.begin() + int64_t(named),
                                          cell.activations.end());
    cell.activations.resize(named), cell.alphas.resize(named), cell.betas.resize(named);
    if (second != cell.activations)
      call.refuse("backward_layer", "with other activations is not built");
  }
  if (options[0].backwards || options[0].sequences != options[1].sequences)
    call.refuse("layer", "that goes backwards by itself is not built");
  if (other && (!options[1].backwards || options[0].state != options[1].state))
    call.refuse("backward_layer",
                "that goes forward, or gives another state than the other, is not built");
  cell.direction = "bidirectional";
  cell.initial = initial_states(call, cell, 2);
  std::optional<HeldSteps> held;
  if (call.is_masked()) {
    held.emplace(call.b, call.mask());
    cell.lengths = held->lengths();
    if (options[0].sequences) call.output_masks = {call.mask(), call.mask()};
  }
  const ValueId x = held ? held->packed(call.input()) : call.input();
  const std::vector<ValueId> made = call.net.recurrent(cell, call.b.transpose(x, {1, 0, 2}));
  const auto side = [&](int64_t d) {
    if (!options[0].sequences) return state_of(call, made[1], d);
    const ValueId out = sequence_of(call, made[0], d);
    return held ? held->spread(out, true) : out;  // Keras sets zero_output_for_mask
  };
  const ValueId a = side(0), b = side(1);
  if (merge == "concat")
    call.give(call.b.emit(op::Concat, {a, b}, {{attr::axis, call.b.rank(a) - 1}}));
  else if (merge == "sum")
    call.give(call.b.emit(op::Add, {a, b}));
  else if (merge == "mul")
    call.give(call.b.emit(op::Mul, {a, b}));
  else if (merge == "ave")
    call.give(call.b.emit(op::Div, {call.b.emit(op::Add, {a, b}), call.net.scalar(2)}));
  else if (merge == "none")
    call.outputs = {a, b};
  else
    call.refuse("merge_mode", "'" + merge + "' is not known");
  if (merge != "none") call.output_masks.resize(std::min<size_t>(call.output_masks.size(), 1));
  if (options[0].state)
    for (int64_t d = 0; d < 2; d++)
      for (size_t i = 1; i < made.size(); i++) call.outputs.push_back(state_of(call, made[i], d));
}

/// A layer for every step: those that work on the last axis alone need nothing more; others see the
/// steps in the batch.
void time_distributed(LayerCall& call) {
  const Json* inner = call.field("layer");
  if (!inner) call.corrupt("lacks its layer");
  Layer layer = inner_layer(*inner);
  const auto found = translate_table().find(layer.kind);
  if (found == translate_table().end() || layer.kind == "TimeDistributed" ||
      layer.kind == "Bidirectional")
    call.refuse("layer", "a " + layer.kind + " inside is not built");
  if (call.is_masked() && mask_use(layer.kind) == MaskUse::kComputes)
    call.refuse("mask", "of the steps of a " + layer.kind + " is not built");
  call.output_masks = {call.mask()};
  const graph::Dims dims = call.b.dims(call.input());
  if (dims.size() < 3)
    call.corrupt("its input has shape " + graph::text(dims) + ", expected steps");
  graph::Dims folded = {dims[0] * dims[1]};
  folded.insert(folded.end(), dims.begin() + 2, dims.end());
  LayerCall one(call.net, layer, call.source, call.place, call.source.legacy() ? "" : "layer",
                call.version, {call.b.reshape(call.input(), folded)});
  found->second(one);
  one.refuse_unknown_fields();
  graph::Dims out = {dims[0], dims[1]};
  const graph::Dims made = call.b.dims(one.outputs[0]);
  out.insert(out.end(), made.begin() + 1, made.end());
  call.give(call.b.reshape(one.outputs[0], out));
}

/// RNN around cells: each is a layer of its own over all steps.
void cells(LayerCall& call) {
  call.expect_rank(3);
  if (call.inputs().size() > 1)
    call.refuse("initial_state", "is not built", "let it begin with zeros");
  const Json* inner = call.field("cell");
  if (!inner) call.corrupt("lacks its cell");
  for (const char* key : {"return_state", "stateful", "go_backwards", "zero_output_for_mask"})
    if (call.truth(key, false)) call.refuse(key, "is not built around cells");
  const bool sequences = call.truth("return_sequences", false);
  Layer outer = inner_layer(*inner);
  std::vector<Layer> stack = {outer};
  const bool many = outer.kind == "StackedRNNCells";
  if (many) {
    stack.clear();
    const auto found = outer.config.find("cells");
    if (found == outer.config.end() || !found->is_array() || found->empty())
      call.corrupt("lacks the cells of its stack");
    for (const Json& each : *found) stack.push_back(inner_layer(each));
  }
  std::map<std::string, int64_t> taken;
  ValueId x = call.input();
  std::optional<HeldSteps> held;
  if (call.is_masked()) {
    held.emplace(call.b, call.mask());
    x = held->packed(x);
    if (sequences) call.output_masks = {call.mask()};
  }
  for (size_t i = 0; i < stack.size(); i++) {
    static const std::map<std::string, std::pair<graph::Operator, const char*>> kCells = {
        {"LSTMCell", {op::LSTM, "lstm_cell"}},
        {"GRUCell", {op::GRU, "gru_cell"}},
        {"SimpleRNNCell", {op::RNN, "simple_rnn_cell"}}};
    const auto found = kCells.find(stack[i].kind);
    if (found == kCells.end()) call.refuse("cell", "a " + stack[i].kind + " is not built");
    const int64_t number = taken[stack[i].kind]++;
    const std::string name =
        found->second.second + (number ? "_" + std::to_string(number) : std::string());
    LayerCall one(call.net, stack[i], call.source, call.place,
                  call.source.legacy() ? ""
                  : many               ? "cell/cells/" + name
                                       : "cell",
                  call.version, {x});
    Recurrent cell;
    if (read_cell(one, found->second.first, one.extent(2), &cell, "").keeps_state)
      call.refuse("stateful", "is not built around cells");
    one.refuse_unknown_fields();
    (void)one.input();
    if (held) cell.lengths = held->lengths();
    const std::vector<ValueId> made = call.net.recurrent(cell, call.b.transpose(x, {1, 0, 2}));
    const bool last = i + 1 == stack.size();
    x = last && !sequences ? state_of(call, made[1], 0) : sequence_of(call, made[0], 0);
  }
  call.give(held && sequences ? held->spread(x, false) : x);
}
/// A wrapper that changes its layer's weights in training alone.
void spectral_normalization(LayerCall& call) {
  const Json* inner = call.field("layer");
  if (!inner) call.corrupt("lacks its layer");
  Layer layer = inner_layer(*inner);
  const auto found = translate_table().find(layer.kind);
  if (found == translate_table().end() || layer.kind == "SpectralNormalization")
    call.refuse("layer", "a " + layer.kind + " inside is not built");
  LayerCall one(call.net, layer, call.source, call.place, call.source.legacy() ? "" : "layer",
                call.version, call.inputs());
  found->second(one);
  one.refuse_unknown_fields();
  call.outputs = one.outputs;
}

}  // namespace

void add_recurrent(TranslateTable& table) {
  table["LSTM"] = lstm;
  table["GRU"] = gru;
  table["SimpleRNN"] = simple_rnn;
  table["RNN"] = cells;
  table["SpectralNormalization"] = spectral_normalization;
  table["Bidirectional"] = bidirectional;
  table["TimeDistributed"] = time_distributed;
}

}  // namespace ingot::keras
