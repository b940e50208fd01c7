// tools/import/onnx/import_recurrent.cpp - LSTM, GRU, RNN with every attribute filled in.
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
  made.attributes["activations"] = names;
  made.attributes["activation_alpha"] = all_alphas;
  made.attributes["activation_beta"] = all_betas;
  return true;
}

void recurrent(Call& call) {
  const std::string op(call.node().op);
  call.expect_inputs(3, op == "LSTM" ? 8 : 6);
  const std::string direction = call.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return call.refuse("direction", "'" + direction + "' is not known");
  }
  graph::Node& made = call.emit(op);
  made.attributes["direction"] = direction;
  made.attributes["hidden_size"] = call.integer("hidden_size", 0);
  made.attributes["layout"] = call.opset() >= 14 ? call.integer("layout", 0) : int64_t(0);
  if (call.attribute("clip", kAttributeFloat)) made.attributes["clip"] = call.number("clip", 0);
  if (op == "LSTM") made.attributes["input_forget"] = call.integer("input_forget", 0);
  if (op == "GRU") made.attributes["linear_before_reset"] = call.integer("linear_before_reset", 0);
  std::vector<std::string> defaults = {"Tanh"};
  if (op == "LSTM") defaults = {"Sigmoid", "Tanh", "Tanh"};
  if (op == "GRU") defaults = {"Sigmoid", "Tanh"};
  activations(call, made, defaults, direction == "bidirectional" ? 2 : 1);
}

}  // namespace

void add_recurrent(TranslateTable& table) {
  table["LSTM"] = recurrent;
  table["GRU"] = recurrent;
  table["RNN"] = recurrent;
}

}  // namespace ingot::onnx
