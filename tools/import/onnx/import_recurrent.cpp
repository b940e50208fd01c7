// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_recurrent.cpp - LSTM, GRU, RNN with every attribute filled in.
#include <cmath>

#include "runtime/op/requantize.h"
#include "tools/import/onnx/call.h"

namespace ingot::onnx {
namespace {

struct Activation {
  const char* name;
  double alpha, beta;
};
const Activation kActivations[] = {{"Relu", 0, 0},         {"Tanh", 0, 0},
                                   {"Sigmoid", 0, 0},      {"Affine", 1, 0},
                                   {"LeakyRelu", 0.01, 0}, {"ThresholdedRelu", 1, 0},
                                   {"ScaledTanh", 1, 1},   {"HardSigmoid", 0.2, 0.5},
                                   {"Elu", 1, 0},          {"Softsign", 0, 0},
                                   {"Softplus", 0, 0}};

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  return text;
}

/// activations, activation_alpha, activation_beta: one of each per gate function; the defaults
/// repeat per direction.
bool activations(Call& call, graph::Node& made, std::vector<std::string> defaults,
                 size_t directions) {
  std::vector<std::string> names = call.texts("activations");
  const std::vector<double> alphas =
      call.numbers("activation_alpha").value_or(std::vector<double>());
  const std::vector<double> betas = call.numbers("activation_beta").value_or(std::vector<double>());
  const size_t expected = defaults.size() * directions;
  if (names.empty()) {
    for (size_t d = 0; d < directions; d++)
      names.insert(names.end(), defaults.begin(), defaults.end());
  }
  if (names.size() != expected) {
    call.refuse("activations",
                std::to_string(names.size()) + " given, expected " + std::to_string(expected));
    return false;
  }
  std::vector<double> all_alphas, all_betas;
  size_t next_alpha = 0, next_beta = 0;  // the lists hold values only for functions that take one
  for (std::string& name : names) {
    const Activation* found = nullptr;
    for (const Activation& known : kActivations) {
      if (lower(known.name) == lower(name)) found = &known;
    }
    if (!found) {
      call.refuse("activations", "'" + name + "' is not known");
      return false;
    }
    name = found->name;
    const bool takes_beta = found->beta != 0 || lower(name) == "affine";
    const bool takes_alpha = found->alpha != 0;
    all_alphas.push_back(takes_alpha && next_alpha < alphas.size() ? alphas[next_alpha++]
                                                                   : double(float(found->alpha)));
    all_betas.push_back(takes_beta && next_beta < betas.size() ? betas[next_beta++]
                                                               : double(float(found->beta)));
  }
  made.attributes[attr::activations] = names;
  made.attributes[attr::activation_alpha] = all_alphas;
  made.attributes[attr::activation_beta] = all_betas;
  return true;
}

void recurrent_of(Call& call, graph::Operator op, const std::vector<ValueId>& inputs) {
  const std::string direction = call.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return call.refuse("direction", "'" + direction + "' is not known");
  }
  graph::Node& made = call.emit(op, inputs, call.outputs());
  made.attributes[attr::direction] = direction;
  made.attributes[attr::hidden_size] = call.integer("hidden_size", 0);
  made.attributes[attr::layout] = call.opset() >= 14 ? call.integer("layout", 0) : int64_t(0);
  if (call.attribute("clip", kAttributeFloat)) made.attributes[attr::clip] = call.number("clip", 0);
  const bool is_lstm = op != op::GRU && op != op::RNN;
  if (is_lstm) made.attributes[attr::input_forget] = call.integer("input_forget", 0);
  if (op == op::GRU)
    made.attributes[attr::linear_before_reset] = call.integer("linear_before_reset", 0);
  std::vector<std::string> defaults = {"Tanh"};
  if (is_lstm) defaults = {"Sigmoid", "Tanh", "Tanh"};
  if (op == op::GRU) defaults = {"Sigmoid", "Tanh"};
  activations(call, made, defaults, direction == "bidirectional" ? 2 : 1);
}

void recurrent(Call& call) {
  const graph::Operator op = call.op();
  call.expect_inputs(3, op == op::LSTM ? 8 : 6);
  recurrent_of(call, op, call.inputs());
}

/// Integers [D, I, N] with a scale, and perhaps a zero point, for each direction, or for each of N
/// too. False: refused.
bool check_weights(Call& call, size_t weights, size_t scales, size_t zeros) {
  const graph::Constant *w = call.constant(weights), *s = call.constant(scales),
                        *z = call.constant(zeros);
  if (!w || !s || (call.input(zeros) != kAbsent && !z)) {
    call.refuse("", "its weights, scales and zero points are no constants");
    return false;
  }
  const auto corrupt = [&](const std::string& what) {
    call.translator().corrupt(describe(call.node()) + ": " + what);
  };
  if ((w->dtype != DType::kI8 && w->dtype != DType::kU8) || w->dims.size() != 3)
    corrupt("input " + std::to_string(weights) + " is no 8-bit tensor of 3 dimensions");
  const int64_t d = w->dims[0], n = w->dims[2];
  if (w->dims[1] > quantized::kMaxProducts) {
    call.refuse("", "its weights are for " + std::to_string(w->dims[1]) + " numbers, at most " +
                        std::to_string(quantized::kMaxProducts) + " are supported");
    return false;
  }
  if (s->dtype != DType::kF32 || (s->elements() != d && s->elements() != d * n))
    corrupt("its scales are " + std::to_string(s->elements()) + ", expected " + std::to_string(d) +
            " or " + std::to_string(d * n));
  if (z && (z->dtype != w->dtype || z->elements() != s->elements()))
    corrupt("its zero points are not as its weights and scales");
  for (int64_t i = 0; i < s->elements(); i++)
    if (!(s->as<float>()[i] > 0) || !std::isnormal(s->as<float>()[i]))
      corrupt("its scale is " + std::to_string(s->as<float>()[i]) + " at element " +
              std::to_string(i) + ", expected a positive number");
  return true;
}

/// Of com.microsoft: weights of 8 bits, whose rows are those of the input.
void dynamic_quantize_lstm(Call& call) {
  if (check_weights(call, 1, 8, 9) && check_weights(call, 2, 10, 11))
    recurrent_of(call, op::DynamicQuantizeLSTM, call.inputs());
}

}  // namespace

void add_quantized_recurrent(TranslateTable& table) {
  table["DynamicQuantizeLSTM"] = {3, 12, dynamic_quantize_lstm};
}
void add_recurrent(TranslateTable& table) {
  table["LSTM"] = recurrent;
  table["GRU"] = recurrent;
  table["RNN"] = recurrent;
}

}  // namespace ingot::onnx
