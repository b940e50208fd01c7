// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/steps/check_golden.h"

#include <algorithm>
#include <cstring>

#include "tools/diagnose/steps/operand_type.h"
#include "tools/diagnose/steps/stream.h"
#include "tools/files/suggest.h"

namespace ingot::cli {

using check::Golden;
using host::Array;
using host::Exit;
using host::fail;

namespace {

bool uses_winograd(Engine* engine) {
  for (uint32_t i = 0; i < engine->summary().instruction_count; i++) {
    ingot_instruction instruction{};
    if (ingot_session_instruction(engine->session().get(), i, &instruction) == INGOT_OK &&
        instruction.kernel && strstr(instruction.kernel, "winograd")) {
      return true;
    }
  }
  return false;
}

/// Values inside that the source has as int8 are kept as uint8, 128 higher: as the golden has them.
Array as_source_has_it(Array value, const Array& expected) {
  if (value.dtype != DType::kU8 || expected.dtype != DType::kI8) return value;
  for (uint8_t& byte : value.bytes) byte ^= 0x80;
  value.dtype = DType::kI8;
  return value;
}

/// A source of that kind calls its only output "output".
bool names_no_outputs(const Engine& engine) {
  char format[16] = {};
  uint64_t length = 0;
  return ingot_model_metadata(engine.model().get(), "source_format", format, sizeof format - 1,
                              &length, nullptr) == INGOT_OK &&
         strcmp(format, "torchscript") == 0;
}

}  // namespace

bool CheckResult::passed() const {
  return !values.empty() && std::all_of(values.begin(), values.end(),
                                        [](const CheckedValue& v) { return v.comparison.passed; });
}

CheckResult check_golden(Engine* engine, const Golden& golden, const CheckSettings& settings) {
  Stream stream(engine, golden);
  engine->bind_dims(settings.dims);
  stream.bind_shapes();
  SessionSettings session = settings.session;
  if (!golden.intermediates.empty()) session.flags |= INGOT_KEEP_VALUES;
  engine->create_session(session);

  CheckResult result;
  result.winograd = uses_winograd(engine);
  const Gathered gathered = stream.run(&result.notes);
  check::CompareOptions options;
  options.spread = golden.spread;
  options.winograd = result.winograd;
  options.stored = operand_type(engine);
  options.rtol = settings.rtol;
  options.atol = settings.atol;
  std::vector<std::string> names;
  for (const Array& output : gathered.outputs) names.push_back(output.name);
  for (const Array& expected : golden.outputs) {
    auto at = std::find(names.begin(), names.end(), expected.name);
    if (at == names.end() && golden.outputs.size() == 1 && names_no_outputs(*engine))
      at = std::find(names.begin(), names.end(), "output");
    if (at == names.end()) {
      fail(Exit::kMismatch, golden.path + ": " + engine->path() + " has no output '" +
                                expected.name + "'" + host::did_you_mean(expected.name, names));
    }
    Array actual = gathered.outputs[size_t(at - names.begin())];
    const auto strides = golden.subsample.find(expected.name);
    if (strides != golden.subsample.end()) actual = check::subsample(actual, strides->second);
    result.values.push_back(
        {check::compare(expected.name, expected, actual, options), expected.dims, false});
  }
  for (size_t m = 0; m < golden.intermediates.size(); m++) {
    const Array& expected = golden.intermediates[m];
    if (gathered.intermediates[m].dtype == DType::kInvalid) continue;
    if (gathered.intermediates[m].dims != expected.dims) {
      result.notes.push_back(
          "mid:" + expected.name + " was not compared: the file lays it out as " +
          describe(gathered.intermediates[m]) + ", the golden has " + describe(expected));
      continue;
    }
    result.values.push_back(
        {check::compare("mid:" + expected.name, expected,
                        as_source_has_it(gathered.intermediates[m], expected), options),
         expected.dims, true});
  }
  const auto is_empty = [](const CheckedValue& v) {
    return v.comparison.problem.empty() && v.comparison.elements == 0;
  };
  if (std::all_of(result.values.begin(), result.values.end(), is_empty))
    fail(Exit::kCheckFailed,
         golden.path +
             ": no output in it has an element, so nothing was compared; give inputs for "
             "which the outputs are not empty");
  for (const std::string& name : names) {
    if (!find_array(golden.outputs, name))
      result.notes.push_back("output '" + name + "' was not compared: the golden lacks it");
  }
  return result;
}

}  // namespace ingot::cli
