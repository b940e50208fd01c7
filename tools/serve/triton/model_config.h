// SPDX-License-Identifier: Apache-2.0
// tools/serve/triton/model_config.h - a model's configuration (config.pbtxt as JSON): what is in it
// held to the file, what is not filled in.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>

#include "tools/serve/core/model_ports.h"

namespace ingot::serve::triton {

/// Rows of a batch; 0: inputs and outputs are as the file has them.
int64_t batch_of(const nlohmann::json& config);
/// A parameter of the configuration, or `otherwise`.
std::string parameter_of(const nlohmann::json& config, const char* name, const char* otherwise);
/// After which the server forgets a sequence without requests.
uint64_t idle_sequence_ns(const nlohmann::json& config);
/// Inputs, outputs, the batch and how requests are joined, where the configuration leaves them out.
/// @param batch of the file, 0 without one
void complete_config(const ModelPorts& ports, int64_t batch, nlohmann::json* config);
/// @throws ServeError where it names what the file has not, or has otherwise
void check_config(const ModelPorts& ports, const nlohmann::json& config);

}  // namespace ingot::serve::triton
