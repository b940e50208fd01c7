// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/config.h - a Keras configuration as layers and the calls between them:
// Sequential and Functional, Keras 2 and 3.
// Errors   graph::ConversionError(kCorrupt) for a configuration that is not sound.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ingot::keras {

using Json = nlohmann::ordered_json;

/// An output of a call of a layer.
struct Reference {
  std::string layer;
  int64_t call = 0, output = 0;
};
struct Call {
  std::vector<Reference> inputs;
  std::vector<double> numbers;  // plain arguments, in their order
  bool number_first = false;    // one stands before the first tensor: 1 - x
  bool has_fraction = false;    // one is written as a float, 1.0, which integers become by it
  Json index;                   // of x[index] and take(x, index)
  // arguments that are tensors of their own (mask, initial_state), where each comes from; "masks"
  // for a list of them
  std::vector<std::pair<std::string, std::vector<Reference>>> tensor_arguments;
  std::vector<std::pair<std::string, std::string>>
      arguments;  // any other that says something, with its value: training
};
struct Layer {
  std::string kind, name, module;  // "Conv2D", "conv1", "keras.layers"
  Json config;
  std::vector<Call> calls;
  bool is_model() const { return kind == "Functional" || kind == "Sequential" || kind == "Model"; }
};
struct Config {
  std::string name;
  bool is_sequential = false;
  std::vector<Layer> layers;
  std::vector<Reference> inputs, outputs;
};

/// `where` begins every error.
Config read_config(const Json& model, const std::string& where);

}  // namespace ingot::keras
