// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tools/compile/passes/canonical/rules.h"
#include "tools/compile/passes/common/constants.h"
#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"

namespace ingot::passes {
namespace {

const std::map<std::string_view, const char*> kActivations = {{"Sigmoid", "sigmoid"},
                                                              {"Tanh", "tanh"},
                                                              {"Relu", "relu"},
                                                              {"HardSigmoid", "hard_sigmoid"},
                                                              {"LeakyRelu", "leaky_relu"},
                                                              {"Elu", "elu"},
                                                              {"Softplus", "softplus"}};

bool is_lstm(const Node& node) { return node.op == op::LSTM || node.op == op::DynamicQuantizeLSTM; }

ValueId input_or_none(const Node& node, size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : kAbsent;
}

// Activations as the schema has them; left out when they are the defaults. False: refused.
bool activations(Canonical& c, const Node& node, Attributes& a) {
  auto found = node.attributes.find(attr::activations);
  if (found == node.attributes.end()) return true;
  std::vector<std::string> names;
  for (const std::string& name : std::get<std::vector<std::string>>(found->second)) {
    auto known = kActivations.find(name);
    if (known == kActivations.end()) {
      c.refuse(node, "activations", name + " is not built inside recurrent cells");
      return false;
    }
    names.push_back(known->second);
  }
  std::vector<std::string> cell = is_lstm(node)
                                      ? std::vector<std::string>{"sigmoid", "tanh", "tanh"}
                                  : node.op == op::GRU ? std::vector<std::string>{"sigmoid", "tanh"}
                                                       : std::vector<std::string>{"tanh"};
  bool usual = true;
  for (size_t i = 0; i < names.size(); i++) usual = usual && names[i] == cell[i % cell.size()];
  if (usual) return true;
  a[attr::activation_alphas] = node.numbers(attr::activation_alpha);
  a[attr::activation_betas] = node.numbers(attr::activation_beta);
  a[attr::activations] = std::move(names);
  return true;
}

// [D, 2*G*H] to [D, 1, G*H], both halves summed, or [D, 2, G*H] where the recurrent half stays
// apart.
Constant gate_bias(const Constant& b, bool apart) {
  int64_t d = b.dims[0], half = b.dims[1] / 2;
  if (apart) return with_dims(b, {d, 2, half});
  std::vector<double> all = numbers(b), sums;
  for (int64_t i = 0; i < d; i++)
    for (int64_t k = 0; k < half; k++)
      sums.push_back(all[size_t(i * 2 * half + k)] + all[size_t(i * 2 * half + half + k)]);
  return make_f32({d, 1, half}, sums);
}

/// Weights of bytes, operand `at`: the sums of rows, scales, biases and perhaps zero points, i32
/// [3 or 4, D*4*H].
Constant byte_channels(const Editor& e, const Node& node, size_t at, const Constant& w,
                       const std::vector<double>& bias) {
  const size_t numbers_at = at == 1 ? 8 : 10;
  const ValueId zero_id = input_or_none(node, numbers_at + 1);
  const Constant& scale = *e.constant(node.inputs[numbers_at]);
  const Constant* const zero = zero_id >= 0 ? e.constant(zero_id) : nullptr;
  const int64_t directions = w.dims[0], rows = directions * w.dims[1], k = w.dims[2],
                offset = e.constant(node.inputs[at])->dtype == DType::kU8 ? 128 : 0;
  host::charge_work(uint64_t(w.elements()) / 8);
  std::vector<int32_t> all(size_t(4 * rows), 0);
  bool any_zero = false;
  for (int64_t row = 0; row < rows; row++) {
    const int64_t of = scale.elements() == directions ? row / w.dims[1] : row,
                  less = (zero ? graph::read_integer(*zero, of) : 0) - offset;
    int64_t sum = -k * less;
    for (int64_t i = 0; i < k; i++) sum += w.as<int8_t>()[row * k + i];
    const float number = bias.empty() ? 0.0f : float(bias[size_t(row)]);
    all[size_t(row)] = int32_t(sum), all[size_t(3 * rows + row)] = int32_t(less);
    std::memcpy(&all[size_t(rows + row)], scale.as<uint8_t>() + of * 4, 4);
    std::memcpy(&all[size_t(2 * rows + row)], &number, 4);
    any_zero |= less != 0;
  }
  return graph::make_constant(DType::kI32, {any_zero ? 4 : 3, rows}, all.data());
}

/// Operands 1, 2, 8 and 9 of Recurrent; the bias is part of those of the input.
void give_bytes(Editor& e, const Node& node, ValueId bias, std::vector<ValueId>* inputs) {
  inputs->resize(10, kAbsent);
  std::vector<double> numbers_of_bias;
  if (bias >= 0) numbers_of_bias = numbers(*e.constant(bias));
  for (const size_t at : {size_t(1), size_t(2)}) {
    const Constant w = signed_weights(*e.constant(node.inputs[at]), {0, 2, 1});
    const std::string name = e.value(node.inputs[at]).name;
    (*inputs)[at + 7] = e.new_constant(
        name + "/channels",
        byte_channels(e, node, at, w, at == 1 ? numbers_of_bias : std::vector<double>()));
    (*inputs)[at] = e.new_constant(name, w);
  }
  (*inputs)[3] = kAbsent;
}

void recurrent(Canonical& c, Node& node) {
  Editor& e = c.editor;
  ValueId bias = input_or_none(node, 3), lens = input_or_none(node, 4), h0 = input_or_none(node, 5),
          c0 = input_or_none(node, 6), peepholes = input_or_none(node, 7);
  if (!e.constant(node.inputs[1]) || !e.constant(node.inputs[2]) ||
      (bias >= 0 && !e.constant(bias)) || (peepholes >= 0 && !e.constant(peepholes)))
    return c.refuse(node, "W", "its weights are computed when the model runs",
                    "export the model with constant weights");
  if (node.integer(attr::input_forget, 0))
    return c.refuse(node, "input_forget", "coupled gates are not built");
  std::string kind = is_lstm(node) ? "lstm" : node.op == op::GRU ? "gru" : "rnn";
  bool batch_first = node.integer(attr::layout, 0) != 0,
       apart = kind == "gru" && node.integer(attr::linear_before_reset, 0) != 0;
  Attributes a = {{attr::kind, kind},
                  {attr::direction, node.text(attr::direction, "forward")},
                  {attr::hidden, node.integer(attr::hidden_size, 0)},
                  {attr::clip, node.number(attr::clip, 0)},
                  {attr::linear_before_reset, int64_t(apart)},
                  {attr::batch_first, int64_t(batch_first)}};
  if (!activations(c, node, a)) return;
  e.kill(node);
  if (bias >= 0) bias = e.new_constant(e.value(bias).name, gate_bias(*e.constant(bias), apart));
  if (batch_first && h0 >= 0) h0 = e.transpose(h0, {1, 0, 2}, node);
  if (batch_first && c0 >= 0) c0 = e.transpose(c0, {1, 0, 2}, node);
  std::vector<ValueId> inputs = {node.inputs[0], node.inputs[1], node.inputs[2], bias, h0, c0,
                                 lens,           peepholes},
                       outputs = node.outputs;
  if (node.op == op::DynamicQuantizeLSTM) give_bytes(e, node, bias, &inputs);
  while (inputs.back() < 0) inputs.pop_back();
  for (size_t i = 1; i < outputs.size(); i++) {
    if (!batch_first || outputs[i] < 0) continue;
    ValueId inner = e.new_value(e.value(outputs[i]).name + "/by_direction", DType::kF32,
                                permuted(e.dims(outputs[i]), {1, 0, 2}));
    e.add(op::Transpose, {inner}, {outputs[i]}, node, {{attr::perm, Integers{1, 0, 2}}});
    outputs[i] = inner;
  }
  e.add(op::Recurrent, std::move(inputs), std::move(outputs), node, std::move(a));
}

}  // namespace

void add_recurrent_rules(Rules& rules) {
  rules[op::LSTM] = rules[op::GRU] = rules[op::RNN] = recurrent;
  rules[op::DynamicQuantizeLSTM] = recurrent;
}

}  // namespace ingot::passes
