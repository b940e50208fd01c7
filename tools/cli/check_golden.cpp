#include "tools/cli/check_golden.h"

#include <algorithm>
#include <cstring>

#include "tools/cli/feed.h"
#include "tools/files/suggest.h"

namespace ingot::cli {

using check::Golden;
using host::Array;
using host::Exit;
using host::fail;

namespace {

constexpr size_t kNone = ~size_t{0};

/// How each input of the model gets its value at a step.
struct InputPlan {
  const Array* array = nullptr;
  bool stepped = false;   // one slice a step
  size_t fed_by = kNone;  // output whose last value it is, from the second step on
};

std::vector<InputPlan> plan_inputs(const Engine& engine, const Golden& golden) {
  const std::vector<std::string> names = engine.input_names(), outputs = engine.output_names();
  std::vector<std::string> given;
  for (const Array& array : golden.inputs) {
    given.push_back(array.name);
    if (!std::count(names.begin(), names.end(), array.name)) {
      fail(Exit::kMismatch, golden.path + ": " + engine.path() + " has no input '" + array.name + "'" +
                                host::did_you_mean(array.name, names));
    }
  }
  std::vector<InputPlan> plans;
  for (uint32_t i = 0; i < names.size(); i++) {
    InputPlan plan;
    plan.array = find_array(golden.inputs, names[i]);
    if (!plan.array) {
      fail(Exit::kMismatch, golden.path + ": has no array 'in:" + names[i] + "'" + host::did_you_mean(names[i], given));
    }
    const size_t rank = size_t(engine.input(i).rank);
    const bool leads =
        !plan.array->dims.empty() && plan.array->dims[0] == golden.steps && plan.array->dims.size() == rank + 1;
    plan.stepped = golden.steps > 0 && !golden.is_fed_input(names[i]) && leads;
    for (const auto& [output, input] : golden.feed) {
      if (input != names[i]) continue;
      const auto at = std::find(outputs.begin(), outputs.end(), output);
      if (at == outputs.end()) {
        fail(Exit::kMismatch,
             golden.path + ": meta.feed names output '" + output + "'" + host::did_you_mean(output, outputs));
      }
      plan.fed_by = size_t(at - outputs.begin());
    }
    plans.push_back(plan);
  }
  return plans;
}

bool uses_winograd(Engine* engine) {
  for (uint32_t i = 0; i < engine->summary().instruction_count; i++) {
    ingot_instruction instruction{};
    if (ingot_session_instruction(engine->session().get(), i, &instruction) == INGOT_OK && instruction.kernel &&
        strstr(instruction.kernel, "winograd")) {
      return true;
    }
  }
  return false;
}

/// The value in the arena behind a golden's mid: array, or a note why there is none.
bool take_intermediate(Engine* engine, const Array& expected, Array* out, std::string* why) {
  const int32_t index = ingot_model_find_value(engine->model().get(), expected.name.c_str());
  if (index < 0) {
    *why = "no value of that name is left in the file (fused or folded)";
    return false;
  }
  ingot_tensor tensor{};
  Error error;
  if (ingot_session_value(engine->session().get(), uint32_t(index), &tensor, &error) != INGOT_OK) {
    *why = error.text();
    return false;
  }
  *out = copy_out(tensor, expected.name);
  return true;
}

struct Gathered {
  std::vector<Array> outputs;        // by output, steps stacked where they are
  std::vector<Array> intermediates;  // by golden.intermediates; without dtype where missing
};

Gathered run_steps(Engine* engine, const Golden& golden, const std::vector<InputPlan>& plans,
                   std::vector<std::string>* notes) {
  const uint32_t outputs = engine->summary().output_count;
  Gathered gathered;
  gathered.outputs.resize(outputs);
  gathered.intermediates.resize(golden.intermediates.size());
  std::vector<Array> last(outputs);
  const int64_t steps = std::max<int64_t>(golden.steps, 1);
  for (int64_t step = 0; step < steps; step++) {
    for (uint32_t i = 0; i < plans.size(); i++) {
      const InputPlan& plan = plans[i];
      const std::string where = input_place(golden.path, engine->input(i).name);
      if (step > 0 && plan.fed_by != kNone)
        engine->set_input(i, last[plan.fed_by], where + " (fed back)");
      else if (plan.stepped)
        engine->set_input(i, check::slice_step(*plan.array, step), where);
      else
        engine->set_input(i, *plan.array, where);
    }
    engine->run();
    for (uint32_t o = 0; o < outputs; o++) {
      last[o] = engine->take_output(o);
      const bool stacked = golden.steps > 0 && golden.fed_input(last[o].name).empty();
      if (stacked)
        check::append_step(&gathered.outputs[o], last[o]);
      else
        gathered.outputs[o] = last[o];
    }
    for (size_t m = 0; m < golden.intermediates.size(); m++) {
      Array value;
      std::string why;
      if (!take_intermediate(engine, golden.intermediates[m], &value, &why)) {
        if (step == 0) notes->push_back("mid:" + golden.intermediates[m].name + " was not compared: " + why);
      } else if (golden.steps > 0) {
        check::append_step(&gathered.intermediates[m], value);
      } else {
        gathered.intermediates[m] = value;
      }
    }
  }
  return gathered;
}

}  // namespace

bool CheckResult::passed() const {
  return !values.empty() &&
         std::all_of(values.begin(), values.end(), [](const CheckedValue& v) { return v.comparison.passed; });
}

CheckResult check_golden(Engine* engine, const Golden& golden, const CheckSettings& settings) {
  const std::vector<InputPlan> plans = plan_inputs(*engine, golden);
  engine->bind_dims(settings.dims);
  for (uint32_t i = 0; i < plans.size(); i++) {
    std::vector<int64_t> dims = plans[i].array->dims;
    if (plans[i].stepped) dims.erase(dims.begin());
    engine->bind_from_shape(i, dims, input_place(golden.path, engine->input(i).name));
  }
  SessionSettings session = settings.session;
  if (!golden.intermediates.empty()) session.flags |= INGOT_KEEP_VALUES;
  engine->create_session(session);

  CheckResult result;
  result.winograd = uses_winograd(engine);
  const Gathered gathered = run_steps(engine, golden, plans, &result.notes);
  check::CompareOptions options;
  options.spread = golden.spread;
  options.winograd = result.winograd;
  options.rtol = settings.rtol;
  options.atol = settings.atol;
  const std::vector<std::string> names = engine->output_names();
  for (const Array& expected : golden.outputs) {
    const auto at = std::find(names.begin(), names.end(), expected.name);
    if (at == names.end()) {
      fail(Exit::kMismatch, golden.path + ": " + engine->path() + " has no output '" + expected.name + "'" +
                                host::did_you_mean(expected.name, names));
    }
    Array actual = gathered.outputs[size_t(at - names.begin())];
    const auto strides = golden.subsample.find(expected.name);
    if (strides != golden.subsample.end()) actual = check::subsample(actual, strides->second);
    result.values.push_back({check::compare(expected.name, expected, actual, options), expected.dims, false});
  }
  for (size_t m = 0; m < golden.intermediates.size(); m++) {
    const Array& expected = golden.intermediates[m];
    if (gathered.intermediates[m].dtype == DType::kInvalid) continue;
    if (gathered.intermediates[m].dims != expected.dims) {
      result.notes.push_back("mid:" + expected.name + " was not compared: the file lays it out as " +
                             describe(gathered.intermediates[m]) + ", the golden has " + describe(expected));
      continue;
    }
    result.values.push_back(
        {check::compare("mid:" + expected.name, expected, gathered.intermediates[m], options), expected.dims, true});
  }
  for (const std::string& name : names) {
    if (!find_array(golden.outputs, name))
      result.notes.push_back("output '" + name + "' was not compared: the golden lacks it");
  }
  return result;
}

}  // namespace ingot::cli
