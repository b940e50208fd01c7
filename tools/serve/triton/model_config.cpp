// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/triton/model_config.h"

#include <algorithm>

#include "tools/serve/core/element_types.h"

namespace ingot::serve::triton {
namespace {

using Json = nlohmann::json;

// Sequences at once; the others wait until one ends.
constexpr int kCandidates = 256;

bool is_given(const Json& config, const char* name) {
  const auto found = config.find(name);
  return found != config.end() && !found->empty();
}

Json dims_of(const ingot_value_type& type, bool has_batch) {
  Json dims = Json::array();
  for (int32_t d = has_batch; d < type.rank; d++) dims.push_back(type.dims[d]);
  if (dims.empty()) dims.push_back(1);  // its configurations have no scalars
  return dims;
}

Json tensors_of(const std::vector<ingot_value_type>& types, bool has_batch) {
  Json list = Json::array();
  for (const ingot_value_type& type : types)
    list.push_back({{"name", type.name},
                    {"data_type", std::string("TYPE_") + type_name(type.dtype)},
                    {"dims", dims_of(type, has_batch)}});
  return list;
}

void check_tensors(const std::vector<ingot_value_type>& types, const Json& config,
                   const char* list) {
  if (!is_given(config, list)) return;
  for (const Json& tensor : config[list]) {
    const std::string name = tensor.value("name", ""), given = tensor.value("data_type", "");
    const std::string where = std::string("config.pbtxt: ") + list + " '" + name + "': ";
    const ingot_value_type* found = nullptr;
    for (const ingot_value_type& type : types)
      if (name == type.name) found = &type;
    if (!found) refuse(Refusal::kInvalid, where + "the model has none of that name");
    const std::string expected = std::string("TYPE_") + type_name(found->dtype);
    if (given != expected)
      refuse(Refusal::kInvalid, where + "data_type " + given + ", expected " + expected);
  }
}

}  // namespace

int64_t batch_of(const Json& config) { return config.value("max_batch_size", int64_t{0}); }

std::string parameter_of(const Json& config, const char* name, const char* otherwise) {
  if (!is_given(config, "parameters") || !config["parameters"].contains(name)) return otherwise;
  return config["parameters"][name].value("string_value", otherwise);
}

uint64_t idle_sequence_ns(const Json& config) {
  const uint64_t by_default = 1000000;  // microseconds
  const auto found = config.find("sequence_batching");
  if (found == config.end() || !found->is_object()) return by_default * 1000;
  const uint64_t given = found->value("max_sequence_idle_microseconds", by_default);
  return std::min(given ? given : by_default, uint64_t{1} << 40) * 1000;
}

void complete_config(const ModelPorts& ports, int64_t batch, Json* config) {
  const bool joins = is_given(*config, "dynamic_batching");
  const bool has_tensors = is_given(*config, "input") || is_given(*config, "output");
  // 0 in a configuration with tensors is what its author chose; without them it is left out
  if (batch_of(*config) == 0 && !has_tensors && ports.batch() >= 0)
    (*config)["max_batch_size"] = batch;
  const bool has_batch = batch_of(*config) > 0;
  if (!is_given(*config, "input")) (*config)["input"] = tensors_of(ports.inputs(), has_batch);
  if (!is_given(*config, "output")) (*config)["output"] = tensors_of(ports.outputs(), has_batch);
  if (ports.has_state() && !config->contains("sequence_batching"))
    (*config)["sequence_batching"] = {{"oldest", {{"max_candidate_sequences", kCandidates}}}};
  else if (has_batch && !joins && !config->contains("sequence_batching"))
    (*config)["dynamic_batching"] = Json::object();
}

void check_config(const ModelPorts& ports, const Json& config) {
  check_tensors(ports.inputs(), config, "input");
  check_tensors(ports.outputs(), config, "output");
  if (batch_of(config) > 0 && ports.batch() < 0)
    refuse(Refusal::kInvalid,
           "config.pbtxt: max_batch_size " + std::to_string(batch_of(config)) +
               ", expected 0: the first dimension of the model's inputs and outputs is no batch");
  if (ports.has_state() && !config.contains("sequence_batching"))
    refuse(Refusal::kInvalid,
           "config.pbtxt: the model keeps state from run to run: expected sequence_batching");
  const auto policy = config.find("model_transaction_policy");
  if (policy != config.end() && policy->value("decoupled", false))
    refuse(Refusal::kUnsupported,
           "config.pbtxt: a decoupled model: expected one answer to each "
           "request");
}

}  // namespace ingot::serve::triton
