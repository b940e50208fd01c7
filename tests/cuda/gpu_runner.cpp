// SPDX-License-Identifier: Apache-2.0
// gpu_runner - a file on a GPU compared with the CPU, on the same raw inputs: the same bits in
// every run, exactly the launches and the memory that were stated. Over the fake driver
// (INGOT_CUDA_DRIVER) its counts are compared too: launches, waits, transfers, bytes, nothing alive
// at the end, no misuse. What the GPU decides inside a graph is run again with the host deciding.
// Needs neither npz nor the command line, so that it also runs cross-compiled under an emulator.
//
//   gpu_runner MODEL.ingot DIR [--device cuda] [--runs N] [--seconds S] [NAME=1x2x3 ...]     inputs
//   as raw_runner's; DIR -: small numbers made here
//   gpu_runner --name                prints the GPU's
//   gpu_runner --facts               name, architecture, 1 if one process at a time has it, driver
//   gpu_runner --hold                has a context until it is ended, so that others start at once
//   --items N                        each input file has one of N items, which are all the same
//   prints   output NAME BYTES FNV1A64      as raw_runner
//            gpu {...}                      JSON: instructions, launches, seconds; with --seconds
//            latencies; memory
// Exit 0; 1 when something does not hold; 77 without a GPU.
#include <dlfcn.h>
#include <ingot/cpu.h>
#include <unistd.h>

#include <chrono>
#include <map>

#include "runtime/api/translate.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/session/assignment.h"
#include "runtime/session/session.h"
#include "runtime/session/split.h"
#include "tests/cuda/fake_driver/fake_driver.h"
#include "tests/support/raw_inputs.h"

using namespace ingot::raw;

namespace {

using Clock = std::chrono::steady_clock;
double milliseconds_since(Clock::time_point began) {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

struct Arguments {
  const char *model = nullptr, *dir = nullptr;
  std::string device = "cuda";
  int runs = 3;  // later ones begin with what the first left in every memory
  double seconds = 0;
  int items = 1;
  bool alike = false;  // runs are compared with one another, not with the CPU's
  std::vector<char*> shapes;
};

bool parse(int argc, char** argv, Arguments* a) {
  if (argc < 3) return false;
  a->model = argv[1], a->dir = argv[2];
  for (int i = 3; i < argc; i++) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      a->shapes.push_back(argv[i]);
      continue;
    }
    if (word == "--alike") {
      a->alike = true;
      continue;
    }
    if (i + 1 >= argc) return false;
    const char* value = argv[++i];
    if (word == "--device")
      a->device = value;
    else if (word == "--runs")
      a->runs = std::atoi(value);
    else if (word == "--items")
      a->items = std::max(std::atoi(value), 1);
    else if (word == "--seconds")
      a->seconds = std::atof(value);
    else
      return false;
  }
  return a->runs > 0;
}

/// Null when the driver is not the fake one.
FakeCuda* find_fake() {
  const char* path = std::getenv("INGOT_CUDA_DRIVER");
  void* library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  const auto control =
      library ? reinterpret_cast<FakeCuda* (*)()>(dlsym(library, "fake_cuda_control")) : nullptr;
  return control ? control() : nullptr;
}

/// Free bytes of the first GPU, with its primary context held by us so that the context itself does
/// not count.
class DeviceMemory {
 public:
  DeviceMemory() {
    const ingot::cuda::Driver& d = ingot::cuda::driver();
    held_ = !d.problem && d.cuDevicePrimaryCtxRetain(&context_, 0) == 0;
  }
  ~DeviceMemory() {
    if (held_) (void)ingot::cuda::driver().cuDevicePrimaryCtxRelease_v2(0);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  uint64_t free_bytes() const {
    const ingot::cuda::Driver& d = ingot::cuda::driver();
    size_t free = 0, total = 0;
    if (!held_ || d.cuCtxPushCurrent_v2(context_)) return 0;
    (void)d.cuMemGetInfo_v2(&free, &total);
    (void)d.cuCtxPopCurrent_v2(&context_);
    return free;
  }

 private:
  mutable ingot::cuda::Context context_ = nullptr;
  bool held_ = false;
};

/// Shares of a session, the GPU's added up.
struct Stated {
  uint64_t launches = 0, waits = 0, uploads = 0, downloads = 0, device_bytes = 0, on_gpu = 0,
           on_cpu = 0;
  bool split = false;
};
Stated stated_of(const ingot_session* session) {
  Stated all;
  ingot_share share{};
  share.size = sizeof share;
  for (uint32_t i = 0; ingot_session_share(session, i, &share) == INGOT_OK; i++) {
    if (std::strncmp(share.device, "cuda", 4) != 0) {
      all.on_cpu += share.instructions;
      all.split = true;
      continue;
    }
    all.launches += share.launches, all.waits += share.waits, all.on_gpu += share.instructions;
    all.uploads += share.uploads, all.downloads += share.downloads,
        all.device_bytes += share.arena_bytes;
  }
  all.split = all.split || all.on_cpu;
  return all;
}

/// What the branches that the last run took add to it, of the GPU.
void add_branches(const ingot_session* session, Stated* sum) {
  ingot_branch branch{};
  branch.size = sizeof branch;
  for (uint32_t i = 0; ingot_session_branch(session, i, &branch) == INGOT_OK; i++) {
    sum->launches += branch.launches * branch.taken;
    sum->waits += branch.waits * branch.taken;
  }
}

/// {"exp": 2}: instructions of a split session that run on the CPU, by operator.
std::string left_to_cpu(const ingot_model* model, const ingot_session* session) {
  const ingot::RunSession& s = *ingot::api::unwrap(session);
  std::map<std::string, int> left;
  if (s.split)
    for (size_t i = 0; i < s.split->assignment->of_instruction.size; i++) {
      ingot_instruction instruction{};
      if (s.split->assignment->of_instruction[i] == 0 &&
          !ingot_model_instruction(model, uint32_t(i), &instruction))
        left[instruction.op]++;
    }
  std::string text = "{";
  for (const auto& [op, count] : left)
    text += (text.size() > 1 ? ", \"" : "\"") + op + "\": " + std::to_string(count);
  return text + "}";
}

int wrong(const char* what, uint64_t expected, uint64_t found) {
  std::fprintf(stderr, "%s: expected %" PRIu64 ", found %" PRIu64 "\n", what, expected, found);
  return 1;
}

int hash_outputs(const Opened& o, ingot_session* session, std::vector<uint64_t>* out, bool prints) {
  out->clear();
  for (uint32_t i = 0; i < o.summary.output_count; i++) {
    ingot_tensor t{};
    ingot_value_type type{};
    ingot_model_output(o.model, i, &type);
    if (ingot_session_output(session, i, &t)) return std::fprintf(stderr, "no output %u\n", i), 1;
    out->push_back(hash_of(t));
    if (prints)
      std::printf("output %s %" PRIu64 " %016" PRIx64 "\n", type.name, t.bytes, out->back());
  }
  return 0;
}

using Answers = std::vector<std::vector<uint64_t>>;  // hashes of all outputs, by run

/// As many runs as there are different answers: one, or for a model with state `steps`.
int first_answers(const char* device, Opened* o, const Arguments& a, int steps, Answers* out) {
  ingot_error error{};
  ingot_session* session = nullptr;
  o->options.device = device;
  if (ingot_session_create(o->model, &o->options, &session, &error)) return fail(device, error);
  int status = 0;
  out->resize(o->summary.state_count ? size_t(steps) : 1);
  for (size_t i = 0; i < out->size() && !status; i++) {
    status = fill_inputs(*o, session, a.dir, uint64_t(a.items)) ? 0 : 1;
    if (!status && ingot_session_run(session, &error)) status = fail(device, error);
    if (!status) status = hash_outputs(*o, session, &(*out)[i], false);
  }
  ingot_session_destroy(session);
  return status;
}

/// What runs did, by the fake driver, against what was stated of each and of the branches that they
/// took.
int compare_counts(const FakeCuda& before, const FakeCuda& after, const Stated& stated,
                   const Stated& branches, uint64_t runs) {
  int status = 0;
  const auto check = [&](const char* what, uint64_t expected, uint64_t found) {
    if (expected != found) status = wrong(what, expected, found);
  };
  // without graphs there is one for each kernel
  if (ingot::cuda::driver().graphs != ingot::cuda::GraphUse::kNone)
    check("launches", runs * stated.launches + branches.launches, after.launches - before.launches);
  check("waits", runs * stated.waits + branches.waits, after.waits - before.waits);
  // On one device the copies of the ports are kernels of the graph.
  check("uploads", stated.split ? runs * stated.uploads : 0, after.uploads - before.uploads);
  check("downloads", stated.split ? runs * stated.downloads : 0,
        after.downloads - before.downloads);
  check("allocations in run()", before.allocations, after.allocations);
  check("graphs made in run()", before.execs, after.execs);
  return status;
}

int check_nothing_alive(const FakeCuda& c) {
  const uint64_t alive = c.allocations + c.bytes + c.pinned + c.contexts + c.modules + c.streams +
                         c.events + c.graphs + c.execs;
  return alive || c.misuses ? wrong(c.misuses ? "misuses of the driver" : "alive at the end", 0,
                                    c.misuses ? c.misuses : alive)
                            : 0;
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0
                        : values[std::min(values.size() - 1, size_t(q * double(values.size())))];
}

/// Whether the GPU decides any If or Loop of it.
bool decides(const Opened& o) {
  ingot_branch branch{};
  branch.size = sizeof branch;
  bool any = false;
  for (uint32_t i = 0; ingot_model_branch(o.model, &o.options, i, &branch, nullptr) == INGOT_OK;
       i++)
    any = any || branch.on_device;
  return any;
}

class OnGpu {
 public:
  OnGpu(const Arguments& a, Opened* o, const Answers& expected, bool prints)
      : a_(a), o_(*o), expected_(expected), prints_(prints), fake_(find_fake()) {}

  int run() {
    ingot_error error{};
    o_.options.device = a_.device.c_str();
    ingot_requirements need{};
    need.size = sizeof need;
    if (const ingot_code code = ingot_model_requirements(o_.model, &o_.options, &need, &error))
      return code == INGOT_NO_KERNEL ? report_refusal() : fail("requirements", error);
    const uint64_t free_before = memory_.free_bytes(), alive_before = fake_ ? fake_->bytes : 0;
    ingot_session* session = nullptr;
    const auto began = Clock::now();
    if (ingot_session_create(o_.model, &o_.options, &session, &error))
      return fail("session on the GPU", error);
    int status = run_session(session, need, began);
    if (!status && fake_ && fake_->bytes - alive_before != device_bytes_)
      status = wrong("bytes on the GPU", device_bytes_, fake_->bytes);
    if (!status && prints_) status = report(free_before);
    ingot_session_destroy(session);
    return status;
  }

 private:
  int run_session(ingot_session* session, const ingot_requirements& need, Clock::time_point began) {
    stated_ = stated_of(session);
    left_ = left_to_cpu(o_.model, session);
    device_bytes_ = stated_.device_bytes + need.weights_shared;
    if (!stated_.split && stated_.device_bytes != need.arena_bytes)
      return wrong("arena of the session", need.arena_bytes, stated_.device_bytes);
    if (stated_.split && stated_.device_bytes != need.device_bytes)
      return wrong("memory on the GPU", need.device_bytes, stated_.device_bytes);
    if (const int status = run_once(session, prints_)) return status;
    first_result_ms_ = milliseconds_since(began);
    FakeCuda before = fake_ ? *fake_ : FakeCuda{};
    reset_waits_ = reset_uploads_ = 0;
    branches_ = Stated();
    const auto repeated = Clock::now();
    for (int i = 1; i < a_.runs; i++)
      if (const int status = run_once(session, false)) return status;
    run_ms_ = a_.runs > 1 ? milliseconds_since(repeated) / (a_.runs - 1) : first_result_ms_;
    before.waits += reset_waits_, before.uploads += reset_uploads_;  // those of resets are no run's
    if (fake_)
      if (const int status =
              compare_counts(before, *fake_, stated_, branches_, uint64_t(a_.runs - 1)))
        return status;
    ingot_error error{};
    // clocks rise
    for (const auto until = Clock::now(); milliseconds_since(until) < a_.seconds * 200;)
      if (ingot_session_run(session, &error)) return fail("run on the GPU", error);
    for (const auto until = Clock::now(); milliseconds_since(until) < a_.seconds * 1000;) {
      const auto start = Clock::now();
      if (ingot_session_run(session, &error)) return fail("run on the GPU", error);
      latencies_.push_back(milliseconds_since(start));
    }
    free_after_ = memory_.free_bytes();
    return 0;
  }

  /// A GPU with nothing to do is refused by name, by a session as by requirements().
  int report_refusal() {
    ingot_session* session = nullptr;
    ingot_error error{};
    if (ingot_session_create(o_.model, &o_.options, &session, &error) != INGOT_NO_KERNEL) {
      ingot_session_destroy(session);
      return std::fprintf(stderr, "requirements() refuses what a session takes\n"), 1;
    }
    char text[512];
    ingot_error_text(&error, text, sizeof text);
    if (!std::strstr(text, "no kernel for any instruction"))
      return fail("session on the GPU", error);
    std::printf("gpu {\"on_gpu\": 0, \"on_cpu\": %u, \"launches\": 0, \"refused\": true}\n",
                o_.summary.instruction_count);
    return 0;
  }

  int run_once(ingot_session* session, bool prints) {
    ingot_error error{};
    std::vector<uint64_t> got;
    const std::vector<uint64_t>& expected = expected_[runs_++ % expected_.size()];
    if (&expected == &expected_[0]) {
      const FakeCuda before = fake_ ? *fake_ : FakeCuda{};
      if (ingot_session_reset_state(session, &error)) return fail("reset of the state", error);
      if (fake_)
        reset_waits_ += fake_->waits - before.waits,
            reset_uploads_ += fake_->uploads - before.uploads;
    }
    if (!fill_inputs(o_, session, a_.dir, uint64_t(a_.items))) return 1;
    if (ingot_session_run(session, &error)) return fail("run on the GPU", error);
    add_branches(session, &branches_);
    if (const int status = hash_outputs(o_, session, &got, prints)) return status;
    for (size_t i = 0; i < got.size(); i++) {
      ingot_value_type type{};
      ingot_model_output(o_.model, uint32_t(i), &type);
      if (got[i] != expected[i])
        return std::fprintf(stderr, "output %s: other bits than %s\n", type.name,
                            a_.alike ? "in the first run" : "the CPU's"),
               1;
    }
    return 0;
  }

  int report(uint64_t free_before) const {
    const int64_t beyond = int64_t(free_before) - int64_t(free_after_) - int64_t(device_bytes_);
    std::printf(
        "gpu {\"on_gpu\": %" PRIu64 ", \"on_cpu\": %" PRIu64 ", \"launches\": %" PRIu64
        ", \"waits\": %" PRIu64 ", \"in_branches\": %" PRIu64 ", \"device_bytes\": %" PRIu64
        ", \"beyond_bytes\": %" PRId64
        ", \"counted\": %s, \"runs\": %d, \"first_result_ms\": %.3f, "
        "\"run_ms\": %.3f, \"p50_ms\": %.4f, \"p99_ms\": %.4f, \"latencies\": %zu, \"left\": %s}\n",
        stated_.on_gpu, stated_.on_cpu, stated_.launches, stated_.waits,
        a_.runs > 1 ? branches_.launches / uint64_t(a_.runs - 1) : 0, device_bytes_, beyond,
        fake_ ? "true" : "false", a_.runs, first_result_ms_, run_ms_, quantile(latencies_, 0.5),
        quantile(latencies_, 0.99), latencies_.size(), left_.c_str());
    return 0;
  }

  const Arguments& a_;
  Opened& o_;
  const Answers& expected_;
  const bool prints_;
  size_t runs_ = 0;
  uint64_t reset_waits_ = 0, reset_uploads_ = 0;
  FakeCuda* fake_;
  DeviceMemory memory_;
  Stated stated_, branches_;
  std::string left_;
  uint64_t device_bytes_ = 0, free_after_ = 0;
  double first_result_ms_ = 0, run_ms_ = 0;
  std::vector<double> latencies_;
};

/// Every kernel of this build for the first GPU, looked up: loads each module, with the time.
int load_modules() {
  using namespace ingot::cuda;
  const char* problem = driver().problem;
  if (!problem) problem = gpu_facts(0).problem;
  if (problem) return std::printf("[skip] modules: %s\n", problem), 77;
  ingot::Device device;
  device.name = kGpuNames[0];
  ingot::ErrorDetail detail;
  Gpu gpu;
  if (!hold_gpu(device, &gpu, &detail).ok())
    return std::fprintf(stderr, "context: %s\n", detail.field ? detail.field : "refused"), 1;
  int found = 0, lacking = 0;
  {
    const Current current(gpu.context);
    const char* unit = "";
    auto began = Clock::now();
    int of_unit = 0;
    const auto end_unit = [&] {
      if (*unit)
        std::printf("module %s: %d kernels, %.1f ms\n", unit, of_unit, milliseconds_since(began));
    };
    for (size_t i = 0; i < ingot_cuda_kernel_set.kernels.size; i++) {
      const ingot::GpuKernel& kernel = ingot_cuda_kernel_set.kernels[i];
      if (unit != ingot_cuda_kernel_set.units[kernel.unit]) {
        end_unit();
        unit = ingot_cuda_kernel_set.units[kernel.unit], began = Clock::now(), of_unit = 0;
      }
      Function function = nullptr;
      if (find_function(gpu, device, uint16_t(i), &function, &detail).ok()) {
        found++, of_unit++;
        continue;
      }
      lacking++;
      std::printf("[skip] %s: %s\n", kernel.name, detail.field ? detail.field : "not loaded");
    }
    end_unit();
  }
  drop_gpu(gpu);
  std::printf("modules: %d kernels found, %d not\n", found, lacking);
  // What decides inside graphs wants a compiler and a driver of its own.
  return lacking > 1 ? 1 : 0;
}

/// What is asked of the first GPU without a model.
int tell_gpu(const std::string& what) {
  const char* problem = ingot::cuda::driver().problem;
  const ingot::cuda::GpuFacts none = {};
  const ingot::cuda::GpuFacts& facts = problem ? none : ingot::cuda::gpu_facts(0);
  if (!problem) problem = facts.problem;
  if (problem) return std::fprintf(stderr, "%s\n", problem), 77;
  if (what == "--name") return std::printf("%s\n", facts.name), 0;
  if (what == "--facts") {
    const char* const library = ingot::cuda::driver().library;
    return std::printf("%s\t%d\t%d\t%s\n", facts.name, facts.sm, int(facts.is_exclusive),
                       library ? library : ""),
           0;
  }
  const DeviceMemory held;
  std::printf("holds a context: %" PRIu64 " bytes free\n", held.free_bytes());
  std::fflush(stdout);
  for (;;) pause();
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* what : {"--name", "--facts", "--hold"})
    if (argc == 2 && std::strcmp(argv[1], what) == 0) return tell_gpu(what);
  if (argc == 2 && std::strcmp(argv[1], "--modules") == 0) return load_modules();
  Arguments a;
  if (!parse(argc, argv, &a))
    return std::fprintf(
               stderr,
               "usage: gpu_runner MODEL.ingot DIR [--device cuda] [--runs N] [--seconds "
               "S] [--items N] [--alike] [NAME=1x2x3 ...]\n       gpu_runner --name | --facts | "
               "--hold | --modules\n"),
           1;
  const char* problem = ingot::cuda::driver().problem;
  if (!problem) problem = ingot::cuda::gpu_facts(0).problem;
  if (problem) return std::printf("[skip] a model on a GPU: %s\n", problem), 77;
  {
    Opened o;
    if (const int status = open_raw(a.model, ingot_cpu_kernels(nullptr), INGOT_MAP_SHARE,
                                    int(a.shapes.size()), a.shapes.data(), &o))
      return status;
    o.options.threads = 1;
    Answers expected;
    const char* const first = a.alike ? a.device.c_str() : "cpu";
    if (const int status = first_answers(first, &o, a, std::min(a.runs, 8), &expected))
      return status;
    if (const int status = OnGpu(a, &o, expected, true).run()) return status;
    if (decides(o)) {
      o.options.flags |= INGOT_HOST_BRANCHES;
      a.runs = std::min(a.runs, 3), a.seconds = 0;
      if (const int status = OnGpu(a, &o, expected, false).run()) return status;
    }
  }
  const FakeCuda* fake = find_fake();
  return fake ? check_nothing_alive(*fake) : 0;
}
