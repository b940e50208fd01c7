// SPDX-License-Identifier: Apache-2.0
// ingot check - outputs against a golden's.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli/conversion/conversion.h"
#include "tools/cli/options/convert_options.h"
#include "tools/cli/options/session_options.h"
#include "tools/cli/output/json_text.h"
#include "tools/cli/output/terminal.h"
#include "tools/diagnose/steps/check_golden.h"
#include "tools/session/arguments.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CheckArguments {
  std::string file, golden, rtol, atol;
  ConvertArguments conversion;
  bool json = false;
  SessionArguments session;
};

Json to_json(const CheckedValue& value) {
  const check::Comparison& c = value.comparison;
  Json out = {{"name", c.name},
              {"passed", c.passed},
              {"largest_error", finite_or_text(c.largest_error)},
              {"largest_expected", finite_or_text(c.largest_expected)},
              {"allowed", finite_or_text(c.allowed)},
              {"elements", c.elements},
              {"differing", c.differing},
              {"worst_index", c.worst_index}};
  if (!c.problem.empty()) out["problem"] = c.problem;
  return out;
}

int check_file(const CheckArguments& a) {
  CheckSettings settings;
  settings.session = a.session.session_settings();
  settings.dims = a.session.bindings();
  settings.rtol = parse_tolerance("--rtol", a.rtol);
  settings.atol = parse_tolerance("--atol", a.atol);
  const OpenSettings open = a.session.open_settings();
  convert::ConvertOptions options;
  for (const host::Array& input : check::read_golden(a.golden, {}, {}, false).inputs)
    options.expected_inputs[input.name] = input.dims;
  options.exact_to = a.conversion.exact_to, options.signature = a.conversion.signature;
  const ConvertedFile file(a.file, options);
  if ((!options.exact_to.empty() || !options.signature.empty()) && !file.was_converted())
    host::fail(host::Exit::kUsage,
               a.file +
                   ": --exact-to and --signature are for a source; the file was converted "
                   "with its own");
  Engine engine(file.path(), open);
  const check::Golden golden =
      check::read_golden(a.golden, engine.input_names(), engine.output_names());
  const CheckResult result = check_golden(&engine, golden, settings);
  const ingot_placement placement = engine.placement();
  if (a.json) {
    Json values = Json::array();
    for (const CheckedValue& v : result.values) values.push_back(to_json(v));
    const Json report = {
        {"file", a.file},          {"golden", a.golden},           {"passed", result.passed()},
        {"isa", placement.isa},    {"threads", placement.threads}, {"steps", golden.steps},
        {"spread", golden.spread}, {"winograd", result.winograd},  {"outputs", values},
        {"notes", result.notes}};
    printf("%s\n", json_text(report).c_str());
  } else {
    for (const CheckedValue& v : result.values) {
      printf("%s %s\n", v.comparison.passed ? "ok  " : "FAIL",
             summary(v.comparison, v.dims).c_str());
    }
    for (const std::string& text : result.notes) note(text);
  }
  if (result.passed()) return 0;
  size_t failed = 0;
  for (const CheckedValue& v : result.values) failed += !v.comparison.passed;
  host::fail(host::Exit::kCheckFailed, a.file + ": " + std::to_string(failed) + " of " +
                                           std::to_string(result.values.size()) +
                                           " outputs differ from " + a.golden +
                                           " by more than the tolerance");
}

}  // namespace

void add_check(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<CheckArguments>();
  CLI::App* command =
      add_command(app, chosen, "check", "Compare a model's outputs with a golden's",
                  "  ingot check model.ingot --golden golden.npz\n"
                  "  ingot check model.onnx --golden golden.npz --json\n"
                  "  INGOT_CPU_ISA=scalar ingot check model.ingot --golden golden.npz --rtol 1e-5",
                  [a] { return check_file(*a); });
  takes_plugins(command);
  reads_file(
      command
          ->add_option("FILE_OR_SOURCE", a->file,
                       "the .ingot file, or a source, which is converted to a temporary file first")
          ->required()
          ->type_name(""));
  reads_file(command
                 ->add_option("--golden", a->golden,
                              ".npz with arrays in:NAME and out:NAME, optionally meta and mid:NAME")
                 ->required()
                 ->type_name("FILE.npz"));
  command->add_option("--rtol", a->rtol, "allow R * max|expected| instead of the tolerance table")
      ->type_name("R");
  command->add_option("--atol", a->atol, "allow A instead of the tolerance table (added to --rtol)")
      ->type_name("A");
  declare_convert_options(command, &a->conversion, {"--exact-to", "--signature"},
                          "Conversion of a source");
  command->add_flag("--json", a->json, "print a report for scripts");
  a->session.declare(command, true);
}

}  // namespace ingot::cli
