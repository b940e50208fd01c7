// ingot verify - is this file whole, sound, and does it give the answers that it promises?
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/check/compare.h"
#include "tools/cli/session_options.h"
#include "tools/cli/terminal.h"
#include "tools/files/output_file.h"

namespace ingot::cli {
namespace {

using host::Array;
using host::Exit;
using Json = nlohmann::ordered_json;

struct Arguments {
  std::string file;
  bool json = false;
  SessionArguments session;
};

struct Check {
  std::string name, detail;
};

Array view_as_array(const char* name, const ingot_tensor& tensor) { return copy_out(tensor, name); }

struct CloseGolden {
  void operator()(ingot_golden* golden) const { ingot_golden_close(golden); }
};
using Golden = std::unique_ptr<ingot_golden, CloseGolden>;

Golden open_golden(const Engine& engine) {
  if (engine.summary().golden_bytes == 0) return nullptr;
  ingot_golden* golden = nullptr;
  Error error;
  if (ingot_golden_open(engine.model().get(), &golden, &error) != INGOT_OK)
    fail_with(engine.path() + ": embedded golden", error);
  return Golden(golden);
}

/// Binds every open dimension: --dim, the golden's shapes, then the lower bound. Says which were taken from the bound.
std::string bind_all(Engine* engine, const Golden& golden, const std::map<std::string, int64_t>& dims) {
  engine->bind_dims(dims);
  if (golden && ingot_golden_case_count(golden.get()) > 0) {
    ingot_golden_case first{};
    ingot_golden_case_at(golden.get(), 0, &first);
    for (uint32_t i = 0; i < first.input_count; i++) {
      const char* name = nullptr;
      ingot_tensor tensor{};
      ingot_golden_input(golden.get(), 0, i, &name, &tensor);
      const int32_t at = ingot_model_find_input(engine->model().get(), name);
      if (at < 0)
        host::fail(Exit::kMismatch,
                   engine->path() + ": embedded golden: the model has no input '" + std::string(name) + "'");
      engine->bind_from_shape(uint32_t(at), {tensor.dims, tensor.dims + tensor.rank},
                              engine->path() + ": embedded golden");
    }
  }
  std::string assumed;
  std::map<std::string, int64_t> least;
  for (uint32_t s = 0; s < engine->summary().symbol_count; s++) {
    ingot_symbol symbol{};
    ingot_model_symbol(engine->model().get(), s, &symbol);
    if (engine->bindings().count(symbol.name)) continue;
    least[symbol.name] = symbol.low;
    assumed += (assumed.empty() ? "" : ", ") + std::string(symbol.name) + " = " + std::to_string(symbol.low);
  }
  engine->bind_dims(least);
  return assumed;
}

/// Runs every embedded case. Steps are not part of it: each case is one run from the initial state.
Check run_golden(Engine* engine, const Golden& golden) {
  const uint32_t cases = ingot_golden_case_count(golden.get());
  double worst = 0;
  uint32_t outputs = 0;
  for (uint32_t c = 0; c < cases; c++) {
    const std::string where = engine->path() + ": embedded golden, case " + std::to_string(c);
    ingot_golden_case shape{};
    ingot_golden_case_at(golden.get(), c, &shape);
    (void)engine->session().reset_state();
    for (uint32_t i = 0; i < shape.input_count; i++) {
      const char* name = nullptr;
      ingot_tensor tensor{};
      ingot_golden_input(golden.get(), c, i, &name, &tensor);
      const int32_t at = ingot_model_find_input(engine->model().get(), name);
      if (at < 0) host::fail(Exit::kMismatch, where + ": the model has no input '" + std::string(name) + "'");
      engine->set_input(uint32_t(at), view_as_array(name, tensor), where + ", input '" + name + "'");
    }
    engine->run();
    for (uint32_t o = 0; o < shape.output_count; o++) {
      const char* name = nullptr;
      ingot_tensor tensor{};
      ingot_golden_output(golden.get(), c, o, &name, &tensor);
      const int32_t at = ingot_model_find_output(engine->model().get(), name);
      if (at < 0) host::fail(Exit::kMismatch, where + ": the model has no output '" + std::string(name) + "'");
      check::CompareOptions options;
      options.rtol = shape.rtol;
      options.atol = shape.atol;
      const Array expected = view_as_array(name, tensor);
      const check::Comparison compared = check::compare(name, expected, engine->take_output(uint32_t(at)), options);
      if (!compared.passed) host::fail(Exit::kCheckFailed, where + ": " + summary(compared, expected.dims));
      worst = std::max(worst, compared.largest_error);
      outputs++;
    }
  }
  return {"golden", std::to_string(cases) + (cases == 1 ? " case, " : " cases, ") + std::to_string(outputs) +
                        " outputs, largest error " + number(worst, 3)};
}

void verify(const Arguments& a, std::vector<Check>* done) {
  SessionSettings settings = a.session.session_settings();
  if (a.session.threads == "0") settings.threads = 1;
  const auto dims = a.session.bindings();
  Engine engine(a.file);
  const ingot_model_summary& s = engine.summary();
  done->push_back({"structure", "format " + std::to_string(s.format_major) + "." + std::to_string(s.format_minor) +
                                    ", " + grouped(s.file_bytes) + " bytes, program of " + grouped(s.program_bytes)});
  done->push_back({"meaning", std::to_string(s.instruction_count) + " instructions, " + std::to_string(s.value_count) +
                                  " values, every type, shape and index"});
  Error error;
  if (ingot_model_verify_hashes(engine.model().get(), &error) != INGOT_OK) fail_with(a.file, error);
  done->push_back(
      {"hashes", "SHA-256 of every part, zeros between them, weights of " + grouped(s.weights_bytes) + " bytes"});
  const Golden golden = open_golden(engine);
  const std::string assumed = bind_all(&engine, golden, dims);
  engine.create_session(settings);
  const ingot_requirements need = engine.requirements();
  done->push_back({"plan", "no live buffers overlap in " + grouped(need.activations) + " bytes" +
                               (assumed.empty() ? "" : ", with " + assumed + " (say others with --dim)")});
  if (golden) done->push_back(run_golden(&engine, golden));
}

int verify_and_report(const Arguments& a) {
  std::vector<Check> done;
  std::unique_ptr<host::Failure> failed;
  try {
    verify(a, &done);
  } catch (const host::Failure& failure) {
    failed = std::make_unique<host::Failure>(failure);
  }
  const bool golden = !done.empty() && done.back().name == "golden";
  if (a.json) {
    Json checks = Json::array();
    for (const Check& check : done)
      checks.push_back({{"name", check.name}, {"passed", true}, {"detail", check.detail}});
    Json report = {{"file", a.file},
                   {"passed", !failed},
                   {"exit", failed ? int(failed->exit()) : 0},
                   {"golden", golden},
                   {"checks", checks}};
    if (failed) report["problem"] = failed->message();
    printf("%s\n", report.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  } else {
    Table table({"", "", ""});
    for (const Check& check : done) table.row({"ok", check.name, check.detail});
    if (!failed && !golden)
      table.row({"--", "golden", "the file carries none: answers were not compared (ingot check compares)"});
    fputs(table.text("").c_str(), stdout);
  }
  if (failed) throw *failed;
  return 0;
}

}  // namespace

void add_verify(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<Arguments>();
  CLI::App* command =
      add_command(app, chosen, "verify", "Prove a file: structure, meaning, hashes, plan, embedded golden",
                  "  ingot verify model.ingot\n"
                  "  ingot verify model.ingot --json\n"
                  "  ingot verify ocr.ingot --dim W=320",
                  [a] { return verify_and_report(*a); });
  command->add_option("FILE", a->file, "the .ingot file")->required()->type_name("");
  command->add_flag("--json", a->json, "print a report for scripts");
  a->session.declare(command, false);
}

}  // namespace ingot::cli
