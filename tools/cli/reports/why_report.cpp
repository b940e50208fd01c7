// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/reports/why_report.h"

#include <algorithm>

#include "tools/cli/output/terminal.h"
#include "tools/cli/profile/measure_peaks.h"
#include "tools/cli/profile/profile.h"
#include "tools/cli/reports/memory_parts.h"
#include "tools/session/make_inputs.h"
#include "tools/session/metadata.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string step_text(const ProgramView& view, uint32_t step) {
  if (step >= view.program().steps.size) return "the end";
  const StepDef& s = view.program().steps[step];
  if (s.kind == StepKind::kJump) return "a jump";
  if (s.kind == StepKind::kRefuse) return "a branch that is missing";
  const InstructionDef& instruction = view.program().instructions[s.index];
  const bool named = instruction.output_count > 0 && instruction.outputs[0] >= 0;
  return std::string(op_name(instruction.op)) +
         (named ? " '" + view.value_name(instruction.outputs[0]) + "'" : "");
}

Json memory_of(const Engine& engine, const ProgramView& view) {
  const ingot_requirements need = engine.requirements();
  Json live = Json::array();
  std::vector<std::pair<uint64_t, size_t>> values;
  for (size_t v = 0; v < view.lifetimes().size(); v++) {
    const Lifetime& life = view.lifetimes()[v];
    if (life.bytes && life.first_step <= view.peak_step() && view.peak_step() <= life.last_step)
      values.emplace_back(life.bytes, v);
  }
  std::sort(values.rbegin(), values.rend());
  for (const auto& [bytes, v] : values) {
    live.push_back({{"value", v},
                    {"name", view.value_name(int32_t(v))},
                    {"bytes", bytes},
                    {"first_step", view.lifetimes()[v].first_step},
                    {"last_step", view.lifetimes()[v].last_step}});
  }
  const double ratio =
      view.lower_bound() ? double(view.plan_bytes()) / double(view.lower_bound()) : 1;
  Json memory = memory_json(need);
  if (std::string(engine.placement().device) == "cpu")
    memory["caller_arena_bytes"] = in_caller_arena(engine, need.threads).arena_bytes;
  memory.update({{"lower_bound", view.lower_bound()},
                 {"ratio", ratio},
                 {"peak_step", view.peak_step()},
                 {"peak_at", step_text(view, view.peak_step())},
                 {"live", live}});
  return memory;
}

struct Timed {
  std::vector<double> ms;
  std::string kernel;
};

/// Medians by instruction over some runs. Instructions in a branch that was not taken have none.
std::vector<Timed> time_instructions(Engine* engine, double seconds) {
  for (uint32_t i = 0; i < engine->summary().input_count; i++) {
    engine->set_input(i, make_input(*engine, i, engine->session().input(i).value()),
                      engine->path() + ": random input");
  }
  std::vector<Timed> times(engine->summary().instruction_count);
  Progress progress("timing " + engine->path());
  engine->run();
  const uint64_t start = ingot_clock_ns(), limit = start + uint64_t(seconds * 1e9);
  for (int runs = 0; runs < 3 || (runs < 200 && ingot_clock_ns() < limit); runs++) {
    Profile profile;
    profile.watch(engine->session().get());
    // a run may overwrite its inputs
    for (uint32_t i = 0; i < engine->summary().input_count; i++) {
      engine->set_input(i, make_input(*engine, i, engine->session().input(i).value()),
                        engine->path() + ": random input");
    }
    engine->run();
    for (const ProfiledInstruction& p : profile.instructions()) {
      if (p.instruction >= times.size()) continue;
      times[p.instruction].ms.push_back(double(p.end_ns - p.begin_ns) / 1e6);
      times[p.instruction].kernel = p.kernel;
    }
    ingot_session_set_profile(engine->session().get(), nullptr, nullptr);
    progress.show(std::to_string(runs + 1) + " runs");
  }
  for (Timed& t : times) std::sort(t.ms.begin(), t.ms.end());
  return times;
}

Json times_of(Engine* engine, const ProgramView& view, double seconds, double* total_ms) {
  const std::vector<Timed> times = time_instructions(engine, seconds);
  *total_ms = 0;
  Json list = Json::array();
  for (size_t i = 0; i < times.size(); i++) {
    if (times[i].ms.empty()) continue;
    const InstructionDef& instruction = view.program().instructions[i];
    const double ms = times[i].ms[times[i].ms.size() / 2];
    const uint64_t macs = view.multiply_adds(instruction);
    *total_ms += ms;
    const int32_t output = instruction.output_count ? instruction.outputs[0] : -1;
    list.push_back({{"index", i},
                    {"op", op_name(instruction.op)},
                    {"name", output >= 0 ? view.value_name(output) : ""},
                    {"kernel", times[i].kernel},
                    {"ms", ms},
                    {"macs", macs},
                    {"bytes", view.bytes_moved(instruction)},
                    {"gflops", ms > 0 ? 2e-6 * double(macs) / ms : 0.0}});
  }
  return list;
}

bool moves_only(OpCode op) {
  switch (op) {
    case OpCode::kTranspose:
    case OpCode::kCopy:
    case OpCode::kConcat:
    case OpCode::kSlice:
    case OpCode::kTile:
    case OpCode::kPad: return true;
    default: return false;
  }
}

Json moves_of(const ProgramView& view) {
  Json moves = Json::array();
  for (size_t i = 0; i < view.program().instructions.size; i++) {
    const InstructionDef& instruction = view.program().instructions[i];
    if (!moves_only(instruction.op) || instruction.output_count < 1 || instruction.outputs[0] < 0)
      continue;
    const TensorType out = view.type(instruction.outputs[0]);
    std::vector<int64_t> dims(out.dims, out.dims + out.rank);
    moves.push_back({{"index", i},
                     {"op", op_name(instruction.op)},
                     {"name", view.value_name(instruction.outputs[0])},
                     {"dims", dims},
                     {"bytes", uint64_t(out.elements()) * uint64_t(dtype_bytes(out.dtype))}});
  }
  return moves;
}

}  // namespace

Json why_report(Engine* engine, const ProgramView& view, double seconds) {
  const ingot_placement placement = engine->placement();
  double total_ms = 0;
  Json report = {{"file", engine->path()},     {"device", placement.device},
                 {"isa", placement.isa},       {"threads", placement.threads},
                 {"dims", engine->bindings()}, {"memory", memory_of(*engine, view)}};
  report["instructions"] = times_of(engine, view, seconds, &total_ms);
  report["instructions_ms"] = total_ms;
  report["moves"] = moves_of(view);
  report["passes"] = Json::array();
  const Metadata metadata = read_metadata(*engine);
  for (const Metadata::Pass& p : metadata.passes)
    report["passes"].push_back({{"name", p.name}, {"changed", p.changed}, {"note", p.remark}});
  return report;
}

void add_peaks(Json* report) {
  const Peaks peaks = measure_peaks(chosen_kernels());
  (*report)["peak_gflops"] = peaks.gflops * (*report)["threads"].get<int>();
  (*report)["peak_gbytes"] = peaks.gbytes;
}

}  // namespace ingot::cli
