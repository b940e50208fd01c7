// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/commands/firmware_model.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <memory>

#include "ingot/micro.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tools/cli/conversion/conversion.h"
#include "tools/cli/conversion/convert_options_of.h"
#include "tools/cli/output/terminal.h"
#include "tools/compile/emit/kernel_table_source.h"
#include "tools/compile/firmware/flash_image.h"
#include "tools/compile/firmware/rows.h"
#include "tools/files/input_file.h"
#include "tools/session/make_inputs.h"
#include "tools/session/metadata.h"
#include "tools/session/program_view.h"
#include "tools/session/random.h"

namespace ingot::cli {
namespace {

/// A C identifier that no other model has.
std::string array_name(const std::string& path, std::set<std::string>* taken) {
  std::string name;
  for (const char c : std::filesystem::path(path).stem().string())
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "model_" + name;
  const std::string base = name;
  for (int n = 2; !taken->insert(name).second; n++) name = base + "_" + std::to_string(n);
  return name;
}

std::vector<uint8_t> read_all(const std::string& path) {
  host::InputStream in(path);
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(in), {});
}

/// All operators at once that the core has no kernel for. A file of `ingot convert` may have
/// chains, which the whole runtime takes on a microcontroller too.
void check_operators(const std::string& path, const ProgramView& view, bool was_converted) {
  std::set<OpCode> known;
  const micro::MicroKernelTable& rows = firmware::scalar_rows();
  for (uint32_t i = 0; i < rows.count; i++) known.insert(rows.rows[i].entry.op);
  std::string missing;
  bool only_chains = true;
  for (const InstructionDef& instruction : view.program().instructions) {
    if (is_control(instruction.op) || !known.insert(instruction.op).second) continue;
    only_chains &= instruction.op == OpCode::kChain || instruction.op == OpCode::kQuantizedChain;
    missing += (missing.empty() ? "" : ", ") + std::string(op_name(instruction.op));
  }
  if (missing.empty()) return;
  host::fail(host::Exit::kUnsupported,
             path + ": a microcontroller's core has no kernel for " + missing + "; " +
                 (only_chains && !was_converted
                      ? "chains are for the whole runtime: name the source instead of the file"
                      : "docs/firmware.md says what it runs"));
}

// Of the example of a model with state, one after the other.
constexpr uint32_t kStateRuns = 8;

/// What the device will say when it opens the image, asked here. `hint` ends a refusal.
uint32_t measure_arena(const std::string& path, const std::vector<uint8_t>& image,
                       const std::string& hint) {
  constexpr size_t kAmple = size_t{1} << 28;
  const AlignedBlock arena(kAmple), copy(image.size());
  std::copy(image.begin(), image.end(), static_cast<uint8_t*>(copy.at));
  ingot_micro model;
  ingot_micro_error error;
  const auto* rows = reinterpret_cast<const ingot_micro_kernels*>(&firmware::scalar_rows());
  if (ingot_micro_open(&model, copy.at, image.size(), rows, arena.at, kAmple, 0, &error) != 0)
    host::fail(host::Exit::kUnsupported,
               path + ": a microcontroller's core cannot run it: " + error.what +
                   (error.index >= 0 ? " (" + std::to_string(error.index) + ")" : "") +
                   ", expected " + std::to_string(error.need) + ", found " +
                   std::to_string(error.have) + "; " + hint);
  return ingot_micro_arena_bytes(&model);
}

/// Input i of run `run`. Integers that stand for numbers may be any.
host::Array random_input(Engine& engine, uint32_t i, uint32_t run) {
  host::Array array = make_input(engine, i, engine.session().input(i).value(), run);
  if (dtype_bytes(array.dtype) > 2 || !engine.model().quantization(array.name.c_str()).ok())
    return array;
  Random random{i + 1 + (uint64_t{run} << 32)};
  for (uint8_t& byte : array.bytes) byte = uint8_t(random.next());
  return array;
}

/// The case that the file carries, else random inputs, and the outputs of this machine. With state
/// there are further runs of random inputs.
void make_case(const std::string& path, firmware::ProjectModel* model) {
  Engine engine(path);
  SessionSettings settings;
  settings.device = "cpu", settings.threads = 1;
  engine.create_session(settings);
  ingot_golden* golden = nullptr;
  Error error;
  if (engine.summary().golden_bytes != 0 &&
      ingot_golden_open(engine.model().get(), &golden, &error) != INGOT_OK)
    fail_with(path + ": embedded golden", error);
  const std::unique_ptr<ingot_golden, void (*)(ingot_golden*)> closed(golden, ingot_golden_close);
  model->keeps_state = engine.summary().state_count != 0;
  model->runs = model->keeps_state ? kStateRuns : 1;
  for (uint32_t run = 0; run < model->runs; run++) {
    for (uint32_t i = 0; i < engine.summary().input_count; i++) {
      const ingot_value_type type = engine.input(i);
      const char* name = nullptr;
      ingot_tensor given = {};
      bool found = false;
      for (uint32_t k = 0; golden && run == 0 && !found; k++) {
        if (ingot_golden_input(golden, 0, k, &name, &given) != INGOT_OK) break;
        found = std::string(name) == type.name;
      }
      const host::Array array = found ? copy_out(given, type.name) : random_input(engine, i, run);
      engine.set_input(i, array, path);
      model->inputs.insert(model->inputs.end(), array.bytes.begin(), array.bytes.end());
    }
    engine.run();
    for (const host::Array& array : engine.take_outputs())
      model->outputs.insert(model->outputs.end(), array.bytes.begin(), array.bytes.end());
  }
}

std::vector<firmware::PortQuantization> quantization_of(const Engine& engine) {
  std::vector<firmware::PortQuantization> all;
  const auto add = [&](const char* kind, uint32_t index, const ingot_value_type& type) {
    if (const auto q = engine.model().quantization(type.name); q.ok())
      all.push_back({kind + std::to_string(index), q->scale, q->zero_point});
  };
  for (uint32_t i = 0; i < engine.summary().input_count; i++) add("INPUT_", i, engine.input(i));
  for (uint32_t i = 0; i < engine.summary().output_count; i++) add("OUTPUT_", i, engine.output(i));
  return all;
}

/// Dimensions that are the first of an input and of which nobody said anything else: batches.
std::vector<std::string> batches_of(const std::string& path) {
  const Engine engine(path);
  const std::vector<std::string> symbols = engine.symbol_names();
  std::set<std::string> first, others;
  for (uint32_t i = 0; i < engine.summary().input_count; i++) {
    const ingot_value_type type = engine.input(i);
    for (int32_t d = 0; d < type.rank; d++)
      if (type.dim_symbol[d] >= 0) (d ? others : first).insert(symbols[size_t(type.dim_symbol[d])]);
  }
  std::vector<std::string> batches;
  for (const std::string& name : first)
    if (!others.count(name)) batches.push_back(name);
  return batches;
}

/// The source with a batch of one where it leaves its batch open; where it is asked for an answer,
/// with one token in a run, and the context of prompt and answer if no other is given.
ConvertedFile converted(const std::string& source, convert::ConvertOptions options,
                        const AnswerArguments& answer) {
  ConvertedFile file(source, options);
  if (!file.was_converted()) return file;
  std::vector<std::string> batches = batches_of(file.path());
  const std::vector<std::string> symbols = Engine(file.path()).symbol_names();
  const bool has_tokens =
      answer.is_asked() && std::find(symbols.begin(), symbols.end(), "T") != symbols.end();
  if (has_tokens) {
    options.dims.push_back("T=1");
    if (!options.context) options.context = tokens_of(source, file.path(), answer);
  }
  batches.erase(std::remove(batches.begin(), batches.end(), "T"), batches.end());
  if (batches.empty() && !has_tokens) return file;
  for (const std::string& name : batches) {
    options.dims.push_back(name + "=1");
    note(source + ": '" + name + "' is the batch, which is 1; another: --dim " + name + "=NUMBER");
  }
  return ConvertedFile(source, options);
}

}  // namespace

void declare_firmware_conversion(CLI::App* command, ConvertArguments* to) {
  to->target = {"mcu"};
  declare_convert_options(command, to,
                          {"--dim", "--min-ram", "--max-work", "--context", "--weights"},
                          "Conversion of sources");
}

firmware::ProjectModel firmware_model(const std::string& source, const ConvertArguments& conversion,
                                      std::set<std::string>* names, const AnswerArguments& answer) {
  convert::ConvertOptions options = convert_options_of(conversion);
  options.for_core = true;
  const ConvertedFile file = converted(source, options, answer);
  if (!file.was_converted() && conversion.min_ram)
    host::fail(host::Exit::kUsage,
               source +
                   ": --min-ram is for a source, and this was converted already; convert it "
                   "again with --target mcu --min-ram");
  firmware::ProjectModel model;
  model.name = array_name(source, names);
  const ProgramView view(file.path(), {});
  if (!view.bound()) {
    std::string missing;
    for (const std::string& dim : view.open_dims()) missing += " --dim " + dim + "=NUMBER";
    host::fail(host::Exit::kMismatch, source +
                                          ": a firmware's dimensions are numbers; convert it with"
                                          " --target mcu" +
                                          missing);
  }
  check_operators(source, view, file.was_converted());
  model.kernels =
      convert::needed_kernels(view.program(), view.bound_program(), *cpu_kernels("scalar"));
  model.image = firmware::flash_image(read_all(file.path()), source);
  model.arena_bytes = measure_arena(
      source, model.image,
      !file.was_converted()
          ? "name the source instead of the file, so that it is converted for the core, or see "
            "docs/firmware.md"
      : answer.is_asked() ? "give a smaller --generate or --context, or see docs/firmware.md"
                          : "docs/firmware.md says what it runs");
  if (answer.is_asked())
    model.answer = make_answer(source, file.path(), answer), model.keeps_state = true;
  else
    make_case(file.path(), &model);
  model.source = std::filesystem::path(source).filename().string();
  const Engine engine(file.path());
  model.sha256 = read_metadata(engine).source_sha256;
  model.quantization = quantization_of(engine);
  return model;
}

}  // namespace ingot::cli
