// ingot run - one run on the caller's arrays.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli/feed.h"
#include "tools/cli/profile.h"
#include "tools/cli/session_options.h"
#include "tools/cli/terminal.h"
#include "tools/files/output_file.h"
#include "tools/files/suggest.h"

namespace ingot::cli {
namespace {

using host::Array;
using host::Exit;
using host::fail;

struct Arguments {
  std::string file, inputs, outputs, profile, dump;
  SessionArguments session;
};

/// Intermediates as mid:NAME. Values without a name, constants and what an instruction never wrote are left out of
/// "all".
void dump_values(Engine* engine, const std::string& which, std::vector<Array>* out) {
  std::vector<std::string> names;
  for (uint32_t v = 0; v < engine->summary().value_count; v++) {
    ingot_value_type type{};
    ingot_model_value(engine->model().get(), v, &type);
    const std::string name = type.name;
    if (name.empty() || type.kind == 1) continue;
    names.push_back(name);
    if (which != "all" && which != name) continue;
    if (find_array(*out, "mid:" + name)) continue;
    ingot_tensor tensor{};
    Error error;
    if (ingot_session_value(engine->session().get(), v, &tensor, &error) != INGOT_OK) {
      if (which == "all") continue;
      fail_with(engine->path() + ": value '" + name + "'", error);
    }
    if (tensor.data || tensor.bytes == 0) out->push_back(copy_out(tensor, "mid:" + name));
  }
  if (which != "all" && !find_array(*out, "mid:" + which)) {
    fail(Exit::kMismatch,
         "--dump " + which + ": " + engine->path() + " has no value of that name" + host::did_you_mean(which, names));
  }
}

int run(const Arguments& a) {
  SessionSettings settings = a.session.session_settings();
  const auto dims = a.session.bindings();
  if (!a.dump.empty()) settings.flags |= INGOT_KEEP_VALUES;
  Profile profile;
  Engine engine(a.file, a.session.open_settings());
  profile.phase("open");
  const std::vector<Array> arrays = host::read_npz(a.inputs);
  const auto inputs = match_inputs(engine, arrays, a.inputs);
  bind_from_inputs(&engine, inputs, dims, a.inputs);
  profile.phase("read inputs");
  engine.create_session(settings);
  profile.phase("create session");
  for (uint32_t i = 0; i < inputs.size(); i++) {
    engine.set_input(i, *inputs[i], input_place(a.inputs, engine.input(i).name));
  }
  if (!a.profile.empty()) profile.watch(engine.session().get());
  engine.run();
  profile.phase("run");
  std::vector<Array> outputs;
  for (uint32_t i = 0; i < engine.summary().output_count; i++) outputs.push_back(engine.take_output(i));
  if (!a.dump.empty()) dump_values(&engine, a.dump, &outputs);
  host::write_npz(a.outputs, outputs);
  profile.phase("write outputs");
  if (!a.profile.empty()) profile.write_chrome_trace(a.profile);
  return 0;
}

}  // namespace

void add_run(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<Arguments>();
  CLI::App* command =
      add_command(app, chosen, "run", "Run a model once on the arrays of an .npz",
                  "  ingot run model.ingot --inputs in.npz --outputs out.npz\n"
                  "  ingot run model.ingot --inputs in.npz --outputs out.npz --threads 1 --profile trace.json\n"
                  "  ingot run model.ingot --inputs in.npz --outputs out.npz --dump all",
                  [a] { return run(*a); });
  command->add_option("FILE", a->file, "the .ingot file")->required()->type_name("");
  command->add_option("--inputs", a->inputs, ".npz with an array NAME or in:NAME for each input (or one .npy)")
      ->required()
      ->type_name("IN.npz");
  command->add_option("--outputs", a->outputs, ".npz to write, an array NAME for each output")
      ->required()
      ->type_name("OUT.npz");
  a->session.declare(command, true);
  command->add_option("--profile", a->profile, "write a trace of every instruction (chrome://tracing, Perfetto)")
      ->type_name("FILE");
  command
      ->add_option("--dump", a->dump, "write this value, or all, as mid:NAME beside the outputs, as it lies in memory")
      ->type_name("NAME|all");
}

}  // namespace ingot::cli
