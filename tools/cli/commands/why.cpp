// SPDX-License-Identifier: Apache-2.0
// ingot why - what makes the peak of memory and the time of a run, what conversion did, and which
// copies remain.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli/options/session_options.h"
#include "tools/cli/output/json_text.h"
#include "tools/cli/output/terminal.h"
#include "tools/cli/reports/gpu_cost_report.h"
#include "tools/cli/reports/memory_parts.h"
#include "tools/cli/reports/why_html.h"
#include "tools/cli/reports/why_report.h"
#include "tools/files/output_file.h"
#include "tools/session/program_view.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

struct WhyArguments {
  std::string file, html, seconds = "0.5";
  bool json = false, all = false;
  SessionArguments session;
};

void print_memory(const Json& m, bool all) {
  printf("Memory: arena of %s bytes\n", grouped(m["arena_bytes"].get<uint64_t>()).c_str());
  Table parts({"", ">"});
  for (const MemoryPart& part : arena_parts({}))
    if (const uint64_t bytes = m[part.key]) parts.row({part.name, grouped(bytes)});
  fputs(parts.text().c_str(), stdout);
  for (const MemoryPart& part : other_parts({}))
    if (const uint64_t bytes = m[part.key])
      printf("  outside of it, %s: %s\n", part.name, grouped(bytes).c_str());
  if (m.contains("caller_arena_bytes"))
    printf("  in an arena of the caller's, weights copied: %s\n",
           grouped(m["caller_arena_bytes"].get<uint64_t>()).c_str());
  const uint64_t state = m["state"], bound = m["lower_bound"];
  const uint64_t planned = m["activations"].get<uint64_t>() + state;
  const std::string against = planned == bound ? "equal to the lower bound"
                                               : number(m["ratio"].get<double>()) +
                                                     " times the lower bound of " + grouped(bound);
  printf("%s: %s bytes, %s. The peak is at step %s, %s:\n",
         state ? "Activations and state" : "Activations", grouped(planned).c_str(), against.c_str(),
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
  table.wrap_last();
  const bool is_known = !report["passes"].empty();
  for (const Json& p : report["passes"]) {
    const std::string name = p["name"], remarks = p["note"];
    if (p["changed"] == 0 && remarks.empty() && !all) continue;
    add_pass_rows(&table, name, p["changed"].dump(), remarks, all ? ~size_t{0} : 3);
  }
  const char* const nothing =
      is_known ? "  none changed anything\n" : "  the file has no record of them\n";
  printf("\nPasses\n%s", table.empty() ? nothing : table.text().c_str());
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
    printf("%s\n", json_text(report).c_str());
    return 0;
  }
  if (!assumed.empty()) printf("assuming %s (set others with --dim)\n", assumed.c_str());
  print_gpu_cost(report, a.all);
  return 0;
}

int why(const WhyArguments& a) {
  if (const gpu_cost::GpuModel* gpu = predicted_gpu(a.session.device)) return predict(a, *gpu);
  host::refuse_path_overlap({a.html}, {a.file});
  const SessionSettings settings = a.session.session_settings();
  const double seconds = parse_real("--seconds", a.seconds, 0, 3600);
  Engine engine(a.file);
  engine.bind_dims(a.session.bindings());
  engine.assume_rest();
  engine.create_session(settings);
  const ProgramView view(a.file, engine.bindings());
  Json report = why_report(&engine, view, seconds);
  if (!a.html.empty()) {
    add_peaks(&report);
    write_why_html(report, view, a.html);
  }
  if (a.json) {
    printf("%s\n", json_text(report).c_str());
    return 0;
  }
  print_memory(report["memory"], a.all);
  print_times(report["instructions"], report["instructions_ms"], report, a.all);
  print_moves(report, report["instructions_ms"], a.all);
  print_passes(report, a.all);
  return 0;
}

}  // namespace

void add_why(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<WhyArguments>();
  CLI::App* command = add_command(
      app, chosen, "why", "Show what takes the memory and the time of a model",
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
