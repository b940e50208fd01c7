// SPDX-License-Identifier: Apache-2.0
// tools/compile/lower/state_pairs.cpp - which ports become state, and which look as if they should
// (see states.h).
#include "tools/compile/lower/state_pairs.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "runtime/base/checked_math.h"
#include "tools/files/suggest.h"
#include "tools/files/work_budget.h"

namespace ingot::convert {
namespace {

std::vector<std::string> names_of(const graph::Model& model,
                                  const std::vector<graph::ValueId>& ports) {
  std::vector<std::string> names;
  for (const graph::ValueId id : ports)
    if (!model.constant(id)) names.push_back(model.values[size_t(id)].name);
  return names;
}

const graph::Value& find_port(const graph::Model& model, const StatePair& pair, bool is_input) {
  const auto& ports = is_input ? model.graph.inputs : model.graph.outputs;
  const std::string& name = is_input ? pair.input : pair.output;
  for (const graph::ValueId id : ports)
    if (model.values[size_t(id)].name == name && !(is_input && model.constant(id)))
      return model.values[size_t(id)];
  graph::fail_mismatch("--state '" + pair.input + "=" + pair.output + "': the model has no " +
                       (is_input ? "input" : "output") + " '" + name + "'" +
                       host::did_you_mean(name, names_of(model, ports)));
}

DType type_of(const graph::Value& value) {
  return value.constant ? value.constant->dtype : value.dtype;
}

graph::Dims dims_of(const graph::Value& value) {
  if (!value.constant) return value.dims;
  return graph::Dims(value.constant->dims.begin(), value.constant->dims.end());
}

std::string type_text(const graph::Value& value) {
  return std::string(dtype_name(type_of(value))) + " " + dims_text(dims_of(value));
}

/// Surely the same number of dimensions, none surely different.
bool may_be_same(const graph::Dims& a, const graph::Dims& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); i++)
    if (a[i].value() && b[i].value() && *a[i].value() != *b[i].value()) return false;
  return true;
}

bool drop_prefix(std::string* text, const std::string& prefix) {
  if (text->size() <= prefix.size() || text->compare(0, prefix.size(), prefix) != 0) return false;
  text->erase(0, prefix.size());
  return true;
}

bool drop_suffix(std::string* text, const std::string& suffix) {
  if (text->size() <= suffix.size() ||
      text->compare(text->size() - suffix.size(), suffix.size(), suffix) != 0)
    return false;
  text->erase(text->size() - suffix.size());
  return true;
}

/// What is left of a port's name without the words for before and after.
std::string stem(std::string name, bool is_input) {
  const std::vector<std::string> prefixes =
      is_input ? std::vector<std::string>{"in_", "input_", "prev_", "past_", "old_"}
               : std::vector<std::string>{"out_", "output_", "next_", "new_", "present_"};
  const std::vector<std::string> suffixes =
      is_input ? std::vector<std::string>{"_in", "_input", "_prev", "_old", "0", "_0"}
               : std::vector<std::string>{"_out", "_output", "_next", "_new", "N", "n", "_n", "_1"};
  for (const std::string& prefix : prefixes)
    if (drop_prefix(&name, prefix)) return name;
  for (const std::string& suffix : suffixes)
    if (drop_suffix(&name, suffix)) return name;
  return name;
}

}  // namespace

const StatePair* state_of_input(const ConvertOptions& options, const std::string& name) {
  for (const StatePair& pair : options.states)
    if (pair.input == name) return &pair;
  return nullptr;
}

const StateSpec* state_of_output(const LoweredProgram& lowered, const std::string& name) {
  for (const StateSpec& state : lowered.states)
    if (state.output_name == name) return &state;
  return nullptr;
}

void check_state_pairs(const graph::Model& model, const ConvertOptions& options) {
  std::set<std::string> inputs, outputs;
  for (const StatePair& pair : options.states) {
    const std::string where = "--state '" + pair.input + "=" + pair.output + "': ";
    if (!inputs.insert(pair.input).second)
      graph::fail_mismatch(where + "the input '" + pair.input +
                           "' is in two pairs; give each input once");
    if (!outputs.insert(pair.output).second)
      graph::fail_mismatch(where + "the output '" + pair.output +
                           "' is in two pairs; give each output once");
    const graph::Value &input = find_port(model, pair, true),
                       &output = find_port(model, pair, false);
    if (type_of(input) != type_of(output) || !may_be_same(dims_of(input), dims_of(output)))
      graph::fail_mismatch(
          where + "a state is set to its output, so both have one type and shape; found input " +
          type_text(input) + " and output " + type_text(output));
  }
}

std::shared_ptr<const std::vector<uint8_t>> initial_bytes(const StatePair& pair,
                                                          const graph::Value& value) {
  int64_t elements = 1;
  for (const graph::Dim& dim : value.dims) {
    if (!dim.value())
      graph::fail_mismatch("--state-init '" + pair.input + "': its dims " + dims_text(value.dims) +
                           " are open; fix them with --dim " + dim.text() + "=NUMBER");
    if (!checked_mul(elements, *dim.value(), &elements))
      graph::fail_mismatch("--state-init '" + pair.input + "': its dims " + dims_text(value.dims) +
                           " are beyond 64 bits");
  }
  host::charge_memory(uint64_t(elements) * sizeof(double));
  auto bytes = std::make_shared<std::vector<uint8_t>>();
  const auto fill = [&](auto one) {
    if (double(one) != pair.init && std::is_integral_v<decltype(one)>)
      graph::fail_mismatch("--state-init '" + pair.input + "': " + std::to_string(pair.init) +
                           " is no " + dtype_name(value.dtype));
    bytes->resize(size_t(elements) * sizeof one);
    for (int64_t i = 0; i < elements; i++)
      std::memcpy(bytes->data() + size_t(i) * sizeof one, &one, sizeof one);
  };
  switch (value.dtype) {
    case DType::kF32: fill(float(pair.init)); break;
    case DType::kF64: fill(double(pair.init)); break;
    case DType::kI32: fill(int32_t(std::clamp(pair.init, -2147483648.0, 2147483647.0))); break;
    case DType::kI64: fill(int64_t(std::clamp(pair.init, -9e18, 9e18))); break;
    case DType::kU8: fill(uint8_t(std::clamp(pair.init, 0.0, 255.0))); break;
    case DType::kI8: fill(int8_t(std::clamp(pair.init, -128.0, 127.0))); break;
    case DType::kI16: fill(int16_t(std::clamp(pair.init, -32768.0, 32767.0))); break;
    default:
      graph::fail_mismatch("--state-init '" + pair.input +
                           "': f32, f64, i64, i32, i16, i8 and u8 states take a number, found " +
                           dtype_name(value.dtype));
  }
  return bytes;
}

bool are_named_as_state(const std::string& input, const std::string& output) {
  // Only one of the two names has to say before or after: "state" and "stateN", "h_in" and "h".
  const std::string before = stem(input, true), after = stem(output, false);
  const bool alike = before == after || input == after || before == output;
  return alike && input != output;
}

std::vector<std::string> hint_states(const graph::Model& model, const ConvertOptions& options) {
  std::vector<std::string> hints;
  for (const graph::ValueId in : model.graph.inputs) {
    const graph::Value& input = model.values[size_t(in)];
    if (input.constant || state_of_input(options, input.name) || !input.shape_known ||
        input.dims.empty())
      continue;
    for (const graph::ValueId out : model.graph.outputs) {
      const graph::Value& output = model.values[size_t(out)];
      if (output.constant || out == in || output.dtype != input.dtype ||
          !may_be_same(input.dims, output.dims))
        continue;
      if (!are_named_as_state(input.name, output.name)) continue;
      hints.push_back("input '" + input.name + "' and output '" + output.name +
                      "' look like state; --state " + input.name + "=" + output.name +
                      " would keep it in the arena");
      break;
    }
  }
  return hints;
}

}  // namespace ingot::convert
