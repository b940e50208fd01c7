// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/steps/golden_steps.h"

#include <algorithm>

#include "tools/files/suggest.h"

namespace ingot::cli {

using host::Array;
using host::Exit;
using host::fail;

GoldenSteps::GoldenSteps(const Engine& engine, const check::Golden& golden) : golden_(golden) {
  const std::vector<std::string> names = engine.input_names(), outputs = engine.output_names();
  std::vector<std::string> given;
  for (const Array& array : golden.inputs) {
    given.push_back(array.name);
    const int32_t value = ingot_model_find_value(engine.model().get(), array.name.c_str());
    ingot_value_type type{};
    const bool is_state =
        value >= 0 && ingot_model_value(engine.model().get(), uint32_t(value), &type) == INGOT_OK &&
        type.kind == 4;
    if (!is_state && !std::count(names.begin(), names.end(), array.name))
      fail(Exit::kMismatch, golden.path + ": " + engine.path() + " has no input '" + array.name +
                                "'" + host::did_you_mean(array.name, names));
  }
  for (uint32_t i = 0; i < names.size(); i++) {
    const Array* array = find_array(golden.inputs, names[i]);
    if (!array)
      fail(Exit::kMismatch, golden.path + ": has no array 'in:" + names[i] + "'" +
                                host::did_you_mean(names[i], given));
    arrays_.push_back(array);
    stepped_.push_back(!golden.is_fed_input(names[i]) &&
                       leads_with_steps(*array, size_t(engine.input(i).rank)));
    size_t by = ~size_t{0};
    for (const auto& [output, input] : golden.feed)
      if (input == names[i])
        by = size_t(std::find(outputs.begin(), outputs.end(), output) - outputs.begin());
    fed_by_.push_back(by < outputs.size() ? by : ~size_t{0});
  }
}

bool GoldenSteps::leads_with_steps(const Array& array, size_t rank) const {
  return golden_.steps > 0 && array.dims.size() == rank + 1 && array.dims[0] == golden_.steps;
}

std::vector<Array> GoldenSteps::inputs(int64_t step, const std::vector<Array>& last) const {
  std::vector<Array> all;
  for (size_t i = 0; i < arrays_.size(); i++) {
    if (step > 0 && fed_by_[i] < last.size())
      all.push_back(last[fed_by_[i]]);
    else
      all.push_back(stepped_[i] ? check::slice_step(*arrays_[i], step) : *arrays_[i]);
    all.back().name = arrays_[i]->name;
  }
  return all;
}

std::vector<Array> GoldenSteps::outputs(int64_t step) const {
  std::vector<Array> all;
  for (const Array& array : golden_.outputs) {
    const bool is_state = !golden_.fed_input(array.name).empty();
    if (golden_.steps == 0)
      all.push_back(array);
    else if (!is_state && !array.dims.empty() && array.dims[0] == golden_.steps)
      all.push_back(check::slice_step(array, step));
    else if (is_state && step + 1 == golden_.steps)
      all.push_back(array);
  }
  return all;
}

std::vector<Array> GoldenSteps::intermediates(int64_t step) const {
  std::vector<Array> all;
  for (const Array& array : golden_.intermediates) {
    const bool stepped = golden_.steps > 0 && !array.dims.empty() && array.dims[0] == golden_.steps;
    all.push_back(stepped ? check::slice_step(array, step) : array);
    all.back().name = array.name;
  }
  return all;
}

}  // namespace ingot::cli
