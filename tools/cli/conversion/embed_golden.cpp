// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/conversion/embed_golden.h"

#include <algorithm>
#include <map>

#include "runtime/device/gpu/kernel_set.h"
#include "tools/cli/output/terminal.h"
#include "tools/diagnose/golden/golden.h"
#include "tools/diagnose/golden/tolerance.h"

namespace ingot::cli {
namespace {

convert::GoldenTensorSpec tensor_of(const host::Array& array) {
  return {array.name, array.dtype, array.dims, array.bytes};
}

}  // namespace

std::vector<convert::GoldenCaseSpec> golden_to_embed(const std::string& path,
                                                     const convert::ProgramSpec& program,
                                                     std::optional<double> rtol,
                                                     std::optional<double> atol) {
  std::map<std::string, size_t> ranks;
  std::vector<std::string> input_names, output_names;
  for (const convert::PortSpec& port : program.inputs) {
    input_names.push_back(port.name);
    ranks[port.name] = program.values[size_t(port.value)].dims.size();
  }
  for (const convert::PortSpec& port : program.outputs) {
    output_names.push_back(port.name);
    ranks[port.name] = program.values[size_t(port.value)].dims.size();
  }
  const check::Golden golden = check::read_golden(path, input_names, output_names);
  convert::GoldenCaseSpec one;
  // A per-step array has a leading axis of steps that the port lacks; fed-back state holds one
  // value.
  const auto first_step = [&](const host::Array& array, bool fed) {
    const auto rank = ranks.find(array.name);
    const bool stepped = golden.steps > 0 && !fed && rank != ranks.end() &&
                         array.dims.size() == rank->second + 1 && array.dims[0] == golden.steps;
    return stepped ? check::slice_step(array, 0) : array;
  };
  double tolerance = 0;
  DType stored = DType::kInvalid;
  for (const convert::ValueSpec& value : program.values)
    if (value.stored != DType::kInvalid) stored = value.stored;
  // what a device may round to
  if (program.precision)
    stored = check::narrower(stored, GpuPrecision(program.precision) == GpuPrecision::kBf16
                                         ? DType::kBF16
                                         : DType::kF16);
  const auto find_state = [&](const std::string& name, bool is_input) {
    return std::find_if(program.states.begin(), program.states.end(),
                        [&](const convert::StateSpec& state) {
                          return (is_input ? state.name : state.output_name) == name;
                        });
  };
  for (const host::Array& array : golden.inputs) {
    const auto state = find_state(array.name, true);
    if (state == program.states.end()) continue;
    const std::vector<uint8_t> zeros(array.bytes.size());
    const auto& init = state->init < 0 ? nullptr : program.values[size_t(state->init)].bytes.held;
    if (array.bytes != (init ? *init : zeros)) {
      note("nothing of " + path + " is put into the file: its state '" + array.name +
           "' does not start as that of a fresh session");
      return {};
    }
  }
  for (const host::Array& array : golden.inputs)
    if (find_state(array.name, true) == program.states.end())
      one.inputs.push_back(tensor_of(first_step(array, golden.is_fed_input(array.name))));
  for (const host::Array& array : golden.outputs) {
    if (find_state(array.name, false) != program.states.end()) continue;
    const bool fed = golden.steps > 1 && !golden.fed_input(array.name).empty();
    if (fed || golden.subsample.count(array.name)) {
      note("output '" + array.name + "' of " + path + " is not put into the file: " +
           (fed ? "only its value after the last step is known" : "it is stored thinned out"));
      continue;
    }
    one.outputs.push_back(tensor_of(first_step(array, fed)));
    tolerance = std::max(tolerance, check::tolerance_of(array.dtype, true, stored).relative);
  }
  if (one.outputs.empty()) return {};
  const bool is_given = rtol || atol;
  one.rtol = is_given ? rtol.value_or(0) : tolerance;
  one.atol = is_given ? atol.value_or(0) : 2 * golden.spread;
  return {one};
}

}  // namespace ingot::cli
