// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/canonical/rules.h"
#include "tools/compile/passes/common/constants.h"

namespace ingot::passes {
namespace {

const std::map<std::string_view, const char*> kActivations = {{"Sigmoid", "sigmoid"},
                                                              {"Tanh", "tanh"},
                                                              {"Relu", "relu"},
                                                              {"HardSigmoid", "hard_sigmoid"},
                                                              {"LeakyRelu", "leaky_relu"},
                                                              {"Elu", "elu"},
                                                              {"Softplus", "softplus"}};

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
  std::vector<std::string> cell = node.op == op::LSTM
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
  std::string kind = node.op == op::LSTM ? "lstm" : node.op == op::GRU ? "gru" : "rnn";
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
}

}  // namespace ingot::passes
