// trap_runner - proves promise 4: run() allocates nothing, takes no lock, throws nothing, and makes on the calling
// thread at most one wake and one wait, no other system call.
//
//   trap_runner                                  small models of its own, threads 1, 2 and 3
//   trap_runner MODEL.ingot THREADS [NAME=VALUE]...   a file; symbols without a value get their low bound; an i64 input
//   of that NAME gets its VALUE, all others are zeros
//
// Each case runs in a child that this process traces (ptrace): system calls between two marks are counted by number.
// Exit 0 when all hold, 1 when one does not, 77 when tracing is not allowed here.
#include <ingot/cpu.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "runtime/op/measured.h"
#include "tests/session/session_models.h"
#include "tests/traps/traps.h"

using namespace ingot;
using namespace ingot::test;

namespace {

constexpr int kRuns = 50;
constexpr int kMark = SYS_getppid;  // called by nobody else

struct Job {
  std::string name;
  const ingot_kernel_table* kernels = nullptr;
  const char* path = nullptr;
  const cast::FileSpec* spec = nullptr;
  int threads = 1;
  bool sabotage = false;  // a callback that allocates and calls the system: must be seen
  std::vector<std::pair<std::string, int64_t>> dims;
  bool rebind = false;    // to other extents before each run, in the arena of the largest
  bool split = false;     // over the CPU and the two fake GPUs
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
  auto model = bytes ? Model::open(bytes->data(), bytes->size(), open) : Model::open(job.path, open);
  if (!model) return complain(model.error(), "open");
  const std::vector<ingot_binding> bindings = bindings_of(*model, job);
  ingot_session_options options = session_options();
  options.threads = job.threads;
  options.bindings = bindings.data();
  options.binding_count = bindings.size();
  if (job.rebind) options.flags |= INGOT_REBINDABLE;
  constexpr const char* kDevices[] = {"fake:1", "cpu", "fake:0"};
  uint32_t weights = 0;
  auto assignment = model->assign("fake:0", [&](const ingot_weight&) { return kDevices[weights++ % 3]; });
  if (!assignment) return complain(assignment.error(), "assign");
  if (job.split) options.assignment = assignment->get();
  auto session = model->session(options);
  if (!session) return complain(session.error(), "session");
  const uint32_t inputs = model->summary().input_count;
  unsigned long counts[kTrapCount];
  Error error;
  bool ok = true;
  const auto fill = [&] {
    for (uint32_t i = 0; i < inputs; i++) {
      const ingot_tensor tensor = session->input(i);
      std::memset(tensor.data, 0, tensor.bytes);
    }
    for (const auto& [name, value] : job.dims)  // an integer that steers, such as a sample rate
      if (const ingot_tensor tensor = session->input(name.c_str()); tensor.data && tensor.bytes == sizeof value)
        std::memcpy(tensor.data, &value, sizeof value);
  };
  fill();
  if (const auto warm = session->run(); !warm) return complain(warm.error(), "run");
  if (job.sabotage)
    ingot_session_set_profile(
        session->get(),
        [](void*, const ingot_profile_event*) { std::free(std::malloc(size_t(syscall(SYS_getuid)) + 1)); }, nullptr);
  arm_traps();
  for (int i = 0; i < kRuns; i++) {
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
  for (int i = 0; i < kTrapCount; i++) {
    if (counts[i] == 0) continue;
    std::fprintf(stderr, "trap_runner: %s: %lu %s in %d runs, expected none\n", job.name.c_str(), counts[i],
                 kTrapNames[i], kRuns);
    ok = false;
  }
  return ok ? 0 : 1;
}

struct Counted {
  long most_wakes = 0, most_waits = 0, wakes = 0, waits = 0, runs = 0;
  std::map<long, long> others;
  int exit_code = -1;
};

/// Counts the system calls of the child's first thread between marks.
class Tracer {
 public:
  explicit Tracer(pid_t child) : child_(child) {}

  Counted trace() {
    for (int status = 0; waitpid(child_, &status, 0) == child_;) {
      if (WIFEXITED(status)) return counted_.exit_code = WEXITSTATUS(status), counted_;
      if (WIFSIGNALED(status)) return counted_.exit_code = 128 + WTERMSIG(status), counted_;
      int signal = 0;
      if (WSTOPSIG(status) == (SIGTRAP | 0x80))
        see_stop();
      else if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP)
        signal = WSTOPSIG(status);
      ptrace(PTRACE_SYSCALL, child_, nullptr, signal);
    }
    return counted_;
  }

 private:
  void see_stop() {
    __ptrace_syscall_info info = {};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, child_, sizeof info, &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY)
      return;
    const long number = long(info.entry.nr);
    if (number == kMark) return mark();
    if (!inside_) return;
    const long operation = number == SYS_futex ? long(info.entry.args[1]) & FUTEX_CMD_MASK : -1;
    if (operation == FUTEX_WAKE)
      wakes_++;
    else if (operation == FUTEX_WAIT)
      waits_++;
    else
      counted_.others[number]++;
  }
  void mark() {
    inside_ = !inside_;
    if (inside_) {
      wakes_ = waits_ = 0;
      return;
    }
    counted_.runs++;
    counted_.wakes += wakes_;
    counted_.waits += waits_;
    counted_.most_wakes = std::max(counted_.most_wakes, wakes_);
    counted_.most_waits = std::max(counted_.most_waits, waits_);
  }

  pid_t child_;
  bool inside_ = false;
  long wakes_ = 0, waits_ = 0;
  Counted counted_;
};

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
    std::printf("skipped: this system does not let a process trace its child (%s)\n", std::strerror(errno));
    kill(child, SIGKILL);
    std::exit(77);
  }
  const Counted counted = Tracer(child).trace();
  const bool fine = counted.exit_code == 0 && counted.runs == kRuns && counted.others.empty() &&
                    counted.most_waits <= 1 && counted.most_wakes <= (job.threads > 1 ? 1 : 0);
  std::printf("%-28s threads %d: %ld runs, %ld wakes (at most %ld a run), %ld waits (at most %ld a run)%s\n",
              job.name.c_str(), job.threads, counted.runs, counted.wakes, counted.most_wakes, counted.waits,
              counted.most_waits, fine ? "" : "  FAILED");
  for (const auto& [number, times] : counted.others) std::printf("  system call %ld: %ld times\n", number, times);
  if (counted.exit_code) std::printf("  exit code %d\n", counted.exit_code);
  return fine;
}

/// y [n] = the elements of x that are not zero, n measured.
cast::FileSpec measuring_network() {
  cast::FileSpec file;
  file.segment_alignment = 16;
  cast::ProgramSpec& p = file.program;
  p.required_features = {"measured"};
  const Dim n = p.add_symbol("n", 0, 0);
  const int32_t x = p.add_value(input("x", {12}));
  const int32_t found = p.add_value(activation("found", {1, n}, DType::kI64));
  const int32_t count = p.add_value(activation("count", {}, DType::kI64));
  const int32_t where = p.add_value(view_of(activation("where", {n}, DType::kI64), found));
  const int32_t y = p.add_value(output("y", {n}));
  p.symbols[0].measured_by = count;
  p.symbols[0].bound = 12;
  p.add_instruction(NonZeroAttributes(), {x}, {found, count});
  p.add_instruction(GatherAttributes(), {x, where}, {y});
  add_ports(&file);
  return file;
}

int own_models() {
  const std::vector<std::pair<std::string, cast::FileSpec>> specs = {{"chain", chain_network(500)},
                                                                     {"branching", branching_network()},
                                                                     {"counting", counting_network(true)},
                                                                     {"lookup", lookup_network()},
                                                                     {"measuring", measuring_network()}};
  bool all = true;
  for (const auto& [name, spec] : specs)
    for (int threads = 1; threads <= 3; threads++) {
      Job job;
      job.name = name;
      job.kernels = oracle_table();
      job.spec = &spec;
      job.threads = threads;
      job.dims = {{"N", 33}};
      all = holds(job) && all;
    }
  Job rebound;
  rebound.name = "branching, rebound";
  rebound.kernels = oracle_table();
  rebound.spec = &specs[1].second;
  rebound.threads = 2;
  rebound.rebind = true;
  rebound.dims = {{"N", 33}};
  all = holds(rebound) && all;
  for (const auto& [name, spec] : specs) {
    Job split;
    split.name = name + ", split";
    split.kernels = oracle_table();
    split.spec = &spec;
    split.threads = 2;
    split.split = true;
    split.dims = {{"N", 33}};
    split.rebind = name == "branching";
    all = holds(split) && all;
  }
  Job sabotaged;
  sabotaged.name = "sabotaged, must fail";
  sabotaged.kernels = oracle_table();
  sabotaged.spec = &specs[0].second;
  sabotaged.sabotage = true;
  if (holds(sabotaged)) {
    std::printf("trap_runner: a run that allocates and calls the system went unseen\n");
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
  if (argc < 2) return own_models();
  if (argc < 3) {
    std::fprintf(stderr, "usage: trap_runner [MODEL.ingot THREADS [NAME=VALUE]...]\n");
    return 1;
  }
  Job job;
  job.name = std::string(argv[1]).substr(std::string(argv[1]).find_last_of('/') + 1);
  job.kernels = ingot_cpu_kernels(nullptr);
  job.path = argv[1];
  job.threads = std::atoi(argv[2]);
  for (int i = 3; i < argc; i++) {
    const std::string dim = argv[i];
    const size_t at = dim.find('=');
    if (at != std::string::npos) job.dims.push_back({dim.substr(0, at), std::atoll(dim.c_str() + at + 1)});
  }
  return holds(job) ? 0 : 1;
}
