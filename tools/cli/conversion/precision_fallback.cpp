// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/conversion/precision_fallback.h"

#include "tools/cli/output/terminal.h"
#include "tools/diagnose/precision/mixed_precision.h"
#include "tools/files/output_file.h"
#include "tools/files/standard_streams.h"
#include "tools/session/precision_record.h"

namespace ingot::cli {

using host::Exit;
using host::fail;
using precision::PrecisionCheck;
using precision::PrecisionLoss;
using precision::PrecisionQuestion;

namespace {

constexpr uint8_t kExact = 0, kBf16 = 3;
// A GPU multiplies a bf16 file in tf32, whose three more bits must bring every product within what
// is allowed, also those that a CPU has in f32.
constexpr double kTf32Times = 8;

struct Choice {
  uint8_t precision;
  std::vector<uint32_t> exact;  // instructions that stay f32
};

/// What stays f32 so that bf16 holds. Empty: nothing is known that does.
std::vector<uint32_t> mix(PrecisionCheck* check, const PrecisionLoss& whole, Progress* progress,
                          PrecisionRecord* record) {
  if (!(whole.error <= kTf32Times * whole.allowed)) return {};
  const auto mixed = precision::mix_precisions(
      check, [&](double done) { progress->show("looking for products that stay f32", done); });
  if (!mixed) return {};
  record->exact_products = mixed->exact.size(), record->products = mixed->products;
  record->losses.push_back({kMixed, mixed->loss.error, mixed->loss.allowed, mixed->loss.output});
  return mixed->exact;
}

/// Tries the precision that was asked for, then the next ones; the first that holds.
Choice choose(PrecisionCheck* check, uint8_t asked, Progress* progress, PrecisionRecord* record) {
  for (uint8_t precision = asked; precision != kExact; precision--) {
    const std::optional<PrecisionLoss> loss = check->loss_in(GpuPrecision(precision));
    if (!loss) return {precision, {}};  // nobody knows
    record->losses.push_back({precision_name(precision), loss->error, loss->allowed, loss->output});
    if (loss->holds()) return {precision, {}};
    if (precision != kBf16) continue;
    std::vector<uint32_t> exact = mix(check, *loss, progress, record);
    if (!exact.empty()) return {precision, std::move(exact)};
  }
  return {kExact, {}};
}

/// The source nodes of instructions.
std::set<uint32_t> sources_of(const std::vector<uint32_t>& instructions,
                              const convert::ProgramSpec& program) {
  std::vector<const convert::InstructionSpec*> all;
  for (const convert::SubprogramSpec& subprogram : program.subprograms)
    for (const convert::InstructionSpec& each : subprogram.instructions) all.push_back(&each);
  std::set<uint32_t> sources;
  for (const uint32_t index : instructions)
    sources.insert(all.at(index)->sources.begin(), all.at(index)->sources.end());
  return sources;
}

/// What is known of the converted file, and the precision that it should have.
Choice check_file(const PrecisionRequest& request, const convert::ConversionResult& result,
                  uint8_t asked, PrecisionRecord* record) {
  Progress progress("checking --precision " + record->asked + " of " + request.source);
  progress.show("running");
  const host::TemporaryPath file(".ingot");
  host::show_path_as(file.path(), request.source);
  try {
    convert::write_file(result.file, file.path());
  } catch (const host::Failure& failure) {
    record->why = failure.what();
    return {asked, {}};
  }
  PrecisionQuestion question;
  question.file = file.path();
  question.rtol = request.rtol, question.atol = request.atol;
  check::Golden golden;
  record->inputs = "drawn";
  {
    const Engine engine(file.path());
    if (!request.golden.empty()) {
      golden = check::read_golden(request.golden, engine.input_names(), engine.output_names());
      question.golden = &golden, record->inputs = "golden";
    } else if (request.samples) {
      question.inputs = request.samples(engine);
      if (!question.inputs.empty()) record->inputs = "samples";
    }
  }
  PrecisionCheck check(question);
  Choice chosen = choose(&check, asked, &progress, record);
  record->why = host::with_stream_names(check.obstacle()), record->runs = check.runs();
  if (!record->why.empty() && record->losses.empty()) record->inputs = "", record->runs = 0;
  return chosen;
}

std::string advice(const PrecisionRecord& record) {
  return std::string(record.inputs == "drawn" ? "--golden FILE.npz looks at inputs of yours, "
                                              : "") +
         "--precision-check off writes " + record.asked + " all the same";
}

}  // namespace

PrecisionCheckMode parse_precision_check(const std::string& text) {
  if (text == "fallback") return PrecisionCheckMode::kFallback;
  if (text == "refuse") return PrecisionCheckMode::kRefuse;
  if (text == "off") return PrecisionCheckMode::kOff;
  fail(Exit::kUsage, "--precision-check '" + text + "': expected fallback, refuse or off");
}

void apply_precision_fallback(const PrecisionRequest& request, convert::ConvertOptions* options,
                              convert::ConversionResult* result) {
  const uint8_t asked = options->precision;
  if (asked == kExact) return;
  PrecisionRecord record;
  record.asked = record.written = precision_name(asked);
  record.inputs = "off";
  if (request.mode != PrecisionCheckMode::kOff) {
    const Choice chosen = check_file(request, *result, asked, &record);
    record.written = precision_name(chosen.precision);
    const std::string head = request.source + ": ";
    if (!chosen.exact.empty()) {
      note(head + text_of(record));
      options->exact_sources = sources_of(chosen.exact, result->file.program);
    }
    if (chosen.precision != asked) {
      if (request.mode == PrecisionCheckMode::kRefuse)
        fail(Exit::kCheckFailed,
             head + text_of(record) + "; nothing was written; " + advice(record));
      note(head + text_of(record) + ": " + record.written + " is written instead; " +
           advice(record));
      options->precision = chosen.precision;
    }
    if (!record.why.empty()) {
      const std::string unknown =
          head + "what " + record.written + " loses is not known: " + record.why;
      if (request.mode == PrecisionCheckMode::kRefuse)
        fail(Exit::kCheckFailed, unknown + "; nothing was written; " + advice(record));
      note(unknown +
           "; it is written all the same, as --precision-check refuse would not; ingot check "
           "--golden FILE.npz --device cuda tells on a GPU");
    }
  }
  // Microcontrollers and GPUs have no use for them.
  options->bf16_weights = options->precision == kBf16 && !options->keep_weights &&
                          !options->storage.chosen &&
                          options->targets == std::vector<std::string>{"cpu"};
  if (options->bf16_weights || !options->exact_sources.empty() || options->precision == kExact)
    *result = request.convert(*options);  // with those, or with more Winograd
  else
    result->file.program.precision = options->precision;
  put_precision_record(record, &result->file.metadata.entries);
}

}  // namespace ingot::cli
