#include "tools/cli/check_oracle.h"

#include <cstring>

#include "kernels/cpu/cpu_kernels.h"
#include "tools/cli/make_inputs.h"
#include "tools/cli/terminal.h"

namespace ingot::cli {

std::vector<CheckedValue> check_against_oracle(const std::string& path, const std::map<std::string, int64_t>& binding) {
  Progress progress("checking " + path);
  if (chosen_kernels() == reinterpret_cast<const ingot_kernel_table*>(oracle_kernels()))
    host::fail(host::Exit::kUsage,
               "--check: compares with the naive kernels, which INGOT_CPU_ISA=oracle chooses "
               "itself; leave that out, or give --golden FILE.npz");
  OpenSettings naive;
  naive.kernels = reinterpret_cast<const ingot_kernel_table*>(oracle_kernels());
  Engine fast(path), oracle(path, naive);
  std::map<std::string, int64_t> dims;
  for (const std::string& symbol : fast.symbol_names()) {
    const auto at = binding.find(symbol);
    if (at != binding.end()) dims[symbol] = at->second;
  }
  for (Engine* engine : {&fast, &oracle}) {
    engine->bind_dims(dims);
    engine->create_session({});
    for (uint32_t i = 0; i < engine->summary().input_count; i++) {
      engine->set_input(i, make_input(*engine, i, engine->session().input(i).value()), path + ": made input");
    }
    progress.show(engine == &fast ? "running" : "running the naive kernels");
    engine->run();
  }
  std::vector<CheckedValue> values;
  for (uint32_t o = 0; o < fast.summary().output_count; o++) {
    const host::Array expected = oracle.take_output(o);
    values.push_back({check::compare(expected.name, expected, fast.take_output(o), {}), expected.dims, false});
  }
  for (uint32_t i = 0; i < fast.summary().state_count; i++) {
    const host::Array expected = copy_out(oracle.state_tensor(i), "state " + std::string(oracle.state(i).type.name));
    values.push_back({check::compare(expected.name, expected, copy_out(fast.state_tensor(i), expected.name), {}),
                      expected.dims, false});
  }
  return values;
}

}  // namespace ingot::cli
