// SPDX-License-Identifier: Apache-2.0
// ingot bench - how long a run takes, and how much memory it holds.
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli/commands/bench_generation.h"
#include "tools/cli/options/session_options.h"
#include "tools/cli/output/json_text.h"
#include "tools/cli/output/terminal.h"
#include "tools/cli/reports/memory_parts.h"
#include "tools/files/input_file.h"
#include "tools/session/feed.h"
#include "tools/session/make_inputs.h"

namespace ingot::cli {
namespace {

using host::Array;
using Json = nlohmann::ordered_json;

struct BenchArguments {
  std::string file, inputs, seconds = "2", prompt, generate;
  bool json = false, prefault = false;
  SessionArguments session;
};

/// Memory of the caller's for one port, aligned as binding asks.
struct Port {
  explicit Port(const ingot_tensor& like) : tensor(like) {
    if (posix_memalign(&tensor.data, 64, std::max<size_t>(64, size_t(like.bytes))) != 0)
      throw std::bad_alloc();
    memset(tensor.data, 0, size_t(like.bytes));  // its pages are there before the clock starts
  }
  ~Port() { free(tensor.data); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  ingot_tensor tensor;
};

/// Time of all processors since they started, in ticks of the system.
struct ProcessorTimes {
  double busy = 0, idle = 0, stolen = 0;
};

struct Measured {
  double others = 0, stolen = 0;  // parts of all processors' time while runs were measured
  double load_ms = 0, first_ms = 0, start_mb = 0;
  std::vector<double> run_ms;  // sorted
  long minor_faults = 0, major_faults = 0, steady_faults = 0;
  std::string assumed;  // dimensions that nobody gave
};

double ms(uint64_t ns) { return double(ns) / 1e6; }

rusage usage() {
  rusage now{};
  getrusage(RUSAGE_SELF, &now);
  return now;
}

/// A line of the process's status in MB: VmRSS is what is resident now, VmHWM the most that ever
/// was.
double status_mb(const std::string& name) {
  host::InputStream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(name + ":", 0) == 0)
      return std::strtod(line.c_str() + name.size() + 1, nullptr) * 1024 / 1e6;
  return 0;
}

/// From here on VmHWM counts anew: what reading the inputs once took is no part of the model's.
void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

std::string processor_name() {
  host::InputStream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    for (const char* key : {"model name", "Model", "CPU part"}) {
      if (line.rfind(key, 0) == 0 && line.find(':') != std::string::npos)
        return line.substr(std::min(line.size(), line.find(':') + 2));
    }
  }
  utsname system{};
  uname(&system);
  return system.machine;
}

/// Zeros where the system does not say.
ProcessorTimes processor_times() {
  ProcessorTimes times;
  host::InputStream file("/proc/stat");
  std::string line;
  if (!std::getline(file, line)) return times;
  double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0;
  if (sscanf(line.c_str(), "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &idle,
             &wait, &irq, &soft, &steal) < 8)
    return times;
  times.busy = user + nice + system + irq + soft, times.idle = idle + wait, times.stolen = steal;
  return times;
}

/// In the ticks of ProcessorTimes.
double own_ticks() {
  const rusage now = usage();
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) / 1e6; };
  return (seconds(now.ru_utime) + seconds(now.ru_stime)) * double(sysconf(_SC_CLK_TCK));
}

double percentile(const std::vector<double>& sorted, double p) {
  const double at = p * double(sorted.size() - 1);
  const size_t low = size_t(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - double(low)) * (sorted[high] - sorted[low]);
}

void measure(Engine* engine, double seconds, Measured* m) {
  Progress progress("bench");
  const rusage before = usage();
  uint64_t began = ingot_clock_ns();
  engine->run();
  m->first_ms = ms(ingot_clock_ns() - began);
  const rusage after = usage();
  m->minor_faults = after.ru_minflt - before.ru_minflt;
  m->major_faults = after.ru_majflt - before.ru_majflt;
  const uint64_t settled = ingot_clock_ns() + uint64_t(seconds * 2e8);
  do engine->run();  // caches fill, clocks rise
  while (ingot_clock_ns() < settled);
  constexpr size_t kMaxRuns = 1'000'000;
  m->run_ms.reserve(
      std::min<size_t>(kMaxRuns, size_t(seconds * 1000 / std::max(m->first_ms / 4, 0.0005)) + 16));
  const ProcessorTimes times = processor_times();
  const double own = own_ticks();
  const uint64_t start = ingot_clock_ns();
  const uint64_t limit = start + uint64_t(seconds * 1e9);
  for (uint64_t now = start;
       m->run_ms.size() < 5 || (now < limit && m->run_ms.size() < kMaxRuns);) {
    began = ingot_clock_ns();
    engine->run();
    now = ingot_clock_ns();
    m->run_ms.push_back(ms(now - began));
    if (m->run_ms.back() > 20)
      progress.show(std::to_string(m->run_ms.size()) + " runs",
                    double(now - start) / (seconds * 1e9));
  }
  m->steady_faults = usage().ru_minflt - after.ru_minflt;
  const ProcessorTimes then = processor_times();
  const double busy = then.busy - times.busy, stolen = then.stolen - times.stolen;
  const double all = busy + stolen + then.idle - times.idle;
  if (all > 0) m->stolen = stolen / all;
  if (all > 0) m->others = std::max(0.0, busy - (own_ticks() - own)) / all;
  std::sort(m->run_ms.begin(), m->run_ms.end());
}

void print_text(const Json& r, const std::string& file) {
  printf("%s on %s\n", file.c_str(), r["cpu"].get<std::string>().c_str());
  Table table({"", ""});
  const auto add = [&](const char* name, const std::string& value) { table.row({name, value}); };
  const int threads = r["threads"];
  add("device", r["device"].get<std::string>() + " (" + r["isa"].get<std::string>() + "), " +
                    std::to_string(threads) + (threads == 1 ? " thread" : " threads"));
  if (!r["assumed_dims"].get<std::string>().empty())
    add("assumed", r["assumed_dims"].get<std::string>() + " (set others with --dim)");
  add("load", short_time(r["load_ms"]) + (r["prefault"].get<bool>() ? ", every page touched" : ""));
  add("first run", short_time(r["first_ms"]) + " with " +
                       std::to_string(r["page_faults"].get<long>()) + " page faults");
  add("median",
      short_time(r["median_ms"]) + " of " + std::to_string(r["runs"].get<size_t>()) + " runs");
  add("p90, p99", short_time(r["p90_ms"]) + ", " + short_time(r["p99_ms"]));
  const double spread = r["spread"], others = r["other_work"], stolen = r["stolen"];
  add("spread", number(100 * spread, 3) + " % from p10 to p90, of the median");
  if (others > 0.1 || stolen > 0.02)
    note("other programs took " + number(100 * others, 2) +
         " % of the processors' time, the "
         "hypervisor " +
         number(100 * stolen, 2) + " %: repeat it on a quiet machine");
  add("arena", grouped(r["arena_bytes"]) + " bytes: " + r["arena_parts"].get<std::string>());
  add("ports", grouped(r["ports_bytes"]) +
                   " bytes outside of it; with them inside, as in ingot why, " +
                   grouped(r["with_ports_bytes"]));
  add("resident", number(r["rss_mb"].get<double>()) + " MB");
  add("file", short_bytes(r["file_bytes"]));
  fputs(table.text().c_str(), stdout);
}

/// Of a language model.
int bench_tokens(const BenchArguments& a) {
  if (!a.inputs.empty())
    host::fail(host::Exit::kUsage, "bench: --prompt and --generate make their own inputs");
  GenerationBench b;
  b.file = a.file, b.json = a.json;
  if (!a.prompt.empty()) b.prompt = parse_integer("--prompt", a.prompt, 1, 1 << 24);
  if (!a.generate.empty()) b.generate = parse_integer("--generate", a.generate, 0, 1 << 24);
  b.seconds = parse_real("--seconds", a.seconds, 0, 86400);
  b.open = a.session.open_settings(), b.session = a.session.session_settings();
  if (a.prefault) b.session.flags |= INGOT_PREFAULT;
  return bench_generation(b);
}

int bench(const BenchArguments& a) {
  if (!a.prompt.empty() || !a.generate.empty()) return bench_tokens(a);
  SessionSettings settings = a.session.session_settings();
  const SessionSettings usual = settings;
  settings.flags |= INGOT_CALLER_BINDS_PORTS;
  if (a.prefault) settings.flags |= INGOT_PREFAULT;
  const double seconds = parse_real("--seconds", a.seconds, 0, 86400);
  const auto dims = a.session.bindings();
  const OpenSettings open = a.session.open_settings();
  const std::vector<Array> arrays =
      a.inputs.empty() ? std::vector<Array>() : host::read_npz(a.inputs);

  Measured m;
  forget_peak();
  m.start_mb = status_mb("VmRSS");
  uint64_t began = ingot_clock_ns();
  Engine engine(a.file, open);
  m.load_ms = ms(ingot_clock_ns() - began);
  std::vector<const Array*> given;
  if (a.inputs.empty()) {
    engine.bind_dims(dims);
  } else {
    given = match_inputs(engine, arrays, a.inputs);
    bind_from_inputs(&engine, given, dims, a.inputs);
  }
  m.assumed = engine.assume_rest();
  const ingot_requirements with_ports = engine.would_need(usual);
  began = ingot_clock_ns();
  engine.create_session(settings);
  m.load_ms += ms(ingot_clock_ns() - began);

  std::vector<std::unique_ptr<Port>> ports;
  for (uint32_t i = 0; i < engine.summary().input_count; i++) {
    ports.push_back(std::make_unique<Port>(engine.session().input(i).value()));
    Array made;
    if (given.empty()) made = make_input(engine, i, ports.back()->tensor);
    engine.set_port(ports.back()->tensor, given.empty() ? made : *given[i],
                    input_place(a.inputs, engine.input(i).name));
    const auto bound = engine.session().bind_input(i, ports.back()->tensor);
    if (!bound) fail_with(a.file, bound.error());
  }
  for (uint32_t i = 0; i < engine.summary().output_count; i++) {
    ports.push_back(std::make_unique<Port>(engine.session().output(i).value()));
    const auto bound = engine.session().bind_output(i, ports.back()->tensor);
    if (!bound) fail_with(a.file, bound.error());
  }
  measure(&engine, seconds, &m);

  const ingot_placement placement = engine.placement();
  const ingot_requirements need = engine.requirements();
  uint64_t ports_bytes = 0;
  for (const auto& port : ports) ports_bytes += port->tensor.bytes;
  const Json report = {{"file", a.file},
                       {"load_ms", m.load_ms},
                       {"first_ms", m.first_ms},
                       {"median_ms", percentile(m.run_ms, 0.5)},
                       {"p90_ms", percentile(m.run_ms, 0.9)},
                       {"p99_ms", percentile(m.run_ms, 0.99)},
                       {"min_ms", m.run_ms.front()},
                       {"spread", (percentile(m.run_ms, 0.9) - percentile(m.run_ms, 0.1)) /
                                      std::max(percentile(m.run_ms, 0.5), 1e-9)},
                       {"other_work", m.others},
                       {"stolen", m.stolen},
                       {"runs", m.run_ms.size()},
                       {"threads", placement.threads},
                       {"device", placement.device},
                       {"isa", placement.isa},
                       {"rss_mb", status_mb("VmRSS")},
                       {"rss_start_mb", m.start_mb},
                       {"rss_peak_mb", status_mb("VmHWM")},
                       {"arena_bytes", need.arena_bytes},
                       {"memory", memory_json(need)},
                       {"arena_parts", parts_text(arena_parts(need))},
                       {"ports_bytes", ports_bytes},
                       {"with_ports_bytes", with_ports.arena_bytes},
                       {"activation_bytes", need.activations},
                       {"scratch_bytes", need.scratch},
                       {"tables_bytes", need.tables},
                       {"weights_bytes", engine.summary().weights_bytes},
                       {"file_bytes", engine.summary().file_bytes},
                       {"page_faults", m.minor_faults + m.major_faults},
                       {"major_page_faults", m.major_faults},
                       {"steady_page_faults", m.steady_faults},
                       {"prefault", a.prefault},
                       {"dims", engine.bindings()},
                       {"assumed_dims", m.assumed},
                       {"inputs", a.inputs.empty() ? "made" : a.inputs},
                       {"cpu", processor_name()},
                       {"version", ingot_version()}};
  if (a.json)
    printf("%s\n", json_text(report).c_str());
  else
    print_text(report, a.file);
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<BenchArguments>();
  CLI::App* command = add_command(app, chosen, "bench", "Time a model on random inputs",
                                  "  ingot bench model.ingot\n"
                                  "  ingot bench model.ingot --threads 1 --seconds 5 --json\n"
                                  "  ingot bench ocr.ingot --dim N=1 --dim W=320\n"
                                  "  ingot bench smollm2.ingot --prompt 512 --generate 64",
                                  [a] { return bench(*a); });
  takes_plugins(command);
  reads_file(command->add_option("FILE", a->file, "the .ingot file")->required()->type_name(""));
  command->add_option("--seconds", a->seconds, "how long to measure, in seconds")
      ->type_name("S")
      ->capture_default_str();
  reads_file(command->add_option("--inputs", a->inputs, "time these inputs instead of random ones")
                 ->type_name("IN.npz"));
  command->add_option("--prompt", a->prompt, "tokens of the prompt of a language model")
      ->type_name("N");
  command->add_option("--generate", a->generate, "tokens that it generates behind it")
      ->type_name("N");
  command->add_flag("--json", a->json, "print a report for scripts");
  command->add_flag("--prefault", a->prefault,
                    "touch every page when loading, so that the first run has no page faults");
  a->session.declare(command, true);
}

}  // namespace ingot::cli
