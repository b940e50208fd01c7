// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/steps/stream.cpp - see stream.h.
#include "tools/diagnose/steps/stream.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tools/files/suggest.h"
#include "tools/session/feed.h"

namespace ingot::cli {

using check::Golden;
using host::Array;
using host::Exit;
using host::fail;

namespace {

/// An argument of a program that is no tensor got its value when the file was converted. False: it
/// is none. Another value in the golden is refused.
bool is_fixed_argument(const Engine& engine, const Golden& golden, const Array& array) {
  char fixed_text[64] = {};
  uint64_t length = 0;
  const std::string key = "ingot.argument." + array.name;
  if (ingot_model_metadata(engine.model().get(), key.c_str(), fixed_text, sizeof fixed_text - 1,
                           &length, nullptr) != INGOT_OK)
    return false;
  const std::string fixed = fixed_text;
  const double cast_for = fixed == "True" ? 1 : std::strtod(fixed.c_str(), nullptr);
  if (array.elements() != 1) return false;
  double given = 0;
  if (array.dtype == DType::kI64) {
    int64_t value;
    memcpy(&value, array.bytes.data(), sizeof value);
    given = double(value);
  } else if (array.dtype == DType::kF64) {
    memcpy(&given, array.bytes.data(), sizeof given);
  } else if (array.dtype == DType::kBool) {
    given = array.bytes[0];
  } else {
    return false;
  }
  if (given != cast_for)
    fail(Exit::kMismatch, golden.path + ": " + engine.path() + " was converted for " + array.name +
                              "=" + fixed + ", the golden has " + std::to_string(given) +
                              "; convert it with --argument");
  return true;
}

void refuse_stranger(const Engine& engine, const Golden& golden, const std::string& name) {
  std::vector<std::string> known = engine.input_names();
  for (uint32_t i = 0; i < engine.summary().state_count; i++)
    known.push_back(engine.state(i).type.name);
  fail(Exit::kMismatch, golden.path + ": " + engine.path() + " has no input '" + name + "'" +
                            host::did_you_mean(name, known));
}

}  // namespace

Stream::Stream(Engine* engine, const Golden& golden)
    : engine_(engine), golden_(golden), tensors_(*engine) {
  const std::vector<std::string> names = engine->input_names();
  for (uint32_t i = 0; i < engine->summary().state_count; i++) {
    const ingot_state state = engine->state(i);
    states_.push_back(
        {state.type.name, state.output_name, find_array(golden.inputs, state.type.name)});
  }
  for (const Array& array : golden.inputs) {
    const bool is_state = std::any_of(states_.begin(), states_.end(),
                                      [&](const KeptState& s) { return s.name == array.name; });
    if (!is_state && !std::count(names.begin(), names.end(), array.name) &&
        !is_fixed_argument(*engine, golden, array))
      refuse_stranger(*engine, golden, array.name);
  }
  for (uint32_t i = 0; i < names.size(); i++) plans_.push_back(plan_input(i, names[i]));
}

Stream::InputPlan Stream::plan_input(uint32_t index, const std::string& name) const {
  const std::vector<std::string> outputs = engine_->output_names();
  InputPlan plan;
  plan.array = find_array(golden_.inputs, name);
  if (!plan.array) {
    std::vector<std::string> given;
    for (const Array& array : golden_.inputs) given.push_back(array.name);
    fail(Exit::kMismatch,
         golden_.path + ": has no array 'in:" + name + "'" + host::did_you_mean(name, given));
  }
  const size_t rank = size_t(engine_->input(index).rank);
  const bool leads = !plan.array->dims.empty() && plan.array->dims[0] == golden_.steps &&
                     plan.array->dims.size() == rank + 1;
  plan.stepped = golden_.steps > 0 && !golden_.is_fed_input(name) && leads;
  for (const auto& [output, input] : golden_.feed) {
    if (input != name) continue;
    const auto at = std::find(outputs.begin(), outputs.end(), output);
    if (at == outputs.end()) {
      fail(Exit::kMismatch, golden_.path + ": meta.feed names output '" + output + "'" +
                                host::did_you_mean(output, outputs));
    }
    plan.fed_by = size_t(at - outputs.begin());
  }
  return plan;
}

void Stream::bind_shapes() {
  for (uint32_t i = 0; i < plans_.size(); i++) {
    std::vector<int64_t> dims = plans_[i].array->dims;
    if (plans_[i].stepped) dims.erase(dims.begin());
    engine_->bind_from_shape(i, dims, input_place(golden_.path, engine_->input(i).name));
  }
  for (uint32_t i = 0; i < states_.size(); i++)
    if (states_[i].first)
      engine_->bind_from_type(engine_->state(i).type, states_[i].first->dims,
                              golden_.path + ": state '" + states_[i].name + "'");
}

void Stream::set_inputs(int64_t step, const std::vector<Array>& last) {
  for (uint32_t i = 0; i < plans_.size(); i++) {
    const InputPlan& plan = plans_[i];
    const std::string where = input_place(golden_.path, engine_->input(i).name);
    if (step > 0 && plan.fed_by != kNone)
      engine_->set_input(i, last[plan.fed_by], where + " (fed back)");
    else if (plan.stepped)
      engine_->set_input(i, check::slice_step(*plan.array, step), where);
    else
      engine_->set_input(i, *plan.array, where);
  }
}

void Stream::gather_intermediates(int64_t step, Gathered* gathered,
                                  std::vector<std::string>* notes) {
  for (size_t m = 0; m < golden_.intermediates.size(); m++) {
    Array value;
    std::string why;
    if (!tensors_.take(engine_, golden_.intermediates[m].name, &value, &why)) {
      if (step == 0)
        notes->push_back("mid:" + golden_.intermediates[m].name + " was not compared: " + why);
    } else if (golden_.steps > 0) {
      check::append_step(&gathered->intermediates[m], value);
    } else {
      gathered->intermediates[m] = value;
    }
  }
}

Gathered Stream::run(std::vector<std::string>* notes, bool set_states) {
  const uint32_t outputs = engine_->summary().output_count;
  Gathered gathered;
  gathered.outputs.resize(outputs + states_.size());
  gathered.intermediates.resize(golden_.intermediates.size());
  std::vector<Array> last(gathered.outputs.size());
  for (uint32_t i = 0; i < states_.size(); i++)
    if (states_[i].first && set_states)
      engine_->set_state(i, *states_[i].first, golden_.path + ": state '" + states_[i].name + "'");
  const int64_t steps = std::max<int64_t>(golden_.steps, 1);
  for (int64_t step = 0; step < steps; step++) {
    set_inputs(step, last);
    engine_->run();
    for (uint32_t o = 0; o < last.size(); o++) {
      const bool is_state = o >= outputs;
      if (is_state) {
        const KeptState& state = states_[o - outputs];
        last[o] = copy_out(engine_->state_tensor(o - outputs),
                           state.output.empty() ? state.name : state.output);
      } else {
        last[o] = engine_->take_output(o);
      }
      const bool stacked = golden_.steps > 0 && golden_.fed_input(last[o].name).empty();
      if (stacked && !is_state)
        check::append_step(&gathered.outputs[o], last[o]);
      else
        gathered.outputs[o] = last[o];
    }
    gather_intermediates(step, &gathered, notes);
  }
  return gathered;
}

}  // namespace ingot::cli
