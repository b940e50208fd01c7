// SPDX-License-Identifier: Apache-2.0
// ingot tune - measures on the GPU at hand which of several kernel variants to compute an
// instruction is the quickest, and records them in the file.
#include <sys/stat.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli/options/command.h"
#include "tools/cli/output/json_text.h"
#include "tools/cli/output/terminal.h"
#include "tools/cli/tune/tune_prediction.h"
#include "tools/compile/write/tunings.h"
#include "tools/diagnose/golden/compare.h"
#include "tools/files/standard_streams.h"
#include "tools/session/file_parts.h"
#include "tools/session/make_inputs.h"
#include "tools/session/program_view.h"

namespace ingot::cli {
namespace {

using host::Array;
using host::Exit;
using host::fail;
using Json = nlohmann::ordered_json;

struct TuneArguments {
  std::string file, output, time = "2", device = "cuda";
  std::vector<std::string> dims;
  bool json = false, dry_run = false;
};

/// "2", "2s", "500ms".
double seconds_of(const std::string& text) {
  std::string digits = text;
  double unit = 1;
  const auto strip = [&](const std::string& suffix, double scale) {
    if (digits.size() <= suffix.size() ||
        digits.compare(digits.size() - suffix.size(), suffix.size(), suffix) != 0)
      return false;
    digits.resize(digits.size() - suffix.size());
    unit = scale;
    return true;
  };
  if (!strip("ms", 1e-3)) (void)strip("s", 1);
  return parse_real("--time", digits, 0, 86400 / unit) * unit;
}

void check_device(const std::string& device) {
  const std::string kind = device.substr(0, device.find(':'));
  if (kind == "cpu")
    fail(Exit::kUsage, "--device " + device +
                           ": nothing is tuned for the CPU, whose kernels are chosen by the "
                           "processor when a file is "
                           "loaded; tune for a GPU: --device cuda");
  if (kind != "cuda")
    fail(Exit::kUsage, "--device " + device + ": a GPU is tuned for: cuda, or cuda:N");
}

/// A file that is written beside its destination and looked at before it takes its place.
void check_destination(const std::string& path) {
  struct stat found;
  if (stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode))
    fail(Exit::kUsage, path +
                           ": is no regular file; what is written is run before it is kept, so -o "
                           "needs the name of a file");
}

SessionSettings settings_of(const TuneArguments& a, uint32_t flags) {
  SessionSettings settings;
  settings.device = a.device;
  settings.flags = flags;
  return settings;
}

/// The outputs of a run on inputs that are the same for every call.
std::vector<Array> outputs_of(Engine& engine) {
  for (uint32_t i = 0; i < engine.summary().input_count; i++)
    engine.set_input(i, make_input(engine, i, engine.session().input(i).value()), "input");
  engine.run();
  return engine.take_outputs();
}

double median_of(const TunedTarget& target, size_t variant) {
  return target.variants[variant].times.median();
}

convert::TuningSpec record_of(Engine& engine, const std::vector<TunedTarget>& targets) {
  const GpuIdentity gpu = gpu_of(engine.session().get());
  convert::TuningSpec record;
  record.gpu = gpu.name, record.compute_capability = gpu.compute_capability;
  record.multiprocessors = gpu.multiprocessors, record.precision = gpu.precision,
  record.driver = gpu.driver;
  record.producer = std::string("ingot ") + ingot_version();
  for (const std::string& symbol : gpu.symbols) record.dims.push_back(engine.bindings().at(symbol));
  for (const TunedTarget& t : targets) {
    const TunedVariant& variant = t.variants[t.chosen];
    record.instructions.push_back({t.instruction, variant.variant, variant.parts,
                                   float(median_of(t, t.chosen)), float(median_of(t, 0))});
  }
  return record;
}

/// What is written is taken by the session that it is for, and computes the same within what the
/// precision allows: exact files every bit.
Json check_outputs(const TuneArguments& a, const std::string& path, const Engine& before,
                   const std::vector<Array>& expected, const std::vector<TunedTarget>& targets) {
  Engine engine(path);
  engine.bind_dims(before.bindings());
  const SessionSettings settings = settings_of(a, 0);
  engine.create_session(settings);
  for (const TunedTarget& t : targets) {
    ingot_variant variant;
    const bool found = engine.find_variant(settings, t.instruction, &variant);
    if (!found || variant.source != INGOT_VARIANT_TUNED ||
        t.variants[t.chosen].variant != variant.name)
      fail(Exit::kInternal, a.file + ": " + t.op + " '" + t.name +
                                "' does not take the variant that was measured: " +
                                (found ? variant.why : "it is not there") +
                                "; nothing was written");
  }
  const std::vector<Array> outputs = outputs_of(engine);
  const bool is_exact = ProgramView(path, {}).program().precision == 0;
  check::CompareOptions options;
  options.stored = DType::kF16;
  Json rows = Json::array();
  for (size_t i = 0; i < outputs.size(); i++) {
    const check::Comparison c = check::compare(outputs[i].name, expected[i], outputs[i], options);
    const bool same_bits = outputs[i].bytes == expected[i].bytes;
    rows.push_back({{"name", outputs[i].name},
                    {"largest_error", c.largest_error},
                    {"largest_expected", c.largest_expected},
                    {"allowed", is_exact ? 0.0 : c.allowed},
                    {"same_bits", same_bits}});
    if (is_exact ? !same_bits : !c.passed)
      fail(Exit::kCheckFailed, a.file + ": tuned, " + check::summary(c, outputs[i].dims) +
                                   (is_exact ? ", and an exact file allows no other bit" : "") +
                                   "; nothing was written");
  }
  return rows;
}

std::string variant_text(const TunedVariant& variant) {
  return variant.variant +
         (variant.parts > 1 ? ", " + std::to_string(variant.parts) + " parts" : "");
}

Json json_of(const TunedTarget& t, const std::vector<double>& predicted_ns) {
  Json variants = Json::array();
  for (size_t i = 0; i < t.variants.size(); i++) {
    const TunedVariant& variant = t.variants[i];
    variants.push_back({{"variant", variant.variant},
                        {"parts", variant.parts},
                        {"nanoseconds", variant.times.median()},
                        {"predicted_ns", predicted_ns[i]},
                        {"samples", variant.times.samples.size()},
                        {"dropped", variant.times.dropped}});
  }
  return {{"instruction", t.instruction}, {"op", t.op},          {"name", t.name}, {"model", 0},
          {"chosen", t.chosen},           {"variants", variants}};
}

void print(const Json& report, const std::vector<TunedTarget>& targets) {
  constexpr size_t kMaxRows = 40;
  Table table({"instruction", "op", ">variants", "model", ">takes", "measured", ">takes"});
  size_t other = 0, shown = 0;
  for (const TunedTarget& t : targets) {
    if (t.chosen == 0) continue;
    other++;
    if (shown++ >= kMaxRows) continue;
    table.row({t.name.empty() ? std::to_string(t.instruction) : t.name, t.op,
               std::to_string(t.variants.size()), variant_text(t.variants[0]),
               short_time(median_of(t, 0) / 1e6), variant_text(t.variants[t.chosen]),
               short_time(median_of(t, t.chosen) / 1e6)});
  }
  printf("%s on %s\n", report["file"].get<std::string>().c_str(),
         report["gpu"]["name"].get<std::string>().c_str());
  if (!table.empty()) printf("%s", table.text().c_str());
  if (shown > kMaxRows) printf("  and %zu more: --json\n", shown - kMaxRows);
  printf(
      "%zu of %zu instructions with several kernel variants take another than the model's; "
      "together %s "
      "instead of %s\n",
      other, targets.size(), short_time(report["tuned_ns"].get<double>() / 1e6).c_str(),
      short_time(report["model_ns"].get<double>() / 1e6).c_str());
  const Json& prediction = report["prediction"];
  printf(
      "predicted from the numbers of %s: %s instead of %s; the error of an instruction is %s %% in "
      "the median, at most 25 %% in %s of %zu\n",
      prediction["gpu"].get<std::string>().c_str(),
      short_time(prediction["predicted_ns"].get<double>() / 1e6).c_str(),
      short_time(prediction["measured_ns"].get<double>() / 1e6).c_str(),
      number(100 * prediction["median_error"].get<double>(), 3).c_str(),
      prediction["within_25_percent"].dump().c_str(), targets.size());
  for (const Json& output : report["outputs"])
    printf(
        "output %s: %s\n", output["name"].get<std::string>().c_str(),
        output["same_bits"].get<bool>()
            ? "the same bits"
            : ("largest difference " + number(output["largest_error"]) + " of " +
               number(output["largest_expected"]) + " (allowed " + number(output["allowed"]) + ")")
                  .c_str());
  if (report["written"].get<bool>())
    printf("%s: recorded for this GPU\n", report["output"].get<std::string>().c_str());
  else
    printf("nothing is written (--dry-run)\n");
}

int tune(const TuneArguments& a) {
  check_device(a.device);
  const double seconds = seconds_of(a.time);
  if (a.output.empty() && host::is_standard_input(a.file))
    fail(Exit::kUsage,
         "tune: the file is standard input, which cannot be changed in place; name an output with "
         "-o");
  const std::string output = a.output.empty() ? a.file : a.output;
  Engine engine(a.file);
  FileParts parts(a.file);
  if (parts.has(PartKind::kSignature))
    fail(Exit::kUnsupported, a.file +
                                 ": is signed, and the signature holds for the old bytes only; "
                                 "tune the unsigned file and sign it anew");
  if (parts.minor() > kFormatMinor)
    fail(Exit::kUnsupported,
         a.file + ": is of a newer format than this ingot writes; tune it with that version");
  std::vector<convert::TuningSpec> tunings =
      convert::decode_tunings(parts.read(PartKind::kTunings), a.file);
  engine.bind_dims(parse_dims(a.dims));
  const std::string assumed = engine.assume_rest();
  std::unique_ptr<host::OutputFile>
      written;  // early: a place that cannot be written is known before anything is measured
  if (!a.dry_run) {
    check_destination(output);
    written = std::make_unique<host::OutputFile>(output, a.file);
  }
  engine.create_session(settings_of(a, INGOT_IGNORE_TUNINGS));
  std::vector<TunedTarget> targets = find_targets(engine);
  if (targets.empty())
    fail(Exit::kMismatch, a.file + ": no instruction of it has more than one kernel variant on " +
                              a.device + "; there is nothing to tune");
  const std::vector<Array> expected = outputs_of(engine);
  {
    Progress progress("tune");
    measure_targets(engine, seconds, &targets, [&](size_t i) {
      progress.show(targets[i].op + " " + targets[i].name + ", " + std::to_string(i + 1) + " of " +
                        std::to_string(targets.size()),
                    double(i) / double(targets.size()));
    });
  }
  const convert::TuningSpec record = record_of(engine, targets);
  double model_ns = 0, tuned_ns = 0;
  Json instructions = Json::array();
  const PredictionError prediction =
      compare_with_prediction(engine, gpu_of(engine.session().get()), targets);
  for (size_t i = 0; i < targets.size(); i++) {
    model_ns += median_of(targets[i], 0), tuned_ns += median_of(targets[i], targets[i].chosen);
    instructions.push_back(json_of(targets[i], prediction.predicted_ns[i]));
  }
  Json report = {{"file", a.file},
                 {"output", output},
                 {"gpu",
                  {{"name", record.gpu},
                   {"compute_capability", record.compute_capability},
                   {"multiprocessors", record.multiprocessors},
                   {"driver", record.driver}}},
                 {"dims", engine.bindings()},
                 {"assumed_dims", assumed},
                 {"model_ns", model_ns},
                 {"tuned_ns", tuned_ns},
                 {"prediction",
                  {{"gpu", prediction.gpu},
                   {"predicted_ns", prediction.predicted_sum_ns},
                   {"measured_ns", prediction.measured_sum_ns},
                   {"median_error", prediction.median},
                   {"within_25_percent", prediction.within_25}}},
                 {"instructions", instructions},
                 {"outputs", Json::array()},
                 {"written", bool(written)}};
  if (written) {
    convert::put_tuning(&tunings, record);
    parts.check_hashes();
    parts.put(PartKind::kTunings, convert::encode_tunings(tunings));
    parts.raise_minor(kTuningsMinor);
    parts.write(written.get());
    engine.session() = Session();  // its memory on the GPU is for the one that validates
    report["outputs"] = check_outputs(a, written->temporary(), engine, expected, targets);
    written->commit();
  }
  if (a.json) {
    printf("%s\n", json_text(report, 1).c_str());
    return 0;
  }
  if (!assumed.empty()) printf("assuming %s (set others with --dim)\n", assumed.c_str());
  print(report, targets);
  return 0;
}

}  // namespace

void add_tune(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<TuneArguments>();
  CLI::App* command = add_command(
      app, chosen, "tune",
      "Measure kernels on this machine's GPU and record the fastest in the file",
      "  ingot tune model.ingot --device cuda             # in place, whole or not at all\n"
      "  ingot tune model.ingot -o tuned.ingot --time 10s\n"
      "  ingot tune ocr.ingot --dim W=320 --dry-run --json\n"
      "What is recorded holds for this GPU, precision and dimensions, beside what other GPUs "
      "recorded;\n"
      "elsewhere the file is what it was. Exact files keep every bit; --precision fast and fp16 "
      "stay within\n"
      "the tolerance table, which is checked before anything is written.",
      [a] { return tune(*a); });
  takes_plugins(command);
  command->add_option("FILE", a->file, "the .ingot file")->required()->type_name("");
  command->add_option("--device", a->device, "cuda or cuda:N")
      ->type_name("DEVICE")
      ->capture_default_str();
  writes_file(command->add_option("-o,--output", a->output, "file to write; without it FILE itself")
                  ->type_name("OUT.ingot"));
  command->add_option("--time", a->time, "how long to measure, all in all (2s; 500ms)")
      ->type_name("T")
      ->capture_default_str();
  takes_dims(command, &a->dims);
  command->add_flag("--dry-run", a->dry_run, "measure and report; write nothing");
  command->add_flag("--json", a->json, "print a report for scripts");
}

}  // namespace ingot::cli
