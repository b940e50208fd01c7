// SPDX-License-Identifier: Apache-2.0
// trap_file - runs a file with the traps armed and says what they caught; for processors that are
// emulated, where a parent cannot trace its child (trap_runner does, and has models of its own).
//
//   trap_file MODEL.ingot THREADS [break]   inputs are zeros, dynamic dimensions at their least.
//   "break": the runs allocate, so that a check of this program can fail
//
// getppid() is called before and behind each run and nowhere else, so that whoever lists the system
// calls of this process finds those of the runs between them.
// Prints   runs N allocations A frees F ...   Exit 1 where a trap caught something.
#include <ingot/cpu.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ingot/ingot.hpp"
#include "tests/traps/traps.h"

using namespace ingot;
using namespace ingot::test;

namespace {

constexpr int kRuns = 20;

int complain(const char* what, const Error& error) {
  std::fprintf(stderr, "trap_file: %s: %s\n", what, error.text().c_str());
  return 1;
}

int run_armed(const char* path, int threads, bool breaks) {
  auto model = Model::open(path, open_options(ingot_cpu_kernels(nullptr)));
  if (!model) return complain("open", model.error());
  std::vector<ingot_binding> bindings;
  for (uint32_t i = 0; i < model->summary().symbol_count; i++) {
    ingot_symbol symbol;
    ingot_model_symbol(model->get(), i, &symbol);
    bindings.push_back({symbol.name, symbol.low});
  }
  ingot_session_options options = session_options();
  options.threads = threads;
  options.bindings = bindings.data(), options.binding_count = bindings.size();
  auto session = model->session(options);
  if (!session) return complain("session", session.error());
  const auto run = [&] {
    for (uint32_t i = 0; i < model->summary().input_count; i++) {
      const ingot_tensor tensor = session->input(i).value();
      std::memset(tensor.data, 0, tensor.bytes);
    }
    Error error;
    (void)getppid();
    if (breaks) {
      void* volatile taken = std::malloc(1 << 20);  // else a compiler drops both
      std::free(taken);
    }
    const ingot_code code = ingot_session_run(session->get(), &error);
    (void)getppid();
    return code == INGOT_OK ? 0 : complain("run", error);
  };
  if (run()) return 1;  // the first touches pages
  unsigned long counts[kTrapCount];
  arm_traps();
  int failed = 0;
  for (int i = 0; i < kRuns; i++) failed += run();
  disarm_traps(counts);
  std::printf("runs %d", kRuns);
  for (int i = 0; i < kTrapCount; i++) {
    std::printf(" %s %lu", kTrapNames[i], counts[i]);
    failed += counts[i] != 0;
  }
  std::printf("\n");
  return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: trap_file MODEL.ingot THREADS [break]\n");
    return 1;
  }
  if (!traps_work()) {
    std::fprintf(stderr, "trap_file: a trap does not see what it should\n");
    return 1;
  }
  return run_armed(argv[1], std::atoi(argv[2]), argc > 3 && !std::strcmp(argv[3], "break"));
}
