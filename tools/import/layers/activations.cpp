// SPDX-License-Identifier: Apache-2.0
// tools/import/layers/activations.cpp - functions that frameworks name alike, and cells that repeat
// over steps.
#include <algorithm>

#include "tools/import/aten/arithmetic.h"
#include "tools/import/layers/network.h"

namespace ingot::layers {
namespace {

struct Simple {
  const char* name;
  graph::Operator op;
};
constexpr Simple kSimple[] = {{"relu", op::Relu},
                              {"sigmoid", op::Sigmoid},
                              {"sigma", op::Sigmoid},
                              {"tanh", op::Tanh},
                              {"softplus", op::Softplus},
                              {"softsign", op::Softsign},
                              {"exponential", op::Exp},
                              {"exp", op::Exp},
                              {"mish", op::Mish},
                              {"hardswish", op::HardSwish},
                              {"hardsilu", op::HardSwish},
                              {"abs", op::Abs},
                              {"sin", op::Sin},
                              {"cos", op::Cos},
                              {"sqrt", op::Sqrt},
                              {"erf", op::Erf}};

}  // namespace

std::string plain_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c == '_') continue;
    out += c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  }
  return out;
}

CellActivation cell_activation(const std::string& plain) {
  if (plain == "tanh" || plain == "tanhfast") return {"Tanh"};
  if (plain == "sigmoid" || plain == "sigmoidfast" || plain == "\xcf\x83") return {"Sigmoid"};
  if (plain == "relu") return {"Relu"};
  if (plain == "softplus") return {"Softplus"};
  if (plain == "elu") return {"Elu", 1};
  if (plain == "hardsigmoid") return {"HardSigmoid", double(1.0f / 6.0f), 0.5};
  if (plain == "hardsigmoid2") return {"HardSigmoid", double(0.2f), 0.5};
  return {};
}

ValueId Network::activation(ValueId x, const std::string& name, int64_t softmax_axis) {
  if (name == "linear" || name == "identity" || name.empty()) return x;
  for (const Simple& row : kSimple)
    if (name == row.name) return b.emit(row.op, {x});
  if (name == "relu6") return b.emit(op::Clip, {x}, {{attr::min, 0.0}, {attr::max, 6.0}});
  if (name == "hardtanh") return b.emit(op::Clip, {x}, {{attr::min, -1.0}, {attr::max, 1.0}});
  if (name == "hardshrink" || name == "softshrink")
    return b.emit(op::Shrink, {x},
                  {{attr::lambd, 0.5}, {attr::bias, name == "softshrink" ? 0.5 : 0.0}});
  if (name == "sparsesigmoid")
    return b.emit(op::HardSigmoid, {x}, {{attr::alpha, 0.5}, {attr::beta, 0.5}});
  const aten::Term t = {&b, x};
  if (name == "tanhshrink") return (t - call(op::Tanh, t)).id;
  if (name == "squareplus") return ((t + square_root(t * t + 4.0)) / 2.0).id;
  if (name == "sparseplus") {  // a parabola from -1 to 1, a line above
    const aten::Term within = smaller(larger(t + 1.0, 0), 2);
    return (within * within / 4.0 + larger(t - 1.0, 0)).id;
  }
  if (name == "glu") {
    require_axis(t, softmax_axis);
    const graph::Dim size = t.dims()[size_t(softmax_axis)], half = size / graph::Dim(2);
    if (half * graph::Dim(2) != size)
      throw Refused{"activation", "glu halves a dimension of " + size.text(), ""};
    return (t.slice(softmax_axis, graph::Dim(0), half) *
            call(op::Sigmoid, t.slice(softmax_axis, half, size)))
        .id;
  }
  if (name == "softmax") return b.emit(op::Softmax, {x}, {{attr::axis, softmax_axis}});
  if (name == "logsoftmax") return b.emit(op::LogSoftmax, {x}, {{attr::axis, softmax_axis}});
  if (name == "swish" || name == "silu") return b.emit(op::Swish, {x}, {{attr::alpha, 1.0}});
  if (name == "gelu") return b.emit(op::Gelu, {x}, {{attr::approximate, std::string("none")}});
  if (name == "gelutanh") return b.emit(op::Gelu, {x}, {{attr::approximate, std::string("tanh")}});
  if (name == "elu") return b.emit(op::Elu, {x}, {{attr::alpha, 1.0}});
  if (name == "celu") return b.emit(op::Celu, {x}, {{attr::alpha, 1.0}});
  if (name == "selu")
    return b.emit(op::Selu, {x},
                  {{attr::alpha, double(1.67326319217681884765625f)},
                   {attr::gamma, double(1.05070102214813232421875f)}});
  if (name == "leakyrelu02") return b.emit(op::LeakyRelu, {x}, {{attr::alpha, double(0.2f)}});
  if (name == "leakyrelu001") return b.emit(op::LeakyRelu, {x}, {{attr::alpha, double(0.01f)}});
  if (name == "hardsigmoid")
    return b.emit(op::HardSigmoid, {x}, {{attr::alpha, double(1.0f / 6.0f)}, {attr::beta, 0.5}});
  if (name == "hardsigmoid2")
    return b.emit(op::HardSigmoid, {x}, {{attr::alpha, double(0.2f)}, {attr::beta, 0.5}});
  if (name == "logsigmoid") return b.emit(op::Neg, {b.emit(op::Softplus, {b.emit(op::Neg, {x})})});
  throw Refused{"activation", "the function '" + name + "' is not known",
                "use one of the standard activations"};
}

void append_gates(const Weight& weight, int64_t hidden, const std::vector<size_t>& order,
                  std::vector<float>* out) {
  const int64_t rows = weight.dims[0], columns = weight.dims[1];
  for (const size_t gate : order)
    for (int64_t h = 0; h < hidden; h++)
      for (int64_t r = 0; r < rows; r++)
        out->push_back(weight.values[size_t(r * columns + int64_t(gate) * hidden + h)]);
}
void append_bias(const float* from, int64_t hidden, const std::vector<size_t>& order,
                 std::vector<float>* out) {
  for (const size_t gate : order)
    for (int64_t h = 0; h < hidden; h++)
      out->push_back(from ? from[int64_t(gate) * hidden + h] : 0.0f);
}

std::vector<ValueId> Network::recurrent(const Recurrent& cell, ValueId x) {
  const size_t directions = cell.direction == "bidirectional" ? 2 : 1;
  aten::Attributes attributes = {{attr::direction, cell.direction},
                                 {attr::hidden_size, cell.hidden},
                                 {attr::layout, int64_t(0)}};
  std::vector<std::string> names;
  std::vector<double> alphas, betas;
  for (size_t d = 0; d < directions; d++) {
    names.insert(names.end(), cell.activations.begin(), cell.activations.end());
    alphas.insert(alphas.end(), cell.alphas.begin(), cell.alphas.end());
    betas.insert(betas.end(), cell.betas.begin(), cell.betas.end());
  }
  attributes[attr::activations] = names;
  attributes[attr::activation_alpha] = alphas;
  attributes[attr::activation_beta] = betas;
  if (cell.op == op::LSTM) attributes[attr::input_forget] = int64_t(0);
  if (cell.op == op::GRU) attributes[attr::linear_before_reset] = int64_t(cell.linear_before_reset);
  std::vector<ValueId> inputs = {x, constant(cell.input), constant(cell.state)};
  if (!cell.bias.dims.empty()) inputs.push_back(constant(cell.bias));
  if (cell.lengths != kAbsent || !cell.initial.empty()) {
    inputs.resize(5, kAbsent);  // perhaps no bias, no lengths
    inputs[4] = cell.lengths;
    inputs.insert(inputs.end(), cell.initial.begin(), cell.initial.end());
  }
  return b.emit_many(cell.op, inputs, std::move(attributes), cell.op == op::LSTM ? 3 : 2);
}

}  // namespace ingot::layers
