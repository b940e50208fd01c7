// SPDX-License-Identifier: Apache-2.0
// Control flow on a GPU, decided inside its graphs and by the host, compared with the CPU: the
// bits, what was taken, what is refused; then one program many times, with the time of both ways.
// Over the driver's stand-in (INGOT_CUDA_DRIVER), or on the machine's GPU, where it comes before
// any model: nothing else in this tree has a node that decides. Without a GPU exit 77.
#include "tests/cuda/hardware/branches_gpu.h"

#include <chrono>
#include <cstdio>
#include <functional>

#include "kernels/cpu/cpu_kernels.h"
#include "runtime/device/cuda/gpu.h"
#include "tests/cuda/branch_inputs.h"

using namespace ingot;
using namespace ingot::test;

namespace {

using Clock = std::chrono::steady_clock;
int passed, failed;

void check(bool holds, const std::string& what) {
  (holds ? passed : failed)++;
  if (!holds) std::printf("ERROR %s\n", what.c_str());
}

ingot_session_options on(const char* device, uint32_t flags = 0) {
  ingot_session_options options = session_options();
  options.device = device;
  options.flags = flags;
  options.threads = 1;
  return options;
}

/// Bytes of all outputs.
std::vector<uint8_t> outputs_of(const Session& session, uint32_t count) {
  std::vector<uint8_t> all;
  for (uint32_t i = 0; i < count; i++) {
    const ingot_tensor t = session.output(i).value();
    all.insert(all.end(), static_cast<const uint8_t*>(t.data),
               static_cast<const uint8_t*>(t.data) + t.bytes);
  }
  return all;
}

struct Case {
  std::string name;
  std::function<void(Session&)> fill;
};

/// Both ways compared with the CPU; a case that the CPU refuses is refused by name.
void compare(const char* network, convert::FileSpec spec, const std::vector<Case>& cases) {
  FileBytes bytes(spec);
  Model model =
      open_bytes_or_fail(bytes, reinterpret_cast<const ingot_kernel_table*>(cpu_kernels("scalar")));
  const uint32_t outputs = model.summary().output_count;
  Session cpu = make(model, on("cpu")), host = make(model, on("cuda", INGOT_HOST_BRANCHES)),
          gpu = make(model, on("cuda"));
  if (gpu.branch(0).why[0]) std::printf("%s: decided by the CPU: %s\n", network, gpu.branch(0).why);
  for (int round = 0; round < 2; round++)  // again, from what the first left in memory
    for (const Case& one : cases) {
      const std::string where = std::string(network) + ", " + one.name;
      for (Session* s : {&cpu, &host, &gpu}) one.fill(*s);
      const auto expected = cpu.run(), by_host = host.run(), by_gpu = gpu.run();
      check(expected.ok() == by_gpu.ok() && expected.error().code == by_gpu.error().code,
            where + ": another result than the CPU's");
      check(expected.ok() == by_host.ok(), where + ": by the host, another result than the CPU's");
      if (!expected.ok()) {
        check(expected.error().instruction == by_gpu.error().instruction,
              where + ": another instruction refused");
        continue;
      }
      check(outputs_of(gpu, outputs) == outputs_of(cpu, outputs),
            where + ": other bits than the CPU's");
      check(outputs_of(host, outputs) == outputs_of(cpu, outputs),
            where + ": by the host, other bits than the CPU's");
      for (uint32_t i = 0; gpu.branch(i).name; i++)
        check(gpu.branch(i).taken == host.branch(i).taken,
              where + ": taken another number of times: " + gpu.branch(i).name);
    }
}

/// 100 iterations: the same bits each time, and what a run takes.
void replay(int runs) {
  FileBytes bytes(looping_network(100));
  Model model =
      open_bytes_or_fail(bytes, reinterpret_cast<const ingot_kernel_table*>(cpu_kernels("scalar")));
  std::vector<uint8_t> first;
  for (const uint32_t flags : {0u, uint32_t(INGOT_HOST_BRANCHES)}) {
    Session gpu = make(model, on("cuda", flags));
    fill_loop(gpu, {100, -1});
    bool same = gpu.run().ok();
    if (first.empty()) first = outputs_of(gpu, 2);
    const auto began = Clock::now();
    for (int i = 0; i < runs && same; i++) same = gpu.run().ok() && outputs_of(gpu, 2) == first;
    const double us =
        std::chrono::duration<double, std::micro>(Clock::now() - began).count() / runs;
    check(same, "a loop of 100 iterations: another result in some run");
    std::printf(
        "a loop of 100 iterations, 3 small kernels each, decided %s: %.1f us a run, %d runs\n",
        gpu.branch(0).on_device ? "inside the graph" : "by the host", us, runs);
  }
}

std::vector<Case> loops(const std::vector<LoopInputs>& all) {
  std::vector<Case> cases;
  for (const LoopInputs& in : all)
    cases.push_back({"count " + std::to_string(in.count) + ", end " + std::to_string(in.end),
                     [in](Session& s) { fill_loop(s, in); }});
  return cases;
}

std::vector<Case> nested() {
  std::vector<Case> cases;
  for (const bool outer : {true, false})
    for (const bool inner : {true, false})
      for (const LoopInputs in : {LoopInputs{0, 0}, {1, 0}, {5, 3}, {100, 99}, {101, 0}})
        cases.push_back({std::string(outer ? "outer, " : "not outer, ") +
                             (inner ? "inner, " : "not inner, ") + std::to_string(in.count),
                         [=](Session& s) { fill_nested(s, outer, inner, in); }});
  return cases;
}

std::vector<Case> loops_in_loops() {
  std::vector<Case> cases;
  for (const int64_t outer : {0, 1, 8})
    for (const int64_t inner : {0, 5, 8, 9})
      cases.push_back({std::to_string(outer) + " x " + std::to_string(inner), [=](Session& s) {
                         write(s.input("outer"), std::vector<int64_t>{outer});
                         write(s.input("inner"), std::vector<int64_t>{inner});
                         write(s.input("x"), ramp(32));
                       }});
  return cases;
}

std::vector<Case> flags() {
  std::vector<Case> cases;
  for (const uint8_t flag : {0, 1})  // the file has no branch for 1
    cases.push_back({flag ? "true" : "false", [=](Session& s) {
                       write(s.input("flag"), std::vector<uint8_t>{flag});
                       write(s.input("x"), std::vector<float>(8, 2.0f));
                     }});
  return cases;
}

std::vector<Case> indices() {
  std::vector<Case> cases;
  for (const int bad : {-1, 0, 2}) {
    std::vector<int64_t> all = {3, 1, 0, 2};
    if (bad >= 0) all[size_t(bad)] = 99;
    cases.push_back({"bad index at " + std::to_string(bad),
                     [=](Session& s) { write(s.input("indices"), all); }});
  }
  return cases;
}

}  // namespace

int test::run_branches(int replays) {
  const char* problem = cuda::driver().problem;
  if (!problem) problem = cuda::gpu_facts(0).problem;
  if (problem) return std::printf("[skip] control flow on a GPU: %s\n", problem), 77;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a GPU that hangs leaves what came before
  compare("a branch that is missing", one_sided_network(), flags());
  for (const bool known : {true, false})
    compare(
        "a count of the file's", counted_network(known),
        {{known ? "in the program" : "a weight", [](Session& s) { write(s.input(0), ramp(32)); }}});
  compare("a loop", looping_network(),
          loops({{0, 0}, {1, 100}, {2, 0}, {3, 1}, {3, 100}, {-4, 0}, {4, 0}}));
  compare("a fault in a loop", indexing_network(), indices());
  compare("Ifs and a loop", nested_network(), nested());
  compare("loops in loops", loop_in_loop_network(8, 8), loops_in_loops());
  replay(replays);
  std::printf("branches: %d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
