// SPDX-License-Identifier: Apache-2.0
// ingot run - one run on the caller's arrays.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli/inputs/frames.h"
#include "tools/cli/options/session_options.h"
#include "tools/cli/output/terminal.h"
#include "tools/cli/profile/profile.h"
#include "tools/diagnose/steps/stream.h"
#include "tools/files/output_file.h"
#include "tools/files/suggest.h"
#include "tools/session/feed.h"
#include "tools/session/metadata.h"
#include "tools/session/program_view.h"
#include "tools/session/source_tensors.h"
#include "tools/session/state_files.h"

namespace ingot::cli {
namespace {

using host::Array;
using host::Exit;
using host::fail;

constexpr uint32_t kMaxTracedInstructions = 1 << 16;

struct RunArguments {
  std::string file, inputs, outputs, profile, dump, load_state, save_state;
  SessionArguments session;
};

/// Intermediates as mid:NAME. Values without a name, constants and what an instruction never wrote
/// are left out of "all".
void dump_values(Engine* engine, const std::string& which, std::vector<Array>* out) {
  const SourceTensors tensors(*engine);
  const std::vector<std::string>& names = tensors.names();
  if (which != "all" && !std::count(names.begin(), names.end(), which))
    fail(Exit::kMismatch, "--dump " + which + ": " + engine->path() + " has no value of that name" +
                              host::did_you_mean(which, names));
  for (const std::string& name :
       which == "all" ? tensors.shown() : std::vector<std::string>{which}) {
    Array array;
    std::string why;
    if (tensors.take(engine, name, &array, &why)) {
      array.name = "mid:" + name;
      out->push_back(std::move(array));
    } else if (which != "all") {
      fail(Exit::kMismatch, engine->path() + ": value '" + name + "': " + why);
    }
  }
}

/// Bytes, operations and source nodes of every instruction.
std::vector<InstructionFacts> facts_of(const Engine& engine) {
  const ProgramView view(engine.path(), engine.bindings());
  const Metadata metadata = read_metadata(engine);
  std::vector<InstructionFacts> all;
  for (const InstructionDef& instruction : view.program().instructions) {
    InstructionFacts facts;
    facts.bytes = view.bytes_moved(instruction);
    facts.flops = 2 * view.multiply_adds(instruction);
    for (uint32_t s = 0; s < instruction.source_count; s++) {
      if (instruction.sources[s] >= metadata.nodes.size()) continue;
      const Metadata::Node& node = metadata.nodes[instruction.sources[s]];
      facts.sources.push_back(node.op + " " + (node.name.empty() ? node.output : node.name));
    }
    all.push_back(std::move(facts));
  }
  return all;
}

/// meta.steps of the arrays, so that there is a run for each step.
bool is_stream(const std::vector<Array>& arrays) {
  const Array* meta = find_array(arrays, "meta");
  return meta && meta->is_text && meta->text.find("\"steps\"") != std::string::npos;
}

/// Every step of a stream, what is fed back included; outputs with a leading axis of steps.
std::vector<Array> run_stream(const RunArguments& a, Engine* engine,
                              const SessionSettings& settings, Profile* profile) {
  const check::Golden golden =
      check::read_golden(a.inputs, engine->input_names(), engine->output_names(), false);
  Stream stream(engine, golden);
  engine->bind_dims(a.session.bindings());
  stream.bind_shapes();
  engine->create_session(settings);
  if (!a.load_state.empty()) load_state(engine, a.load_state);
  if (!a.profile.empty()) profile->watch(engine->session().get());
  std::vector<std::string> notes;
  std::vector<Array> outputs = stream.run(&notes, a.load_state.empty()).outputs;
  outputs.resize(engine->summary().output_count);  // state goes to --save-state
  return outputs;
}

/// One run on one set of inputs.
std::vector<Array> run_once(const RunArguments& a, const std::vector<Array>& arrays, Engine* engine,
                            const SessionSettings& settings, Profile* profile) {
  const auto inputs = match_inputs(*engine, arrays, a.inputs);
  bind_from_inputs(engine, inputs, a.session.bindings(), a.inputs);
  profile->phase("read inputs");
  engine->create_session(settings);
  profile->phase("create session");
  if (!a.load_state.empty()) load_state(engine, a.load_state);
  for (uint32_t i = 0; i < inputs.size(); i++) {
    engine->set_input(i, *inputs[i], input_place(a.inputs, engine->input(i).name));
  }
  if (!a.profile.empty()) profile->watch(engine->session().get());
  engine->run();
  return engine->take_outputs();
}

int run_model(const RunArguments& a) {
  host::refuse_path_overlap({a.outputs, a.profile, a.save_state}, {a.file, a.inputs});
  host::refuse_path_overlap({a.outputs, a.profile}, {a.load_state});
  SessionSettings settings = a.session.session_settings();
  (void)a.session.bindings();  // what is mistyped fails before anything is read
  if (!a.dump.empty()) settings.flags |= INGOT_KEEP_VALUES;
  Profile profile;
  OpenSettings open = a.session.open_settings();
  std::unique_ptr<TracedKernels> traced;
  if (!a.profile.empty()) {
    traced = std::make_unique<TracedKernels>(chosen_kernels(), kMaxTracedInstructions);
    open.kernels = traced->table();
  }
  Engine engine(a.file, open);
  profile.phase("open");
  const std::vector<Array> arrays = read_inputs(engine, a.inputs);
  std::vector<Array> outputs = is_stream(arrays) ? run_stream(a, &engine, settings, &profile)
                                                 : run_once(a, arrays, &engine, settings, &profile);
  profile.phase("run");
  if (!a.dump.empty()) dump_values(&engine, a.dump, &outputs);
  if (!a.save_state.empty()) save_state(&engine, a.save_state, a.load_state);
  host::write_npz(a.outputs, outputs);
  profile.phase("write outputs");
  if (!a.profile.empty()) {
    profile.set_facts(facts_of(engine));
    profile.write_chrome_trace(a.profile, traced.get());
  }
  return 0;
}

}  // namespace

void add_run(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<RunArguments>();
  CLI::App* command = add_command(
      app, chosen, "run", "Run a model on the arrays of an .npz",
      "  ingot run model.ingot --inputs in.npz --outputs out.npz\n"
      "  ingot run model.ingot --inputs in.npz --outputs out.npz --threads 1 --profile trace.json\n"
      "  ingot run model.ingot --inputs in.npz --outputs out.npz --dump all\n"
      "  ingot run camera.ingot --inputs frame.nv12 --outputs out.npz     # converted with "
      "--image\n"
      "  ingot run photos.ingot --inputs photo.jpg --outputs out.npz      # --image "
      "x=rgb:640x480\n"
      "  ingot run stream.ingot --inputs in.npz --outputs out.npz --load-state s.state "
      "--save-state s.state",
      [a] { return run_model(*a); });
  takes_plugins(command);
  reads_file(command->add_option("FILE", a->file, "the .ingot file")->required()->type_name(""));
  CLI::Option* inputs =
      command
          ->add_option("--inputs", a->inputs,
                       ".npz with an array NAME or in:NAME for each input (or one .npy); of "
                       "frames, their bytes alone, or a PNG or JPEG")
          ->required()
          ->type_name("IN.npz");
  reads_file(inputs);
  writes_file(
      command->add_option("--outputs", a->outputs, ".npz to write, an array NAME for each output")
          ->required()
          ->type_name("OUT.npz"));
  a->session.declare(command, true, "--max-run-seconds,--seconds");
  reads_file(
      command
          ->add_option("--load-state", a->load_state, "begin with the state that --save-state kept")
          ->type_name("FILE"));
  writes_file(
      command->add_option("--save-state", a->save_state, "keep the model's state after the run")
          ->type_name("FILE"));
  writes_file(command
                  ->add_option("--profile", a->profile,
                               "write a trace of every instruction (chrome://tracing, Perfetto)")
                  ->type_name("FILE"));
  command
      ->add_option("--dump", a->dump,
                   "write this value, or all, as mid:NAME beside the outputs, as the source has it "
                   "where it does")
      ->type_name("NAME|all");
}

}  // namespace ingot::cli
