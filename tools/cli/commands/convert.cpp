// ingot convert - converts a source once into one .ingot file.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>

#include "tools/cli/conversion/check_conversion.h"
#include "tools/cli/conversion/conversion.h"
#include "tools/cli/conversion/embed_golden.h"
#include "tools/cli/conversion/enough_elements.h"
#include "tools/cli/conversion/keep_precision.h"
#include "tools/cli/conversion/min_ram_options.h"
#include "tools/cli/options/command.h"
#include "tools/cli/options/help.h"
#include "tools/cli/output/terminal.h"
#include "tools/cli/quantize/quantize_options.h"
#include "tools/cli/quantize/samples.h"
#include "tools/cli/reports/conversion_report.h"
#include "tools/files/file_kind.h"
#include "tools/files/large_blocks.h"
#include "tools/files/output_file.h"
#include "tools/files/standard_streams.h"
#include "tools/files/work_budget.h"
#include "tools/session/arguments.h"

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;

struct ConvertArguments {
  std::string source, output, golden, rtol, atol, winograd = "auto";
  int64_t max_elements = 0, latency = -1;
  std::string stream;
  std::vector<std::string> shapes, images, types, arguments, dims, targets, layouts, metadata,
      states, inits, renames;
  std::string dtype, precision, precision_check, signature, member, exact_to;
  std::vector<std::string> keep_fp32;
  bool allow_overflow = false;
  std::string weights, key, prefix = "auto", epsilon;
  std::vector<std::string> missing, unused;
  bool partial = false;
  bool keep_weights = false, keep_training_state = false;
  convert::MinimumRam min_ram;
  bool check = false, no_check = false, explain = false, dry_run = false;
  std::string limit;
  QuantizeOptions quantize;
};

std::string default_output(const std::string& source) {
  std::filesystem::path path(source);
  return path.replace_extension(".ingot").string();
}

/// Of options that are given as NAME=VALUE, each for another name: the second would undo the first.
void refuse_repeated(const std::string& option, const std::vector<std::string>& texts) {
  std::set<std::string> names;
  for (const std::string& text : texts) {
    const std::string name = text.substr(0, text.find('='));
    if (!names.insert(name).second)
      fail(Exit::kUsage, option + " " + name + ": given twice; say it once");
  }
}

convert::ConvertOptions convert_options_of(const ConvertArguments& a) {
  convert::ConvertOptions options;
  if (!a.targets.empty()) {
    std::string list;
    for (const std::string& text : a.targets) list += (list.empty() ? "" : ",") + text;
    convert::set_targets(options, list);
  }
  if (!a.precision.empty()) convert::set_precision(options, a.precision);
  if (!a.precision_check.empty() && options.precision == 0)
    fail(Exit::kUsage,
         "convert: --precision-check is about --precision fast, fp16 or bf16; say which");
  convert::set_winograd(options, a.winograd);
  if (!a.stream.empty()) {
    convert::set_stream(options.stream, a.stream);
    if (options.winograd == convert::WinogradMode::kBudget)
      fail(Exit::kUsage,
           "convert: --stream computes row by row, without Winograd; leave --winograd out");
  }
  options.min_ram = a.min_ram;
  check_min_ram(options, "convert");
  if (a.latency >= 0 && a.stream.empty())
    fail(Exit::kUsage, "convert: --latency is about --stream; say which axis");
  options.stream.latency = std::max<int64_t>(0, a.latency);
  for (const std::string& text : a.layouts) convert::add_io_layout(options, text);
  for (const std::string& text : a.states) convert::add_state(options, text);
  for (const std::string& text : a.inits) convert::set_state_init(options, text);
  for (const std::string& text : a.metadata) convert::add_metadata(options, text);
  options.weights.checkpoint = a.weights;
  const bool is_int8 = a.dtype == "int8";
  if (!a.dtype.empty() && !is_int8) convert::set_storage(options.storage, a.dtype);
  if (!is_int8) options.storage.keep_fp32 = a.keep_fp32;  // layers otherwise
  options.storage.allow_overflow = a.allow_overflow;
  const bool are_layers = is_int8 || options.storage.weight_bits;
  if (options.storage.dtype == DType::kF32 &&
      ((!are_layers && !a.keep_fp32.empty()) || a.allow_overflow))
    fail(Exit::kUsage,
         "convert: --keep-fp32 is about --dtype fp16, bf16, w8, w4 or int8, --allow-overflow about "
         "fp16 or bf16; say which");
  options.keep_weights = a.keep_weights;
  options.keep_training_state = a.keep_training_state;
  options.weights.key = a.key;
  options.weights.strip_prefix = a.prefix;
  for (const std::string& text : a.renames) overlay::add_rename(options.weights, text);
  for (const std::string& text : a.missing)
    overlay::add_allowed(options.weights.allow_missing, "--allow-missing", text);
  for (const std::string& text : a.unused)
    overlay::add_allowed(options.weights.allow_unused, "--allow-unused", text);
  if (!a.epsilon.empty()) overlay::set_batch_norm_epsilon(options.weights, a.epsilon);
  options.weights.partial = a.partial;
  if (a.weights.empty() &&
      (a.partial || !a.key.empty() || a.prefix != "auto" || !a.renames.empty() ||
       !a.missing.empty() || !a.unused.empty() || !a.epsilon.empty()))
    fail(Exit::kUsage,
         "convert: --key, --strip-prefix, --map-key, --allow-missing, --allow-unused, --partial "
         "and --bn-eps say how to read a "
         "checkpoint; name it with --weights");
  if (a.weights.empty() && a.keep_training_state)
    fail(Exit::kUsage,
         "convert: --keep-training-state is about a checkpoint; name it with --weights");
  refuse_repeated("--input-shape", a.shapes);
  refuse_repeated("--input-type", a.types);
  refuse_repeated("--argument", a.arguments);
  refuse_repeated("--dim", a.dims);
  refuse_repeated("--io-layout", a.layouts);
  refuse_repeated("--state-init", a.inits);
  refuse_repeated("--metadata", a.metadata);
  for (const std::string& text : a.images) convert::add_image_input(options.images, text);
  options.input_shapes = a.shapes;
  options.input_types = a.types;
  options.signature = a.signature;
  options.exact_to = a.exact_to;
  options.arguments = a.arguments;
  options.dims = a.dims;
  options.max_elements = a.max_elements;
  return options;
}

/// Of the weights while they are converted; the rest is in a file (large_blocks.h).
uint64_t bytes_in_memory(const ConvertArguments& a) {
  std::error_code unknown;
  const uint64_t source = std::filesystem::file_size(a.source, unknown);
  return unknown ? 0 : source / 2;
}

/// As convert_with_progress(); a refusal that asks for a bound names one that is enough.
convert::ConversionResult convert_or_name_bound(const convert::Source& source,
                                                const ConvertArguments& a,
                                                const convert::ConvertOptions& options) {
  try {
    return convert_with_progress(source, options);
  } catch (graph::ConversionError& refusal) {
    name_enough_elements(source, options, a.golden, &refusal);
    throw;
  }
}

/// Of the file that is about to get its name.
void check_conversion(const ConvertArguments& a, const CheckedConversion& made) {
  if (!a.golden.empty())
    check_with_golden(made, a.golden, parse_tolerance("--rtol", a.rtol),
                      parse_tolerance("--atol", a.atol));
  else if (a.check)
    check_with_naive_kernels(made);
  constexpr double kSeconds = 1;
  check_open_extents(made, a.no_check || a.check ? 0 : kSeconds);
}

/// Those of --calibrate for a check of the precision, as long as they have one shape.
std::vector<std::vector<host::Array>> calibration_inputs(const std::string& path,
                                                         const Engine& engine) {
  constexpr uint64_t kMaxSamples = 8;
  std::vector<std::vector<host::Array>> runs;
  Samples samples(path, kMaxSamples);
  Sample sample;
  const auto fits = [&] {
    for (size_t i = 0; !runs.empty() && i < sample.inputs.size(); i++)
      if (sample.inputs[i].dims != runs[0][i].dims) return false;
    return true;
  };
  while (samples.next(engine, &sample) && fits()) runs.push_back(sample.inputs);
  return runs;
}

PrecisionRequest precision_request(const convert::Source& source, const ConvertArguments& a,
                                   bool is_int8) {
  PrecisionRequest request;
  request.source = a.source, request.golden = a.golden;
  request.mode = !a.precision_check.empty() ? parse_precision_check(a.precision_check)
                 : a.no_check               ? PrecisionCheckMode::kOff
                                            : PrecisionCheckMode::kFallback;
  request.rtol = parse_tolerance("--rtol", a.rtol);
  request.atol = parse_tolerance("--atol", a.atol);
  // samples are of the network before it is a stream
  if (is_int8 && !a.quantize.arguments.data.empty() && a.stream.empty())
    request.samples = [&a](const Engine& engine) {
      return calibration_inputs(a.quantize.arguments.data, engine);
    };
  request.convert = [&](const convert::ConvertOptions& options) {
    return convert_or_name_bound(source, a, options);
  };
  return request;
}

int convert(const ConvertArguments& given) {
  if (!given.limit.empty())
    host::WorkBudget::set_factor(parse_real("--limit", given.limit, 0, 1e6));
  const auto unpacked = unpack_member(given.source, given.member);
  ConvertArguments a = given;
  if (unpacked) {
    a.source = unpacked->path();
    if (a.output.empty() && !host::is_standard_input(given.source))
      a.output = (std::filesystem::path(given.source).parent_path() /
                  std::filesystem::path(default_output(given.member)).filename())
                     .string();
  }
  convert::ConvertOptions options = convert_options_of(a);
  const bool is_int8 = a.quantize.are_wanted(a.dtype, a.keep_fp32);
  const convert::Source source = convert::Source::open(a.source);
  if (a.output.empty() && host::is_standard_input(given.source))
    fail(Exit::kUsage,
         "convert: the source is standard input, so say where to write: -o OUT.ingot, or -o - for "
         "standard output");
  const std::string output = a.output.empty() ? default_output(a.source) : a.output;
  if (host::same_file(given.source, output) || output == given.source) {
    fail(Exit::kUsage,
         output + ": is the source itself, which is not overwritten; choose another name with -o");
  }
  host::keep_apart({output, a.quantize.html}, {a.golden});
  const host::LargeBlocks blocks(bytes_in_memory(a));
  QuantizeReport quantised;
  const convert::StreamOptions stream = options.stream;
  if (is_int8) {
    options.stream = {};  // ranges are those of the whole network
    options = cli::quantised(source, options, a.quantize.arguments, &quantised);
    options.stream = stream;
  }
  convert::ConversionResult result = convert_or_name_bound(source, a, options);
  keep_precision(precision_request(source, a, is_int8), &options, &result);
  if (is_int8)
    result.file.metadata.entries.push_back({"ingot.quantization", summary_of(quantised)});
  else if (options.storage.weight_bits)
    result.file.metadata.entries.push_back(
        {"ingot.quantization", "weights of linear layers as " + a.dtype});
  if (!a.golden.empty())
    result.file.goldens =
        golden_to_embed(a.golden, result.file.program, parse_tolerance("--rtol", a.rtol),
                        parse_tolerance("--atol", a.atol));
  // fails now where the place refuses it, not after the work
  std::unique_ptr<host::OutputFile> file;
  if (!a.dry_run) file = std::make_unique<host::OutputFile>(output);
  if (is_int8) print_quantize_report(quantised, a.quantize, a.source);
  for (const std::string& text : result.report.notes) note(text);
  for (const std::string& text : result.report.hints) note(text);
  if (a.explain) print_conversion_report(result.report);
  if (a.dry_run) {
    printf("dry run: %s can be converted; %s was not written (weights %s, activations %s)\n",
           a.source.c_str(), output.c_str(), short_bytes(result.report.weight_bytes).c_str(),
           short_bytes(result.report.arena_bytes).c_str());
    return 0;
  }
  const convert::WrittenFile written = convert::write_file(result.file, file.get());
  result.file = {};  // the file has it all
  host::show_path_as(file->temporary(), output == "-" ? "standard output" : output);
  check_conversion(a, {a.source, file->temporary(), result.report.binding});
  file->commit();
  summary("%s: %s bytes, weights %s, activations %s\n",
          output == "-" ? "standard output" : output.c_str(), grouped(written.file_bytes).c_str(),
          short_bytes(written.weight_bytes).c_str(),
          short_bytes(result.report.arena_bytes).c_str());
  return 0;
}

}  // namespace

void add_convert(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<ConvertArguments>();
  CLI::App* command = add_command(
      app, chosen, "convert", "Convert a trained network into one .ingot file",
      "  ingot convert model.onnx\n"
      "  ingot convert model.onnx -o small.ingot --check\n"
      "  ingot convert ocr.onnx --dim N=1 --dim W=32..2048 --metadata licence=Apache-2.0\n"
      "  ingot convert net.onnx --weights finetuned.pth -o finetuned.ingot\n"
      "  ingot convert net.onnx --input-shape x=1x3x224x224 --io-layout x=nhwc --explain "
      "--dry-run\n"
      "  ingot convert net.onnx --dtype int8 --calibrate samples.npz --sensitivity\n"
      "  ingot convert net.onnx --image image=nv12:1920x1080,letterbox,pad=114\n"
      "  ingot convert tcn.onnx --stream 2=1         # for each new frame, see docs/streaming.md\n"
      "  ingot convert vww.tflite --target mcu --min-ram    # less RAM for more work\n"
      "  ingot convert kws.tflite --exact-to tflm    # the integers of TFLite Micro\n"
      "  ingot convert vad.jit --input-shape x=1x512 --argument sr=16000    # TorchScript",
      [a] { return convert(*a); });
  takes_plugins(command);
  reads_file(command
                 ->add_option(
                     "SOURCE", a->source,
                     "the source: ONNX, TorchScript, torch.export (.pt2), TFLite, Keras, or a Flux "
                     "chain")
                 ->required()
                 ->type_name(""));
  writes_file(command
                  ->add_option("-o,--output", a->output,
                               "file to write; without it, SOURCE with the ending .ingot")
                  ->type_name("OUT.ingot"));
  CLI::Option* const check = command->add_flag(
      "--check", a->check,
      "run the converted file before it gets its name, against --golden or naive kernels");
  command
      ->add_flag("--no-check", a->no_check,
                 "do not compute at extents of open dimensions that nobody chose, for which a "
                 "conversion takes a second otherwise, nor what --precision loses")
      ->excludes(check);
  reads_file(
      command
          ->add_option("--golden", a->golden,
                       "compare with these outputs and put them into the file for ingot verify")
          ->type_name("FILE.npz"));
  for (const auto& [name, to, help] :
       {std::tuple{"--rtol", &a->rtol, "with --golden: allow R * max|expected|, as check does"},
        std::tuple{"--atol", &a->atol, "with --golden: allow A (added to --rtol)"}})
    command->add_option(name, *to, help)->type_name("NUMBER")->needs("--golden");
  const auto repeatable = [&](const char* name, std::vector<std::string>* to, const char* help,
                              const char* type) {
    command->add_option(name, *to, std::string(help) + " (repeatable)")
        ->type_name(type)
        ->expected(1)
        ->take_all();
  };
  repeatable("--input-shape", &a->shapes, "shape of an input; a name in it stays open",
             "NAME=1x3x224x224");
  repeatable("--image", &a->images,
             "take camera frames for this input: crop, resize, letterbox, colour and normalise are "
             "part of the file; "
             "see docs/images.md",
             "NAME=FORMAT:WIDTHxHEIGHT,WORD...");
  repeatable(
      "--input-type", &a->types,
      "of a TorchScript program: type of an input; that of its weights when nothing says otherwise",
      "NAME=i64");
  repeatable("--argument", &a->arguments,
             "of a TorchScript program: value of a parameter that is no tensor", "NAME=VALUE");
  command
      ->add_option("--signature", a->signature,
                   "of a TFLite model: which entry point (ingot inspect lists them; default: the "
                   "first subgraph)")
      ->type_name("NAME");
  command
      ->add_option("--exact-to", a->exact_to,
                   "of a quantized TFLite model: whose integers to give, see docs/integers.md")
      ->type_name("litert|builtin|tflm|onnx")
      ->default_str("litert");
  command
      ->add_option("--member", a->member,
                   "of a .task bundle of TFLite models: which one; its name decides the output's")
      ->type_name("NAME");
  repeatable("--dim", &a->dims, "number or bounds of an open dimension",
             "NAME=VALUE|NAME=LOW..HIGH");
  command
      ->add_option("--max-elements", a->max_elements,
                   "the most that a size which only the data tell may be, where --dim says nothing "
                   "of it (default: refused)")
      ->type_name("N")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40));
  repeatable("--target", &a->targets, "where it will run (default: cpu)", "cpu,cuda,mcu");
  command
      ->add_option("--winograd", a->winograd,
                   "where 3x3 convolutions use Winograd: auto, off, or within so many more bytes")
      ->type_name("auto|off|BYTES")
      ->capture_default_str();
  repeatable("--io-layout", &a->layouts, "layout of an input or output as the file's user sees it",
             "NAME=nchw|nhwc");
  repeatable("--state", &a->states,
             "keep this input in the arena and set it to this output after every run", "IN=OUT");
  repeatable("--state-init", &a->inits,
             "value of every element of a state in a fresh session (default: 0)", "IN=NUMBER");
  command
      ->add_option("--stream", a->stream,
                   "run for every N new frames along this axis of the input; what the network "
                   "needs of the past becomes state")
      ->type_name("[INPUT:]AXIS=N");
  command
      ->add_option("--latency", a->latency,
                   "with --stream: frames of the input that an output may wait for (default: 0)")
      ->type_name("K")
      ->check(CLI::Range(int64_t(0), int64_t(1) << 30));
  add_min_ram(command, &a->min_ram);
  reads_file(command
                 ->add_option("--weights", a->weights,
                              "take the weights from this checkpoint (PyTorch, safetensors, GGUF)")
                 ->type_name("CHECKPOINT"));
  command
      ->add_option(
          "--key", a->key,
          "where in the checkpoint they lie, as state_dict or model/ema; found when not given")
      ->type_name("KEY");
  command
      ->add_option("--strip-prefix", a->prefix,
                   "what stands before their names; the usual wrappers are found when not given")
      ->type_name("auto|PREFIX")
      ->capture_default_str();
  repeatable("--map-key", &a->renames,
             "another name for a weight; one * on each side stands for anything", "OLD=NEW");
  command
      ->add_option(
          "--dtype", a->dtype,
          "how the file stores the weights: fp16 and bf16 are computed in f32, to which a "
          "session converts them; w8 and w4 are those of linear layers, which read them as "
          "they are (w4:64: in blocks of 64); int8 computes with bytes, see --calibrate")
      ->type_name("fp32|fp16|bf16|int8|w8|w4")
      ->default_str("fp32");
  command
      ->add_option("--precision", a->precision,
                   "of products on a GPU: exact has the CPU's bits; fast multiplies in tf32, fp16 "
                   "in f16, both on tensor cores. 64-bit Arm multiplies fp16 in f16 and bf16, "
                   "which is fast on a GPU, in bf16 where it can")
      ->type_name("exact|fast|fp16|bf16")
      ->default_str("exact");
  command
      ->add_option(
          "--precision-check", a->precision_check,
          "what fast, fp16 and bf16 lose is computed on the CPU, on the inputs of --golden or "
          "--calibrate, else on drawn ones. Beyond the tolerance table fallback writes the "
          "next precision that holds, refuse nothing; off does not look")
      ->type_name("fallback|refuse|off")
      ->default_str("fallback");
  repeatable("--keep-fp32", &a->keep_fp32,
             "with --dtype: a weight, or of int8, w8 and w4 a layer, that stays f32; * stands for "
             "anything",
             "PATTERN");
  command->add_flag("--allow-overflow", a->allow_overflow,
                    "with --dtype: numbers too large for it may become infinite");
  repeatable("--allow-missing", &a->missing,
             "weights of the architecture that may stay its own; one * stands for anything",
             "NAME");
  repeatable("--allow-unused", &a->unused,
             "tensors of the checkpoint that may stay out; one * stands for anything", "NAME");
  command->add_flag("--partial", a->partial,
                    "leave everything that is missing in the checkpoint, or has no place in the "
                    "architecture, as it is");
  command
      ->add_option("--bn-eps", a->epsilon,
                   "epsilon of batch normalisations that the architecture has folded and the "
                   "checkpoint has not")
      ->type_name("NUMBER");
  command->add_flag(
      "--keep-weights", a->keep_weights,
      "keep the bytes of weights that conversion changes, so that ingot extract gives "
      "all of them back");
  command->add_flag("--keep-training-state", a->keep_training_state,
                    "with --weights: keep the optimiser's tensors as well, which no run needs");
  repeatable("--metadata", &a->metadata,
             "entry to keep in the file; name, version and licence have their own places",
             "KEY=VALUE");
  command->add_flag("--explain", a->explain,
                    "print the passes and what was chosen for every instruction");
  command->add_flag("--dry-run", a->dry_run, "do everything but write");
  command
      ->add_option("--limit", a->limit,
                   "factor on the work and memory allowed for each byte of the source: 10 ten "
                   "times as much, 0 without "
                   "limit (default: 1, or INGOT_WORK_LIMIT)")
      ->type_name("NUMBER");
  a->quantize.declare(command);
  group_options(command, "Inputs, outputs and shapes",
                {"input-shape", "image", "input-type", "argument", "signature", "member", "dim",
                 "io-layout", "state", "state-init", "stream", "latency"});
  group_options(command, "Weights from a checkpoint",
                {"weights", "key", "strip-prefix", "map-key", "allow-missing", "allow-unused",
                 "bn-eps", "keep-training-state"});
  group_options(command, "Precision, size and target",
                {"target", "winograd", "min-ram", "max-work", "dtype", "precision",
                 "precision-check", "exact-to", "keep-fp32", "allow-overflow", "keep-weights"});
}

}  // namespace ingot::cli
