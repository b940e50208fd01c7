// SPDX-License-Identifier: Apache-2.0
// ingot verify - is this file whole, sound, and does it give the answers that it promises?
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli/options/session_options.h"
#include "tools/cli/output/json_text.h"
#include "tools/cli/output/terminal.h"
#include "tools/diagnose/golden/compare.h"
#include "tools/files/output_file.h"
#include "tools/session/run_deadline.h"

namespace ingot::cli {
namespace {

using host::Array;
using host::Exit;
using Json = nlohmann::ordered_json;

struct VerifyArguments {
  std::string file;
  bool json = false;
  std::string seconds = "300", bytes;
  SessionArguments session;
};

struct Check {
  std::string name, detail;
  bool made = true;
};

Array view_as_array(const char* name, const ingot_tensor& tensor) { return copy_out(tensor, name); }

struct CloseFileGolden {
  void operator()(ingot_golden* golden) const { ingot_golden_close(golden); }
};
using FileGolden = std::unique_ptr<ingot_golden, CloseFileGolden>;

FileGolden open_golden(const Engine& engine) {
  if (engine.summary().golden_bytes == 0) return nullptr;
  ingot_golden* golden = nullptr;
  Error error;
  if (ingot_golden_open(engine.model().get(), &golden, &error) != INGOT_OK)
    fail_with(engine.path() + ": embedded golden", error);
  return FileGolden(golden);
}

/// Binds the dimensions that --dim and the golden's shapes determine.
void bind_known(Engine* engine, const FileGolden& golden,
                const std::map<std::string, int64_t>& dims) {
  engine->bind_dims(dims);
  if (!golden || ingot_golden_case_count(golden.get()) == 0) return;
  ingot_golden_case first{};
  ingot_golden_case_at(golden.get(), 0, &first);
  for (uint32_t i = 0; i < first.input_count; i++) {
    const char* name = nullptr;
    ingot_tensor tensor{};
    ingot_golden_input(golden.get(), 0, i, &name, &tensor);
    const int32_t at = ingot_model_find_input(engine->model().get(), name);
    const std::string where = engine->path() + ": embedded golden";
    if (at < 0)
      host::fail(Exit::kMismatch, where + ": the model has no input '" + std::string(name) + "'");
    engine->bind_from_shape(uint32_t(at), {tensor.dims, tensor.dims + tensor.rank}, where);
  }
}

/// A network with dynamic dimensions is planned when they get numbers; whether small ones make
/// sense is not known (an image may be smaller than its window), so the first of a few that fit are
/// taken. "" when none was open; `fits` says the rest.
std::string bind_open(Engine* engine, const SessionSettings& settings, bool* fits) {
  std::vector<ingot_symbol> open;
  for (uint32_t s = 0; s < engine->summary().symbol_count; s++) {
    ingot_symbol symbol{};
    ingot_model_symbol(engine->model().get(), s, &symbol);
    if (!engine->bindings().count(symbol.name)) open.push_back(symbol);
  }
  *fits = true;
  if (open.empty()) return "";
  const std::string cast_for = engine->assume_rest();
  if (engine->can_create(settings)) return cast_for;
  for (const int64_t guess :
       {0, 2, 4, 8, 16, 32, 48, 64, 96, 128, 160, 224, 256, 320, 512, 576, 640, 1024}) {
    std::map<std::string, int64_t> dims;
    std::string text;
    for (const ingot_symbol& symbol : open) {
      const int64_t value =
          std::max(symbol.low, symbol.high ? std::min(guess, symbol.high) : guess);
      dims[symbol.name] = value;
      text += (text.empty() ? "" : ", ") + std::string(symbol.name) + " = " + std::to_string(value);
    }
    engine->bind_dims(dims);
    if (engine->can_create(settings)) return text;
  }
  *fits = false;
  return "";
}

/// Instructions of a run in words.
std::string steps_text(uint64_t steps) {
  if (steps == UINT64_MAX) return "without a bound on its instructions";
  return "of " + counted(steps, "instruction") + " at most";
}

/// All but weights that are mapped from the file.
uint64_t session_bytes(const ingot_requirements& need) {
  return need.arena_bytes - need.weights_mapped + need.outside_bytes + need.device_bytes +
         need.weights_shared;
}

/// By default what a small network takes, and what a large one brings with its own size.
void check_bytes(const VerifyArguments& a, const Engine& engine, const ingot_requirements& need) {
  const uint64_t usual = (uint64_t{1} << 30) + 4 * engine.summary().file_bytes;
  const uint64_t most = a.bytes.empty() ? usual : parse_bytes("--bytes", a.bytes);
  if (session_bytes(need) <= most) return;
  host::fail(Exit::kUnavailable, a.file + ": a session needs " + grouped(session_bytes(need)) +
                                     " bytes, --bytes allows " + grouped(most) +
                                     (a.bytes.empty() ? " where it is not given" : "") +
                                     "; if you trust the file, give more");
}

std::string late_text(const std::string& where, const VerifyArguments& a, double elapsed,
                      uint64_t steps) {
  return where + ": stopped after " + number(elapsed, 3) + " s, --seconds allows " + a.seconds +
         "; a run is " + steps_text(steps) + "; if you trust the file, give more";
}

/// Ends the process, with its report; of the watcher's thread, while a run goes on.
using GiveUp = std::function<void(const std::string& why)>;

/// Runs every embedded case. Steps are not part of it: each case is one run from the initial state.
Check run_golden(const VerifyArguments& a, Engine* engine, const FileGolden& golden,
                 const GiveUp& give_up) {
  const uint64_t steps = engine->requirements().steps;
  const double seconds = parse_real("--seconds", a.seconds, 0.001, 1e9);
  const std::string file = engine->path() + ": embedded golden";
  const RunDeadline deadline(engine->session().get(), seconds, [&] {
    give_up(late_text(file, a, seconds + RunDeadline::kGrace, steps));
  });
  const uint32_t cases = ingot_golden_case_count(golden.get());
  double worst = 0;
  uint32_t outputs = 0;
  int64_t elements = 0;
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
      if (at < 0)
        host::fail(Exit::kMismatch, where + ": the model has no input '" + std::string(name) + "'");
      engine->set_input(uint32_t(at), view_as_array(name, tensor),
                        where + ", input '" + name + "'");
    }
    if (deadline.has_passed() || !engine->run_unless_cancelled())
      host::fail(Exit::kUnavailable, late_text(where, a, deadline.elapsed(), steps));
    for (uint32_t o = 0; o < shape.output_count; o++) {
      const char* name = nullptr;
      ingot_tensor tensor{};
      ingot_golden_output(golden.get(), c, o, &name, &tensor);
      const int32_t at = ingot_model_find_output(engine->model().get(), name);
      if (at < 0)
        host::fail(Exit::kMismatch,
                   where + ": the model has no output '" + std::string(name) + "'");
      check::CompareOptions options;
      options.rtol = shape.rtol;
      options.atol = shape.atol;
      if (!std::isfinite(shape.rtol) || !std::isfinite(shape.atol))
        host::fail(Exit::kCheckFailed,
                   where + ": its tolerance is no finite number, so nothing would be compared");
      const Array expected = view_as_array(name, tensor);
      const check::Comparison compared =
          check::compare(name, expected, engine->take_output(uint32_t(at)), options);
      if (!compared.passed)
        host::fail(Exit::kCheckFailed, where + ": " + summary(compared, expected.dims));
      worst = std::max(worst, compared.largest_error);
      outputs++;
      elements += compared.elements;
    }
  }
  if (elements == 0)
    host::fail(Exit::kCheckFailed,
               engine->path() +
                   ": embedded golden: has no element of an output, so nothing was "
                   "compared; embed one that has: ingot convert SOURCE --golden FILE.npz");
  return {"golden", counted(cases, "case") + ", " + counted(outputs, "output") +
                        ", largest error " + number(worst, 3)};
}

void verify(const VerifyArguments& a, std::vector<Check>* done, const GiveUp& give_up) {
  (void)parse_real("--seconds", a.seconds, 0.001, 1e9);  // said wrongly: whatever the file is
  if (!a.bytes.empty()) (void)parse_bytes("--bytes", a.bytes);
  SessionSettings settings = a.session.session_settings();
  if (a.session.threads == "0") settings.threads = 1;
  settings.run_seconds = 0;  // --seconds limits all of them
  const auto dims = a.session.bindings();
  Engine engine(a.file);
  const ingot_model_summary& s = engine.summary();
  done->push_back({"structure", "format " + std::to_string(s.format_major) + "." +
                                    std::to_string(s.format_minor) + ", " + grouped(s.file_bytes) +
                                    " bytes, program of " + grouped(s.program_bytes)});
  done->push_back({"meaning", counted(s.instruction_count, "instruction") + ", " +
                                  counted(s.value_count, "value") +
                                  ", every type, shape and index"});
  Error error;
  if (ingot_model_verify_hashes(engine.model().get(), &error) != INGOT_OK) fail_with(a.file, error);
  done->push_back({"hashes", "SHA-256 of every part, zeros between them, weights of " +
                                 grouped(s.weights_bytes) + " bytes"});
  const FileGolden golden = open_golden(engine);
  bind_known(&engine, golden, dims);
  bool fits = true;
  const std::string assumed = bind_open(&engine, settings, &fits);
  if (!fits) {
    done->push_back(
        {"plan", "not checked: it depends on dynamic dimensions; set them with --dim NAME=VALUE",
         false});
    return;
  }
  const ingot_requirements need = engine.would_need(settings);
  done->push_back(
      {"plan", "no live buffers overlap in " + grouped(need.activations) + " bytes" +
                   (assumed.empty() ? "" : ", with " + assumed + " (set others with --dim)")});
  done->push_back({"bounds", "a session of " + grouped(session_bytes(need)) +
                                 " bytes beside mapped weights, a run " + steps_text(need.steps)});
  if (!golden) return;
  check_bytes(a, engine, need);
  engine.create_session(settings);
  done->push_back(run_golden(a, &engine, golden, give_up));
}

/// What was checked, and what was wrong where something was.
void print_report(const VerifyArguments& a, const std::vector<Check>& done,
                  const host::Failure* failed) {
  const bool golden = !done.empty() && done.back().name == "golden";
  if (a.json) {
    Json checks = Json::array();
    for (const Check& check : done)
      checks.push_back({{"name", check.name}, {"made", check.made}, {"detail", check.detail}});
    Json report = {{"file", a.file},
                   {"passed", !failed},
                   {"exit", failed ? int(failed->exit()) : 0},
                   {"golden", golden},
                   {"checks", checks}};
    if (failed) report["problem"] = failed->message();
    printf("%s\n", json_text(report).c_str());
  } else {
    Table table({"", "", ""});
    for (const Check& check : done) table.row({check.made ? "ok" : "--", check.name, check.detail});
    if (!failed && !golden)
      table.row({"--", "golden",
                 "the file carries none: answers were not compared (ingot check compares)"});
    fputs(table.text("").c_str(), stdout);
  }
}

int verify_and_report(const VerifyArguments& a) {
  std::vector<Check> done;
  std::unique_ptr<host::Failure> failed;
  const auto give_up = [&](const std::string& why) {  // nothing is taken down: the run goes on
    const host::Failure late(Exit::kUnavailable, why);
    print_report(a, done, &late);
    fflush(stdout);
    fprintf(stderr, "ingot: %s\n", one_line(why).c_str());
    _exit(int(late.exit()));
  };
  try {
    verify(a, &done, give_up);
  } catch (const host::Failure& failure) {
    failed = std::make_unique<host::Failure>(failure);
  }
  print_report(a, done, failed.get());
  if (failed) throw *failed;
  return 0;
}

}  // namespace

void add_verify(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<VerifyArguments>();
  CLI::App* command = add_command(
      app, chosen, "verify", "Validate a file: structure, meaning, hashes, plan, embedded golden",
      "  ingot verify model.ingot\n"
      "  ingot verify model.ingot --json\n"
      "  ingot verify ocr.ingot --dim W=320",
      [a] { return verify_and_report(*a); });
  takes_plugins(command);
  reads_file(command->add_option("FILE", a->file, "the .ingot file")->required()->type_name(""));
  command->add_flag("--json", a->json, "print a report for scripts");
  command->add_option("--seconds", a->seconds, "how long the embedded golden may run")
      ->type_name("S")
      ->capture_default_str();
  command
      ->add_option("--bytes", a->bytes,
                   "what a session may take beside mapped weights, as 512M; else 1 GiB and four "
                   "times the file")
      ->type_name("BYTES");
  a->session.declare(command, false, nullptr);
}

}  // namespace ingot::cli
