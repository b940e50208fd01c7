// SPDX-License-Identifier: Apache-2.0
// tools/compile/convert/convert_source.cpp - from a source file to a file in memory: import,
// passes, lowering.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "tools/checkpoint/tensors/file_bytes.h"
#include "tools/compile/convert/convert.h"
#include "tools/compile/convert/fold_by_running.h"
#include "tools/compile/emit/record_weights.h"
#include "tools/compile/passes/quantize/quantize_weights.h"
#include "tools/compile/quantize/tables.h"
#include "tools/files/digest_text.h"
#include "tools/files/input_file.h"
#include "tools/files/standard_streams.h"
#include "tools/files/suggest.h"
#include "tools/files/work_budget.h"
#include "tools/graph/compute_single.h"
#include "tools/graph/dim_limit.h"
#include "tools/graph/port_quantization.h"
#include "tools/graph/random_state.h"

namespace ingot::convert {
namespace {

std::string sha256_of(const std::string& path) {
  host::InputStream file(path);
  Sha256 hash;
  std::vector<char> block(1 << 20);
  while (file) {
    file.read(block.data(), std::streamsize(block.size()));
    hash.update(block.data(), size_t(file.gcount()));
  }
  return host::digest_text(&hash);
}

/// What a program keeps from run to run becomes pairs of states, but for those that the caller
/// pairs himself.
template <class State>
void add_states(ConvertOptions& options, const std::vector<State>& states) {
  for (const State& state : states) {
    bool given = false;
    for (const StatePair& pair : options.states) given = given || pair.input == state.input;
    if (!given) options.states.push_back({state.input, state.output, state.init});
  }
}

/// The network of each run in the place of the whole one. Winograd's sums differ from those of a
/// single row, so that it is off: the bits are those of the whole with --winograd off.
void stream(graph::Model& model, ConvertOptions& options,
            std::vector<std::pair<std::string, std::string>>* metadata) {
  const StreamedNetwork streamed = stream_frames(model, options.stream);
  options.winograd = WinogradMode::kOff;
  add_states(options, streamed.states);
  for (const StreamState& state : streamed.states)
    if (state.has_channels_second)
      options.io_layout[state.input] = options.io_layout[state.output] = "nhwc";
  *metadata = streamed.metadata;
}

/// As --dtype w8 and w4 ask for. `used`: patterns of --keep-fp32 that tables matched.
void quantize_linear_weights(graph::Model* model, const ConvertOptions& options,
                             std::set<std::string> used) {
  const StorageOptions& storage = options.storage;
  std::vector<std::string> seen;
  passes::WeightQuantization how;
  how.bits = storage.weight_bits, how.block = storage.weight_block;
  how.keeps = [&](const std::string& name) {
    bool is_kept = false;
    if (!name.empty()) seen.push_back(name);
    for (const std::string& pattern : storage.keep_fp32)
      if (quantize::matches(pattern, name)) is_kept = true, used.insert(pattern);
    return is_kept;
  };
  const passes::WeightQuantizationReport made = passes::quantize_weights(*model, how);
  for (const std::string& pattern : storage.keep_fp32)
    if (!used.count(pattern))
      graph::fail_mismatch("--keep-fp32 " + pattern + ": no linear layer has such a name" +
                           host::did_you_mean(pattern, seen));
  if (made.linears == 0)
    graph::fail_mismatch("--dtype w" + std::to_string(how.bits) +
                         ": the network has no linear layer with constant weights that "
                         "it could store so; take --dtype fp16, or int8 with --calibrate");
  char text[256];
  std::snprintf(
      text, sizeof text,
      "weights: %u linear layers as int%d, %.3g MB instead of %.3g MB, %.1f dB; the worst "
      "has %.1f dB, '",
      made.linears, int(how.bits), double(made.bytes_after) / 1e6, double(made.bytes_before) / 1e6,
      made.signal_to_noise, made.worst_signal_to_noise);
  std::string said = text + made.worst + "'";
  if (made.kept) said += "; " + std::to_string(made.kept) + " linear layers stay f32";
  if (made.others)
    said += "; " + std::to_string(made.others) + " convolutions and recurrent layers stay f32";
  model->notes.push_back(said);
}

}  // namespace

namespace {

ConversionResult convert_checked(const Source& opened, const ConvertOptions& given) {
  const std::string& source = opened.path();
  ConvertOptions options = given;
  const auto tell = [&](const char* stage, double done) {
    if (options.progress) options.progress(stage, done);
  };
  importer::ImportOptions wanted;
  for (const std::string& argument : options.input_shapes)
    importer::add_input_shape(wanted, argument);
  for (const std::string& argument : options.dims) importer::add_dim(wanted, argument);
  for (const std::string& argument : options.input_types)
    importer::add_input_type(wanted, argument);
  for (const std::string& argument : options.arguments) importer::add_argument(wanted, argument);
  wanted.max_elements = options.max_elements;
  wanted.context = options.context;
  wanted.cache = options.cache;
  wanted.slots = options.slots;
  wanted.lookup = options.lookup;
  wanted.full_windows = options.full_windows;
  wanted.keep_blocks = options.keep_blocks;
  // products of halves multiply f32 here
  wanted.keep_halves = options.keep_blocks && options.precision == 0;
  wanted.blocks = options.blocks;
  if (options.blocks)
    wanted.progress = [&](double done) { tell("quantizing weights", 0.3 * done); };
  wanted.expected_inputs = options.expected_inputs;
  wanted.signature = options.signature;
  importer::set_exact_to(wanted, options.exact_to);
  overlay::OverlayReport used;
  if (!options.weights.checkpoint.empty()) {
    wanted.replace_weights = [&](graph::Model& model, const graph::WeightSites& sites) {
      used = overlay::overlay_weights(model, sites, options.weights);
    };
    wanted.replace_tensors = [&](checkpoint::Checkpoint& tensors) {
      std::vector<std::string> notes;
      used = overlay::overlay_tensors(tensors, options.weights, &notes);
      return notes;
    };
  }
  tell("import", 0);
  const host::WorkBudget budget(source, host::file_bytes(source));
  uint64_t weights_bytes = opened.bytes();
  if (!options.weights.checkpoint.empty())
    weights_bytes = std::max(weights_bytes, checkpoint::file_bytes(options.weights.checkpoint));
  // What conversion has resident at most (tools/files/spill_file.h).
  host::require_memory(source + ": conversion", weights_bytes / 10 * 13);
  importer::Program imported = opened.import(wanted);
  graph::Model& model = imported.model;
  add_states(options, imported.states);
  if (graph::count_random_runs(model)) {
    add_states(options,
               std::vector<importer::State>{{graph::kRandomState, graph::kNextRandomState, 0}});
    model.notes.push_back(std::string("draws random numbers: the state variable '") +
                          graph::kRandomState + "' holds the seed and the number of the run");
  }
  graph::record_quantization(&model);
  graph::compute_in_single(model);
  const size_t folded = fold_by_running(model, options);
  if (options.rewrite) options.rewrite(model);
  std::set<std::string> kept_tables;
  if (options.storage.weight_bits) {
    quantize::Keep keep;
    keep.patterns = options.storage.keep_fp32;
    quantize::quantize_tables(model, keep, &kept_tables);
  }
  std::vector<std::pair<std::string, std::string>> stream_metadata;
  if (options.stream.is_wanted()) stream(model, options, &stream_metadata);
  // tiles of a patch would begin elsewhere than those of the whole
  if (options.min_ram.is_wanted) options.winograd = WinogradMode::kOff;
  insert_images(model, options.images);
  if (options.observe) options.observe("import", model);
  tell("passes", 0.3);
  passes::PassOptions pass_options;
  pass_options.io_layout = options.io_layout;
  pass_options.observe = options.observe;
  std::vector<passes::PassRecord> records = passes::run_passes(model, pass_options);
  if (folded) records.insert(records.begin(), {"fold by running", uint32_t(folded), {}});
  if (options.storage.weight_bits) quantize_linear_weights(&model, options, kept_tables);
  const std::string weights_from =
      options.weights.checkpoint.empty() ? opened.weights() : options.weights.checkpoint;
  options.name_weights = [&](const ProgramSpec& program) {
    return name_weights(weights_from, program);
  };
  ConversionResult result = convert_model(std::move(model), options, std::move(records));
  result.file.text = std::move(imported.text);
  if (!host::is_standard_input(source))  // which has no name
    result.file.metadata.source_file = std::filesystem::path(source).filename().string();
  result.file.metadata.source_sha256 = sha256_of(source);
  if (!options.exact_to.empty())
    result.file.metadata.entries.push_back({"ingot.exact_to", options.exact_to});
  if (!result.report.min_ram.regions.empty())
    result.file.metadata.entries.push_back({"ingot.min_ram", result.report.min_ram.text()});
  for (const auto& [key, value] : stream_metadata)
    result.file.metadata.entries.push_back({key, value});
  for (const std::string& argument : options.arguments) {
    const size_t at = argument.rfind('=');
    result.file.metadata.entries.push_back(
        {"ingot.argument." + argument.substr(0, at), argument.substr(at + 1)});
  }
  if (!options.weights.checkpoint.empty()) {
    const std::string& weights = options.weights.checkpoint;
    result.file.metadata.entries.push_back(
        {"ingot.weights", std::filesystem::path(weights).filename().string()});
    result.file.metadata.entries.push_back({"ingot.weights_sha256", sha256_of(weights)});
  }
  tell("weights", 1);
  record_weights(weights_from, used, options, &result);
  return result;
}

}  // namespace

ConversionResult convert_source(const Source& source, const ConvertOptions& given) {
  try {
    return convert_checked(source, given);
  } catch (const graph::DimError& error) {  // behind the import, which names the node
    graph::fail_conversion(graph::exit_code(error), source.path(), error.what());
  }
}

}  // namespace ingot::convert
