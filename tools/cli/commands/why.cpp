// ingot why - what makes the peak of memory and the time of a run, what conversion did, and which
// copies remain.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli/options/session_options.h"
#include "tools/cli/output/terminal.h"
#include "tools/cli/profile/measure_peaks.h"
#include "tools/cli/profile/profile.h"
#include "tools/cli/reports/gpu_cost_report.h"
#include "tools/cli/reports/why_html.h"
#include "tools/files/output_file.h"
#include "tools/session/make_inputs.h"
#include "tools/session/metadata.h"
#include "tools/session/program_view.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

struct WhyArguments {
  std::string file, html, seconds = "0.5";
  bool json = false, all = false;
  SessionArguments session;
};

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
  return {{"arena_bytes", need.arena_bytes},
          {"weights_mapped", need.weights_mapped},
          {"weights_copied", need.weights_copied},
          {"weights_widened", need.weights_widened},
          {"activations", need.activations},
          {"state", need.state},
          {"scratch", need.scratch},
          {"tables", need.tables},
          {"rounding", need.rounding},
          {"outside_bytes", need.outside_bytes},
          {"lower_bound", view.lower_bound()},
          {"ratio", ratio},
          {"peak_step", view.peak_step()},
          {"peak_at", step_text(view, view.peak_step())},
          {"live", live}};
}

struct Timed {
  std::vector<double> ms;
  std::string kernel;
};

/// Medians by instruction over some runs. Instructions in a branch that was not taken have none.
std::vector<Timed> time_instructions(Engine* engine, double seconds) {
  for (uint32_t i = 0; i < engine->summary().input_count; i++) {
    engine->set_input(i, make_input(*engine, i, engine->session().input(i).value()),
                      engine->path() + ": made input");
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
                        engine->path() + ": made input");
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

void print_memory(const Json& m, bool all) {
  printf("Memory: arena of %s bytes\n", grouped(m["arena_bytes"].get<uint64_t>()).c_str());
  Table parts({"", ">"});
  for (const char* part : {"weights_mapped", "weights_copied", "weights_widened", "activations",
                           "state", "scratch", "tables", "rounding"}) {
    std::string name = part;
    std::replace(name.begin(), name.end(), '_', ' ');
    if (m[part].get<uint64_t>()) parts.row({name, grouped(m[part].get<uint64_t>())});
  }
  fputs(parts.text().c_str(), stdout);
  if (m["outside_bytes"].get<uint64_t>())
    printf("  outside of it (thread stacks and the like): %s\n",
           grouped(m["outside_bytes"].get<uint64_t>()).c_str());
  printf(
      "Activations are %.4g times the lower bound of %s bytes, which is what lives at step %s, "
      "%s:\n",
      m["ratio"].get<double>(), grouped(m["lower_bound"].get<uint64_t>()).c_str(),
      m["peak_step"].dump().c_str(), m["peak_at"].get<std::string>().c_str());
  Table live({"value", ">bytes", ">from step", ">to step"});
  for (size_t i = 0; i < m["live"].size() && (all || i < 12); i++) {
    const Json& v = m["live"][i];
    live.row({v["name"].get<std::string>(), grouped(v["bytes"].get<uint64_t>()),
              v["first_step"].dump(), v["last_step"].dump()});
  }
  if (!all && m["live"].size() > 12)
    live.row({"(" + std::to_string(m["live"].size() - 12) + " more)"});
  fputs(live.text().c_str(), stdout);
}

void print_times(Json times, double total_ms, const Json& report, bool all) {
  printf("\nTime: %s in instructions, %s (%s), %s\n", short_time(total_ms).c_str(),
         report["device"].get<std::string>().c_str(), report["isa"].get<std::string>().c_str(),
         (report["threads"].dump() + (report["threads"] == 1 ? " thread" : " threads")).c_str());
  std::sort(times.begin(), times.end(), [](const Json& a, const Json& b) {
    return a["ms"].get<double>() > b["ms"].get<double>();
  });
  Table table({">#", "op", ">time", ">share", ">GFLOP/s", "kernel", "output"});
  double shown = 0;
  for (size_t i = 0; i < times.size() && (all || i < 15); i++) {
    const Json& t = times[i];
    const double ms = t["ms"];
    shown += ms;
    table.row({t["index"].dump(), t["op"].get<std::string>(), short_time(ms),
               number(100 * ms / std::max(total_ms, 1e-9), 3) + " %",
               t["macs"].get<uint64_t>() ? number(t["gflops"].get<double>(), 3) : "",
               t["kernel"].get<std::string>(), t["name"].get<std::string>()});
  }
  if (!all && times.size() > 15)
    table.row(
        {"", "(" + std::to_string(times.size() - 15) + " more)", short_time(total_ms - shown)});
  fputs(table.text().c_str(), stdout);
}

void print_moves(const Json& report, double total_ms, bool all) {
  std::map<size_t, double> ms;
  for (const Json& t : report["instructions"]) ms[t["index"].get<size_t>()] = t["ms"];
  std::vector<Json> moves = report["moves"];
  double sum = 0;
  for (const Json& m : moves) sum += ms[m["index"].get<size_t>()];
  std::stable_sort(moves.begin(), moves.end(), [&](const Json& a, const Json& b) {
    return ms[a["index"].get<size_t>()] > ms[b["index"].get<size_t>()];
  });
  Table table({">#", "op", "dims", ">bytes", ">time", "output"});
  for (size_t i = 0; i < moves.size() && (all || i < 10); i++) {
    const Json& m = moves[i];
    table.row({m["index"].dump(), m["op"].get<std::string>(), m["dims"].dump(),
               grouped(m["bytes"].get<uint64_t>()), short_time(ms[m["index"].get<size_t>()]),
               m["name"].get<std::string>()});
  }
  if (!all && moves.size() > 10)
    table.row({"", "(" + std::to_string(moves.size() - 10) + " more)"});
  printf("\nTransposes and copies that remain: %zu", moves.size());
  if (!moves.empty())
    printf(", %s %% of the time", number(100 * sum / std::max(total_ms, 1e-9), 3).c_str());
  printf("\n%s", table.empty() ? "" : table.text().c_str());
}

void print_passes(const Json& report, bool all) {
  Table table({"pass", ">changed", "remarks"});
  std::string idle;
  for (const Json& p : report["passes"]) {
    const std::string name = p["name"], remarks = p["note"];
    if (p["changed"] == 0 && remarks.empty() && !all) {
      idle += (idle.empty() ? "" : ", ") + name;
      continue;
    }
    add_pass_rows(&table, name, p["changed"].dump(), remarks, all ? ~size_t{0} : 3);
  }
  printf("\nPasses\n%s",
         table.empty() && idle.empty() ? "  the file does not say\n" : table.text().c_str());
  if (!idle.empty()) printf("  nothing to do for: %s\n", idle.c_str());
}

/// The same question for a GPU that is not here.
int predict(const WhyArguments& a, const gpu_cost::GpuModel& gpu) {
  if (!a.html.empty())
    host::fail(host::Exit::kUsage, "--html: a page is made of times that were measured, and " +
                                       a.session.device + " is predicted; print it, or --json");
  Engine engine(a.file, a.session.open_settings());
  engine.bind_dims(a.session.bindings());
  const std::string assumed = engine.assume_rest();
  const ProgramView view(a.file, engine.bindings());
  Json report = {{"file", a.file}, {"dims", engine.bindings()}};
  report.update(gpu_cost_json(gpu_cost::predict(view, gpu), view));
  if (a.json) {
    printf("%s\n", report.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    return 0;
  }
  if (!assumed.empty()) printf("assuming %s (say others with --dim)\n", assumed.c_str());
  print_gpu_cost(report, a.all);
  return 0;
}

int why(const WhyArguments& a) {
  if (const gpu_cost::GpuModel* gpu = predicted_gpu(a.session.device)) return predict(a, *gpu);
  host::keep_apart({a.html}, {a.file});
  const SessionSettings settings = a.session.session_settings();
  const double seconds = parse_real("--seconds", a.seconds, 0, 3600);
  Engine engine(a.file);
  engine.bind_dims(a.session.bindings());
  engine.assume_rest();
  engine.create_session(settings);
  const ProgramView view(a.file, engine.bindings());
  const ingot_placement placement = engine.placement();
  double total_ms = 0;
  Json report = {{"file", a.file},
                 {"device", placement.device},
                 {"isa", placement.isa},
                 {"threads", placement.threads},
                 {"dims", engine.bindings()},
                 {"memory", memory_of(engine, view)}};
  report["instructions"] = times_of(&engine, view, seconds, &total_ms);
  report["instructions_ms"] = total_ms;
  report["moves"] = moves_of(view);
  report["passes"] = Json::array();
  const Metadata metadata = read_metadata(engine);
  for (const Metadata::Pass& p : metadata.passes) {
    report["passes"].push_back({{"name", p.name}, {"changed", p.changed}, {"note", p.remark}});
  }
  if (!a.html.empty()) {
    const Peaks peaks = measure_peaks(chosen_kernels());
    report["peak_gflops"] = peaks.gflops * placement.threads;
    report["peak_gbytes"] = peaks.gbytes;
    write_why_html(report, view, a.html);
  }
  if (a.json) {
    printf("%s\n", report.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    return 0;
  }
  print_memory(report["memory"], a.all);
  print_times(report["instructions"], total_ms, report, a.all);
  print_moves(report, total_ms, a.all);
  print_passes(report, a.all);
  return 0;
}

}  // namespace

void add_why(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<WhyArguments>();
  CLI::App* command = add_command(
      app, chosen, "why", "Say what makes the memory and the time of a model",
      "  ingot why model.ingot\n"
      "  ingot why model.ingot --threads 1 --all\n"
      "  ingot why ocr.ingot --dim W=320 --json\n"
      "  ingot why model.ingot --html why.html\n"
      "  ingot why model.ingot --device cuda:sm_90        # predicted, without that GPU\n"
      "  ingot why model.ingot --device cuda:orin-nano --dim N=8 --json",
      [a] { return why(*a); });
  takes_plugins(command);
  reads_file(command->add_option("FILE", a->file, "the .ingot file")->required()->type_name(""));
  command->add_flag("--json", a->json, "print a report for scripts");
  writes_file(
      command
          ->add_option("--html", a->html, "write a page: memory over steps, time, roofline, copies")
          ->type_name("OUT.html"));
  command->add_flag("--all", a->all, "list every value and instruction, not only the largest");
  command->add_option("--seconds", a->seconds, "how long to time the instructions, in seconds")
      ->type_name("S")
      ->capture_default_str();
  a->session.declare(command, false);
}

}  // namespace ingot::cli
