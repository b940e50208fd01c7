// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/conversion/random_run.h"

#include <chrono>

#include "tools/session/make_inputs.h"

namespace ingot::cli {

RandomRun run_on_made_inputs(const std::string& path, const OpenSettings& settings,
                             const std::map<std::string, int64_t>& binding,
                             const SessionSettings& session) {
  Engine engine(path, settings);
  std::map<std::string, int64_t> dims;
  for (const std::string& symbol : engine.symbol_names())
    if (const auto at = binding.find(symbol); at != binding.end()) dims[symbol] = at->second;
  engine.bind_dims(dims);
  engine.assume_rest();
  engine.create_session(session);
  for (uint32_t i = 0; i < engine.summary().input_count; i++)
    engine.set_input(i, make_input(engine, i, engine.session().input(i).value()),
                     path + ": random input");
  const auto begin = std::chrono::steady_clock::now();
  engine.run();
  RandomRun done;
  done.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (uint32_t o = 0; o < engine.summary().output_count; o++)
    done.results.push_back(engine.take_output(o));
  for (uint32_t i = 0; i < engine.summary().state_count; i++)
    done.results.push_back(
        copy_out(engine.state_tensor(i), "state " + std::string(engine.state(i).type.name)));
  return done;
}

}  // namespace ingot::cli
