// tools/compile/convert/source.cpp - from a source file to a file in memory: import, passes,
// lowering.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "runtime/base/sha256.h"
#include "tools/checkpoint/tensors/file_bytes.h"
#include "tools/compile/convert/convert.h"
#include "tools/compile/emit/record_weights.h"
#include "tools/compile/passes/quantize/quantize_weights.h"
#include "tools/compile/quantize/tables.h"
#include "tools/files/file_kind.h"
#include "tools/files/input_file.h"
#include "tools/files/standard_streams.h"
#include "tools/files/suggest.h"
#include "tools/files/work_budget.h"
#include "tools/graph/compute_single.h"
#include "tools/graph/dim_limit.h"
#include "tools/graph/port_quantization.h"
#include "tools/graph/random_state.h"
#include "tools/import/common/state.h"
#include "tools/import/flux/import.h"
#ifdef INGOT_HAVE_JSON
#include "tools/import/keras/import.h"
#endif
#include "tools/import/onnx/describe.h"
#include "tools/import/onnx/import.h"
#include "tools/import/pt2/archive.h"
#include "tools/import/pt2/import.h"
#include "tools/import/tflite/import.h"
#include "tools/import/torchscript/import.h"

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
  uint8_t digest[32];
  hash.finish(digest);
  std::string text;
  for (const uint8_t byte : digest) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", byte);
    text += two;
  }
  return text;
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

/// Operators that quantize or compute on what is quantized.
bool has_integers(const graph::Model& model) {
  const auto is_one = [](const graph::Node& node) {
    const std::string name = text(node.op);
    return name.find("Quant") != std::string::npos || name.find("Integer") != std::string::npos;
  };
  return std::any_of(model.graph.nodes.begin(), model.graph.nodes.end(), is_one);
}

/// The content decides which importer. States of a program are added to the options.
graph::Model import_source(const std::string& path, const importer::ImportOptions& import,
                           ConvertOptions& options) {
  const bool zip = host::file_kind(path) == host::FileKind::kZip,
             is_tflite = host::file_kind(path) == host::FileKind::kTflite;
  if (!import.signature.empty() && !is_tflite)
    graph::fail_conversion(5, path + ": --signature is for TFLite models; this one has none");
  const bool is_onnx = host::file_kind(path) == host::FileKind::kOnnx;
  const bool can_choose = is_tflite || (is_onnx && import.exact_to == importer::ExactTo::kOnnx);
  if (import.exact_to != importer::ExactTo::kDefault && !can_choose)
    graph::fail_conversion(5, path + ": --exact-to " + importer::exact_to_name(import.exact_to) +
                                  (is_onnx ? ": an ONNX model has the integers of onnx"
                                           : ": is for quantized models of TFLite and ONNX"));
  if (torchscript::is_torchscript(path)) {
    torchscript::ImportOptions program_options;
    program_options.input_shapes = import.input_shapes;
    program_options.dims = import.dims;
    program_options.replace_weights = import.replace_weights;
    for (const std::string& argument : options.input_types)
      torchscript::add_input_type(program_options, argument);
    for (const std::string& argument : options.arguments)
      torchscript::add_argument(program_options, argument);
    torchscript::Program program = torchscript::import_torchscript(path, program_options);
    add_states(options, program.states);
    return std::move(program.model);
  }
  if (!options.input_types.empty() || !options.arguments.empty())
    graph::fail_conversion(5, path +
                                  ": --input-type and --argument are for TorchScript programs; "
                                  "this one says both itself");
  if (zip && pt2::is_exported_program(path)) return pt2::import_pt2(path, import);
#ifdef INGOT_HAVE_JSON
  if (keras::is_keras_model(path)) {
    keras::Program program = keras::import_keras(path, import);
    add_states(options, program.states);
    return std::move(program.model);
  }
#endif
  if (is_tflite) {
    if (import.replace_weights)
      graph::fail_conversion(4, path +
                                    ": weights of a TFLite model are not replaced by those of a "
                                    "checkpoint; convert it with its own");
    tflite::Program program = tflite::import_tflite(path, import);
    add_states(options, program.states);
    return std::move(program.model);
  }
  if (flux::is_flux_model(path)) return flux::import_flux(path, import);
  graph::Model model = onnx::import_onnx(path, import);
  if (import.exact_to == importer::ExactTo::kOnnx && !has_integers(model))
    graph::fail_conversion(5, path + ": --exact-to onnx: the model computes nothing in integers");
  return model;
}

/// As --dtype w8 and w4 ask for. `used`: patterns of --keep-fp32 that tables matched.
void quantise_linear_weights(graph::Model* model, const ConvertOptions& options,
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
  const passes::WeightQuantizationReport made = passes::quantise_weights(*model, how);
  for (const std::string& pattern : storage.keep_fp32)
    if (!used.count(pattern))
      graph::fail_conversion(5, "--keep-fp32 " + pattern + ": no linear layer has such a name" +
                                    host::did_you_mean(pattern, seen));
  if (made.linears == 0)
    graph::fail_conversion(5, "--dtype w" + std::to_string(how.bits) +
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

ConversionResult convert_checked(const std::string& source, const ConvertOptions& given) {
  ConvertOptions options = given;
  const auto tell = [&](const char* stage, double done) {
    if (options.progress) options.progress(stage, done);
  };
  importer::ImportOptions wanted;
  for (const std::string& argument : options.input_shapes)
    importer::add_input_shape(wanted, argument);
  for (const std::string& argument : options.dims) importer::add_dim(wanted, argument);
  wanted.max_elements = options.max_elements;
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
  std::error_code unknown;
  const uint64_t file_bytes = uint64_t(std::filesystem::file_size(source, unknown));
  const host::WorkBudget budget(source, unknown ? 0 : file_bytes);
  uint64_t weights_bytes = unknown ? 0 : file_bytes;
  if (host::file_kind(source) == host::FileKind::kOnnx)
    weights_bytes += onnx::external_data_bytes(source);
  if (!options.weights.checkpoint.empty())
    weights_bytes = std::max(weights_bytes, checkpoint::file_bytes(options.weights.checkpoint));
  // What conversion has resident at most (tools/files/large_blocks.h).
  host::require_memory(source + ": conversion", weights_bytes / 10 * 13);
  graph::Model model = import_source(source, wanted, options);
  if (graph::count_random_runs(model)) {
    add_states(options,
               std::vector<importer::State>{{graph::kRandomState, graph::kNextRandomState, 0}});
    model.notes.push_back(std::string("draws random numbers: the state variable '") +
                          graph::kRandomState + "' holds the seed and the number of the run");
  }
  graph::record_quantization(&model);
  graph::compute_in_single(model);
  if (options.rewrite) options.rewrite(model);
  std::set<std::string> kept_tables;
  if (options.storage.weight_bits) {
    quantize::Keep keep;
    keep.patterns = options.storage.keep_fp32;
    quantize::quantise_tables(model, keep, &kept_tables);
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
  if (options.storage.weight_bits) quantise_linear_weights(&model, options, kept_tables);
  const std::string& weights_from =
      options.weights.checkpoint.empty() ? source : options.weights.checkpoint;
  options.name_weights = [&](const ProgramSpec& program) {
    return name_weights(weights_from, program);
  };
  ConversionResult result = convert_model(std::move(model), options, std::move(records));
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

ConversionResult convert_source(const std::string& source, const ConvertOptions& given) {
  try {
    return convert_checked(source, given);
  } catch (const graph::DimError& error) {  // behind the import, which names the node
    graph::fail_conversion(graph::exit_code(error), source + ": " + error.what());
  }
}

}  // namespace ingot::convert
