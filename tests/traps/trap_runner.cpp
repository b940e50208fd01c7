// SPDX-License-Identifier: Apache-2.0
// trap_runner - checks that run() allocates nothing, takes no lock, throws nothing, and makes
// on the calling thread at most one wake and one wait, no other system call. On a GPU (the fake
// driver): the same, and of the driver exactly the launches, waits and transfers that the session
// states.
//
//   trap_runner [--device cuda]                  small models of its own, threads 1, 2 and 3
//   trap_runner [--device cuda] MODEL.ingot THREADS [NAME=VALUE]...   a file; symbols without a
//   value get their low bound;
//   an i64 input of that NAME gets its VALUE, all others are zeros
//
// Each case runs in a child that this process traces (ptrace): system calls between two marks are
// counted by number. Exit 0 when all hold, 1 when one does not, 77 when tracing is not allowed
// here.
#include <ingot/cpu.h>
#include <signal.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/op/data_dependent.h"
#include "tests/session/session_models.h"
#include "tests/traps/driver_traps.h"
#include "tests/traps/tracer.h"
#include "tests/traps/traps.h"

using namespace ingot;
using namespace ingot::test;

namespace {

constexpr int kRuns = 50, kFileRuns = 10;  // a file's run may take a second

struct Job {
  std::string name;
  const ingot_kernel_table* kernels = nullptr;
  const char* path = nullptr;
  const convert::FileSpec* spec = nullptr;
  int threads = 1;
  Sabotage sabotage = Sabotage::kNone;
  std::vector<std::pair<std::string, int64_t>> dims;
  bool rebind = false;  // to other extents before each run, in the arena of the largest
  bool split = false;   // over the CPU and the two fake GPUs
  bool host_branches = false;
  const char* device = nullptr;
  int runs() const { return path ? kFileRuns : kRuns; }
};

int complain(const Error& error, const char* what) {
  std::fprintf(stderr, "trap_runner: %s: %s\n", what, error.text().c_str());
  return 1;
}

std::vector<ingot_binding> bindings_of(const Model& model, const Job& job) {
  std::vector<ingot_binding> bindings;
  for (uint32_t i = 0; i < model.summary().symbol_count; i++) {
    ingot_symbol symbol;
    ingot_model_symbol(model.get(), i, &symbol);
    int64_t value = symbol.low;
    for (const auto& [name, given] : job.dims)
      if (name == symbol.name) value = given;
    bindings.push_back({symbol.name, value});
  }
  return bindings;
}

/// In the child: warm up, then armed and marked runs.
int run_armed(const Job& job) {
  ingot_open_options open = open_options(job.kernels);
  std::unique_ptr<FileBytes> bytes;
  if (job.spec) bytes = std::make_unique<FileBytes>(*job.spec);
  auto model =
      bytes ? Model::open(bytes->data(), bytes->size(), open) : Model::open(job.path, open);
  if (!model) return complain(model.error(), "open");
  const std::vector<ingot_binding> bindings = bindings_of(*model, job);
  ingot_session_options options = session_options();
  options.threads = job.threads;
  options.bindings = bindings.data();
  options.binding_count = bindings.size();
  if (job.rebind) options.flags |= INGOT_REBINDABLE;
  if (job.host_branches) options.flags |= INGOT_HOST_BRANCHES;
  options.device = job.device;
  FakeCuda* const fake = job.device ? DriverTraps::find_fake() : nullptr;
  if (job.device && !fake) return 1;
  constexpr const char* kDevices[] = {"fake:1", "cpu", "fake:0"};
  uint32_t weights = 0;
  auto assignment =
      model->assign("fake:0", [&](const ingot_weight&) { return kDevices[weights++ % 3]; });
  if (!assignment) return complain(assignment.error(), "assign");
  if (job.split) options.assignment = assignment->get();
  auto session = model->session(options);
  if (!session) return complain(session.error(), "session");
  const uint32_t inputs = model->summary().input_count;
  unsigned long counts[kTrapCount];
  Error error;
  bool ok = true;
  // Looked up before the traps are armed: the error about a name that is no input lists those that
  // are.
  std::vector<std::pair<uint32_t, int64_t>> steering;  // integers that steer, such as a sample rate
  for (const auto& [name, value] : job.dims)
    if (const int32_t index = ingot_model_find_input(model->get(), name.c_str()); index >= 0)
      steering.emplace_back(uint32_t(index), value);
  const auto fill = [&] {
    for (uint32_t i = 0; i < inputs; i++) {
      const ingot_tensor tensor = session->input(i).value();
      std::memset(tensor.data, 0, tensor.bytes);
    }
    for (const auto& [index, value] : steering)
      if (const ingot_tensor tensor = session->input(index).value();
          tensor.data && tensor.bytes == sizeof value)
        std::memcpy(tensor.data, &value, sizeof value);
  };
  fill();
  if (const auto warm = session->run(); !warm) return complain(warm.error(), "run");
  std::unique_ptr<DriverTraps> driver;
  if (fake) driver = std::make_unique<DriverTraps>(fake);
  static Sabotage sabotage;
  sabotage = job.sabotage;
  if (sabotage != Sabotage::kNone && fake)
    DriverTraps::sabotage(sabotage);
  else if (sabotage != Sabotage::kNone)
    ingot_session_set_profile(
        session->get(), [](void*, const ingot_profile_event*) { commit(sabotage); }, nullptr);
  if (driver) driver->arm();
  arm_traps();
  for (int i = 0; i < job.runs(); i++) {
    fill();
    syscall(kMark);
    for (size_t k = 0; job.rebind && k < bindings.size(); k++) {
      const ingot_binding binding = {bindings[k].name, 1 + (i * 7) % bindings[k].value};
      ok = ingot_session_rebind(session->get(), &binding, 1, &error) == INGOT_OK && ok;
    }
    ok = ingot_session_run(session->get(), &error) == INGOT_OK && ok;
    syscall(kMark);
  }
  disarm_traps(counts);
  if (!ok) return complain(error, "run");
  // binding anew may make a graph
  if (driver && !job.rebind) ok = driver->are_as_stated(*session, job.runs());
  for (int i = 0; i < kTrapCount; i++) {
    if (counts[i] == 0) continue;
    // a new graph asks for kernels, which all sessions share
    if (i == kLocks && job.rebind && job.device) continue;
    std::fprintf(stderr, "trap_runner: %s: %lu %s in %d runs, expected none\n", job.name.c_str(),
                 counts[i], kTrapNames[i], job.runs());
    ok = false;
  }
  return ok ? 0 : 1;
}

bool holds(const Job& job) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(77);
    raise(SIGSTOP);
    _exit(run_armed(job));
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) std::exit(WEXITSTATUS(status));
  if (ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) != 0 ||
      ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0) {
    std::printf("skipped: this system does not let a process trace its child (%s)\n",
                std::strerror(errno));
    kill(child, SIGKILL);
    std::exit(77);
  }
  const Counted counted = Tracer(child).trace();
  const bool fine = counted.exit_code == 0 && counted.runs == job.runs() &&
                    counted.others.empty() && counted.most_waits <= 1 &&
                    counted.most_wakes <= (job.threads > 1 ? 1 : 0);
  std::printf(
      "%-28s threads %d: %ld runs, %ld wakes (at most %ld a run), %ld waits (at most %ld a run)",
      job.name.c_str(), job.threads, counted.runs, counted.wakes, counted.most_wakes, counted.waits,
      counted.most_waits);
  if (job.device) std::printf(", %ld calls of the driver", counted.driver_calls);
  std::printf("%s\n", fine ? "" : "  FAILED");
  for (const auto& [number, times] : counted.others)
    std::printf("  system call %ld: %ld times\n", number, times);
  if (counted.exit_code) std::printf("  exit code %d\n", counted.exit_code);
  return fine;
}

/// y [n] = the elements of x that are not zero, n data-dependent.
convert::FileSpec data_dependent_network() {
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  p.required_features = {"measured"};
  const Dim n = p.add_symbol("n", 0, 0);
  const int32_t x = p.add_value(input("x", {12}));
  const int32_t found = p.add_value(activation("found", {1, n}, DType::kI64));
  const int32_t count = p.add_value(activation("count", {}, DType::kI64));
  const int32_t where = p.add_value(view_of(activation("where", {n}, DType::kI64), found));
  const int32_t y = p.add_value(output("y", {n}));
  p.symbols[0].resolved_by = count;
  p.symbols[0].bound = 12;
  p.add_instruction(NonZeroAttributes(), {x}, {found, count});
  p.add_instruction(GatherAttributes(), {x, where}, {y});
  add_ports(&file);
  return file;
}

using Networks = std::vector<std::pair<std::string, convert::FileSpec>>;

Job job_of(const Networks& networks, size_t i, const char* more, int threads, const char* device) {
  Job job;
  job.name = networks[i].first + more;
  job.kernels = oracle_table();
  job.spec = &networks[i].second;
  job.threads = threads;
  job.dims = {{"N", 33}};
  job.device = device;
  return job;
}

int own_models(const char* device) {
  const Networks networks = {{"chain", chain_network(500)},
                             {"branching", branching_network()},
                             {"counting", counting_network(true)},
                             {"lookup", lookup_network()},
                             {"data_dependent", data_dependent_network()}};
  constexpr size_t kChain = 0, kBranching = 1, kCounting = 2;
  bool all = true;
  for (size_t i = 0; i < networks.size(); i++)
    for (int threads = 1; threads <= 3; threads++)
      all = holds(job_of(networks, i, "", threads, device)) && all;
  Job rebound = job_of(networks, kBranching, ", rebound", 2, device);
  rebound.rebind = true;
  all = holds(rebound) && all;
  for (const size_t i : {kBranching, kCounting}) {
    if (!device) break;
    Job by_host = job_of(networks, i, ", the host decides", 1, device);
    by_host.host_branches = true;
    all = holds(by_host) && all;
  }
  for (size_t i = 0; i < networks.size() && !device; i++) {
    Job split = job_of(networks, i, ", split", 2, nullptr);
    split.split = true;
    split.rebind = i == kBranching;
    all = holds(split) && all;
  }
  for (const Sabotage sabotage : {Sabotage::kAllocates, Sabotage::kCallsSystem}) {
    const bool allocates = sabotage == Sabotage::kAllocates;
    Job job = job_of(networks, kChain, allocates ? ", allocates: must fail" : ", calls: must fail",
                     1, device);
    job.sabotage = sabotage;
    if (!holds(job)) continue;
    std::printf("trap_runner: a run that %s went unseen\n",
                allocates ? "allocates" : "calls the system");
    all = false;
  }
  return all ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (!traps_work()) {
    std::fprintf(stderr, "trap_runner: a trap does not see what it should\n");
    return 1;
  }
  const char* device = argc > 2 && std::strcmp(argv[1], "--device") == 0 ? argv[2] : nullptr;
  if (device) argc -= 2, argv += 2;
  if (argc < 2) return own_models(device);
  if (argc < 3) {
    std::fprintf(stderr,
                 "usage: trap_runner [--device cuda] [MODEL.ingot THREADS [NAME=VALUE]...]\n");
    return 1;
  }
  Job job;
  job.name = std::string(argv[1]).substr(std::string(argv[1]).find_last_of('/') + 1);
  job.kernels = ingot_cpu_kernels(nullptr);
  job.path = argv[1];
  job.device = device;
  job.threads = std::atoi(argv[2]);
  for (int i = 3; i < argc; i++) {
    const std::string dim = argv[i];
    const size_t at = dim.find('=');
    if (at != std::string::npos)
      job.dims.push_back({dim.substr(0, at), std::atoll(dim.c_str() + at + 1)});
  }
  return holds(job) ? 0 : 1;
}
