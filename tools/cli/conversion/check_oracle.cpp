#include "tools/cli/conversion/check_oracle.h"

#include <cstring>

#include "kernels/cpu/cpu_kernels.h"
#include "tools/cli/output/terminal.h"
#include "tools/diagnose/program/check_instructions.h"
#include "tools/session/make_inputs.h"

namespace ingot::cli {
namespace {

/// Outputs, then states, on made inputs.
std::vector<host::Array> results_of(const std::string& path, const OpenSettings& settings,
                                    const std::map<std::string, int64_t>& binding,
                                    std::optional<uint32_t> threads = {}) {
  Engine engine(path, settings);
  std::map<std::string, int64_t> dims;
  for (const std::string& symbol : engine.symbol_names())
    if (const auto at = binding.find(symbol); at != binding.end()) dims[symbol] = at->second;
  engine.bind_dims(dims);
  SessionSettings session;
  if (threads) session.threads = *threads;
  engine.create_session(session);
  for (uint32_t i = 0; i < engine.summary().input_count; i++)
    engine.set_input(i, make_input(engine, i, engine.session().input(i).value()),
                     path + ": made input");
  engine.run();
  std::vector<host::Array> results;
  for (uint32_t o = 0; o < engine.summary().output_count; o++)
    results.push_back(engine.take_output(o));
  for (uint32_t i = 0; i < engine.summary().state_count; i++)
    results.push_back(
        copy_out(engine.state_tensor(i), "state " + std::string(engine.state(i).type.name)));
  return results;
}

}  // namespace

OracleCheck check_against_oracle(const std::string& path,
                                 const std::map<std::string, int64_t>& binding,
                                 const ingot_kernel_table* kernels) {
  Progress progress("checking " + path);
  const auto* const oracle = reinterpret_cast<const ingot_kernel_table*>(oracle_kernels());
  if (!kernels) kernels = chosen_kernels();
  if (kernels == oracle)
    host::fail(host::Exit::kUsage,
               "--check: compares with the naive kernels, which INGOT_CPU_ISA=oracle chooses "
               "itself; leave that out, or give --golden FILE.npz");
  OpenSettings naive;
  naive.kernels = oracle;
  // One after the other, so that the file's pages are not resident twice.
  progress.show("running the naive kernels");
  const std::vector<host::Array> expected = results_of(path, naive, binding);
  progress.show("running");
  OpenSettings chosen;
  chosen.kernels = kernels;
  const std::vector<host::Array> found = results_of(path, chosen, binding);
  OracleCheck check;
  bool passed = true;
  for (size_t i = 0; i < expected.size(); i++) {
    check.values.push_back(
        {check::compare(expected[i].name, expected[i], found[i], {}), expected[i].dims, false});
    passed &= check.values.back().comparison.passed;
  }
  if (passed) return check;
  progress.show("running instruction by instruction");
  InstructionChecker instructions(kernels, oracle);
  OpenSettings watched;
  watched.kernels = instructions.table();
  results_of(path, watched, binding, 1);
  if (instructions.has_all()) check.instructions = instructions.result();
  return check;
}

}  // namespace ingot::cli
