// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/conversion/check_oracle.h"

#include "kernels/cpu/cpu_kernels.h"
#include "tools/cli/conversion/random_run.h"
#include "tools/cli/output/terminal.h"
#include "tools/diagnose/program/check_instructions.h"
#include "tools/session/half_kernels.h"
#include "tools/session/program_view.h"

namespace ingot::cli {
const ingot_kernel_table* naive_kernels() {
  return reinterpret_cast<const ingot_kernel_table*>(oracle_kernels());
}

OracleCheck check_against_oracle(const std::string& path,
                                 const std::map<std::string, int64_t>& binding,
                                 const ingot_kernel_table* kernels) {
  Progress progress("checking " + path);
  const ingot_kernel_table* const oracle = naive_kernels();
  if (!kernels) kernels = chosen_kernels();
  if (kernels == oracle)
    host::fail(host::Exit::kUsage,
               "--check: compares with the naive kernels, which INGOT_CPU_ISA=oracle chooses "
               "itself; leave that out, or give --golden FILE.npz");
  OpenSettings naive;
  naive.kernels = oracle;
  // One after the other, so that the file's pages are not resident twice.
  progress.show("running the naive kernels");
  const std::vector<host::Array> expected = run_on_made_inputs(path, naive, binding).results;
  progress.show("running");
  OpenSettings chosen;
  chosen.kernels = kernels;
  const std::vector<host::Array> found = run_on_made_inputs(path, chosen, binding).results;
  check::CompareOptions options;  // of halves on a CPU that multiplies them
  options.stored = product_type(ProgramView(path, {}).program().precision,
                                reinterpret_cast<const KernelTable*>(kernels));
  OracleCheck check;
  bool passed = true;
  for (size_t i = 0; i < expected.size(); i++) {
    check.values.push_back({check::compare(expected[i].name, expected[i], found[i], options),
                            expected[i].dims, false});
    passed &= check.values.back().comparison.passed;
  }
  if (passed) return check;
  progress.show("running instruction by instruction");
  InstructionChecker instructions(kernels, oracle);
  OpenSettings watched;
  watched.kernels = instructions.table();
  SessionSettings one_thread;
  one_thread.threads = 1;
  (void)run_on_made_inputs(path, watched, binding, one_thread);
  if (instructions.has_all()) check.instructions = instructions.result();
  return check;
}

}  // namespace ingot::cli
