// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/conversion/check_conversion.h"

#include <algorithm>
#include <chrono>

#include "tools/cli/conversion/check_oracle.h"
#include "tools/cli/conversion/random_extents.h"
#include "tools/cli/conversion/random_run.h"
#include "tools/cli/output/terminal.h"
#include "tools/diagnose/steps/check_golden.h"

namespace ingot::cli {

using host::Exit;
using host::fail;

namespace {

constexpr size_t kRandomByCheck = 3, kRandomUsual = 4, kRandomSmall = 2;
constexpr double kNaiveTimes = 300;                  // as long as the best kernels, roughly
constexpr uint64_t kMaxMemory = uint64_t{64} << 20;  // of a session that nobody asked for

void print(const std::vector<CheckedValue>& values, bool is_rounding) {
  for (const CheckedValue& v : values) {
    const bool is_right = v.comparison.passed || (is_rounding && v.comparison.problem.empty());
    printf("%s %s\n", is_right ? "ok  " : "FAIL", summary(v.comparison, v.dims).c_str());
  }
}

/// The outputs are right, or differ by roundings alone.
bool has_passed(const OracleCheck& check) {
  return std::all_of(check.values.begin(), check.values.end(), [&](const CheckedValue& v) {
    return v.comparison.passed || (check.is_rounding() && v.comparison.problem.empty());
  });
}

[[noreturn]] void fail_check(const CheckedConversion& made, const OracleCheck& check,
                             const std::string& extents) {
  std::string where;
  if (check.instructions && check.instructions->wrong) {
    const WrongInstruction& wrong = *check.instructions->wrong;
    where = ", the first in kernel " + wrong.kernel + " (call " + std::to_string(wrong.call) +
            " of the run), output " + std::to_string(wrong.output) + ": " +
            compare::text(wrong.measure, wrong.dims);
  }
  fail(Exit::kCheckFailed, made.source +
                               ": the converted file and the naive kernels give different outputs" +
                               (extents.empty() ? "" : " with " + extents) + where +
                               "; nothing was written; ingot compare " + made.source +
                               " names the node; please report it, or check it with --golden");
}

/// How many elements were compared.
int64_t compare_with_oracle(const CheckedConversion& made,
                            const std::map<std::string, int64_t>& extents) {
  const OracleCheck check = check_against_oracle(made.path, extents, made.kernels);
  print(check.values, check.is_rounding());
  if (check.is_rounding())
    note(
        "outputs differ from those of the naive kernels by roundings of floats to whole numbers "
        "alone: each of " +
        grouped(check.instructions->calls) +
        " instructions, checked by itself, gives what the naive kernel gives for its operands, or "
        "for operands within a rounding of f32 of them (" +
        grouped(uint64_t(check.instructions->rounded_otherwise)) + " elements)");
  if (!has_passed(check)) fail_check(made, check, "");
  int64_t elements = 0;
  for (const CheckedValue& v : check.values) elements += v.comparison.elements;
  return elements;
}

/// Random inputs may be none that the program takes: an index outside of its table.
bool is_of_the_inputs(const host::Failure& failure) { return failure.exit() == Exit::kMismatch; }

/// Runs the extents in their order while there is time.
void compute(const CheckedConversion& made, const std::vector<RandomExtents::One>& drawn,
             double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  const auto has_time_for = [&](double more) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    return passed.count() + more < seconds;
  };
  OpenSettings settings;
  settings.kernels = made.kernels;
  for (const RandomExtents::One& one : drawn) {
    if (one.memory > kMaxMemory || !has_time_for(0)) return;
    try {
      const RandomRun run = run_on_made_inputs(made.path, settings, one.extents);
      if (!has_time_for(run.seconds * kNaiveTimes)) continue;
      const OracleCheck check = check_against_oracle(made.path, one.extents, made.kernels);
      if (!has_passed(check) && check.instructions && check.instructions->wrong)
        fail_check(made, check, extents_text(one.extents));
    } catch (const host::Failure& failure) {
      if (!is_of_the_inputs(failure)) throw;
      note("with " + extents_text(one.extents) + " random inputs cannot be computed: " +
           failure.what() + "; --golden FILE.npz checks with yours");
      return;
    }
  }
}

}  // namespace

void check_with_golden(const CheckedConversion& made, const std::string& golden,
                       std::optional<double> rtol, std::optional<double> atol) {
  Engine engine(made.path);
  const check::Golden expected =
      check::read_golden(golden, engine.input_names(), engine.output_names());
  CheckSettings settings;
  settings.rtol = rtol, settings.atol = atol;
  const CheckResult result = check_golden(&engine, expected, settings);
  print(result.values, false);
  for (const std::string& text : result.notes) note(text);
  if (!result.passed())
    fail(Exit::kCheckFailed, made.source + ": the converted file does not give the outputs of " +
                                 golden +
                                 "; nothing was written; where a step of a byte is no error, "
                                 "give --atol");
}

void check_with_naive_kernels(const CheckedConversion& made) {
  int64_t elements = 0;
  try {
    elements = compare_with_oracle(made, made.typical);
  } catch (const host::Failure& failure) {
    if (!is_of_the_inputs(failure)) throw;
    fail(Exit::kMismatch, made.source + ": random inputs cannot be computed: " + failure.what() +
                              "; nothing was written; --golden FILE.npz checks with yours");
  }
  if (elements == 0)
    fail(Exit::kCheckFailed,
         made.source +
             ": on random inputs no output has an element, so nothing was compared; nothing "
             "was written; check it with --golden FILE.npz");
  for (const auto& one : try_random_extents(made.path, made.typical, kRandomByCheck).sound) {
    printf("with %s\n", extents_text(one.extents).c_str());
    (void)compare_with_oracle(made, one.extents);
  }
}

void check_open_extents(const CheckedConversion& made, double seconds) {
  RandomExtents drawn = try_random_extents(made.path, made.typical, kRandomUsual);
  if (drawn.refused > 0)
    note(std::to_string(drawn.refused) + " of " + std::to_string(kRandomUsual) +
         " combinations of sizes that were tried cannot run, as " + drawn.first_refusal +
         "; where only some are meant, --dim bounds dimensions, --input-shape ties or parts them");
  if (seconds == 0 || (!made.kernels && chosen_kernels() == naive_kernels())) return;
  const RandomExtents small = try_random_extents(made.path, {}, kRandomSmall);
  drawn.sound.insert(drawn.sound.end(), small.sound.begin(), small.sound.end());
  std::stable_sort(drawn.sound.begin(), drawn.sound.end(),
                   [](const auto& a, const auto& b) { return a.memory < b.memory; });
  compute(made, drawn.sound, seconds);
}

}  // namespace ingot::cli
