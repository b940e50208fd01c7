// SPDX-License-Identifier: Apache-2.0
// ingot convert - converts a source once into one .ingot file.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "tools/cli/conversion/check_conversion.h"
#include "tools/cli/conversion/conversion.h"
#include "tools/cli/conversion/convert_options_of.h"
#include "tools/cli/conversion/embed_golden.h"
#include "tools/cli/conversion/precision_fallback.h"
#include "tools/cli/conversion/suggest_dim_bound.h"
#include "tools/cli/output/terminal.h"
#include "tools/cli/quantize/quantize_report.h"
#include "tools/cli/quantize/samples.h"
#include "tools/cli/reports/conversion_report.h"
#include "tools/files/file_kind.h"
#include "tools/files/output_file.h"
#include "tools/files/spill_file.h"
#include "tools/files/standard_streams.h"
#include "tools/files/work_budget.h"
#include "tools/session/arguments.h"

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;

struct ConvertCommand {
  std::string source;
  ConvertArguments options;
};

std::string default_output(const std::string& source) {
  return std::filesystem::path(source).replace_extension(".ingot").string();
}

std::string in_folder_of(const std::filesystem::path& file, const std::filesystem::path& path) {
  return (file.parent_path() / path.filename()).string();
}

/// Of the weights while they are converted; the rest is in a file (spill_file.h).
uint64_t bytes_in_memory(const std::string& source) { return host::file_bytes(source) / 2; }

/// As convert_with_progress(); a refusal that asks for a bound names one that is enough.
convert::ConversionResult convert_or_name_bound(const convert::Source& source,
                                                const ConvertArguments& a,
                                                const convert::ConvertOptions& options) {
  try {
    return convert_with_progress(source, options);
  } catch (graph::ConversionError& refusal) {
    suggest_dim_bound(source, options, a.golden, &refusal);
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
  request.source = source.path(), request.golden = a.golden;
  request.mode = !a.precision_check.empty() ? parse_precision_check(a.precision_check)
                 : a.no_check               ? PrecisionCheckMode::kOff
                                            : PrecisionCheckMode::kFallback;
  request.rtol = parse_tolerance("--rtol", a.rtol);
  request.atol = parse_tolerance("--atol", a.atol);
  // samples are of the network before it is a stream
  if (is_int8 && !a.calibrate.empty() && a.stream.empty())
    request.samples = [&a](const Engine& engine) {
      return calibration_inputs(a.calibrate, engine);
    };
  request.convert = [&](const convert::ConvertOptions& options) {
    return convert_or_name_bound(source, a, options);
  };
  return request;
}

int convert(const std::string& file_or_bundle, const ConvertArguments& a) {
  if (!a.limit.empty()) host::WorkBudget::set_factor(parse_real("--limit", a.limit, 0, 1e6));
  const auto unpacked = unpack_member(file_or_bundle, a.member);
  convert::ConvertOptions options = convert_options_of(a);
  const bool is_int8 = a.dtype == "int8";
  const convert::Source source =
      convert::Source::open(unpacked ? unpacked->path() : file_or_bundle);
  const std::string& path = source.path();
  if (a.output.empty() && host::is_standard_input(file_or_bundle))
    fail(Exit::kUsage,
         "convert: the source is standard input, so name the output: -o OUT.ingot, or -o - for "
         "standard output");
  const std::string output = !a.output.empty() ? a.output
                             : unpacked ? in_folder_of(file_or_bundle, default_output(a.member))
                                        : default_output(path);
  if (host::same_file(file_or_bundle, output) || output == file_or_bundle) {
    fail(Exit::kUsage,
         output + ": is the source itself, which is not overwritten; choose another name with -o");
  }
  host::refuse_path_overlap({output, a.sensitivity_html}, {a.golden});
  const host::LargeBlocks blocks(bytes_in_memory(path));
  QuantizeReport quantized;
  const convert::StreamOptions stream = options.stream;
  if (is_int8) {
    options.stream = {};  // ranges are those of the whole network
    options = cli::quantized(source, options, a, &quantized);
    options.stream = stream;
  }
  convert::ConversionResult result = convert_or_name_bound(source, a, options);
  apply_precision_fallback(precision_request(source, a, is_int8), &options, &result);
  if (is_int8)
    result.file.metadata.entries.push_back({"ingot.quantization", summary_of(quantized)});
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
  if (is_int8) print_quantize_report(quantized, a, path);
  for (const std::string& text : result.report.notes) note(text);
  for (const std::string& text : result.report.hints) note(text);
  if (a.explain) print_conversion_report(result.report);
  if (a.dry_run) {
    printf("dry run: %s can be converted; %s was not written (weights %s, activations %s)\n",
           path.c_str(), output.c_str(), short_bytes(result.report.weight_bytes).c_str(),
           short_bytes(result.report.arena_bytes).c_str());
    return 0;
  }
  const convert::WrittenFile written = convert::write_file(result.file, file.get());
  result.file = {};  // the file has it all
  host::show_path_as(file->temporary(), output == "-" ? "standard output" : output);
  check_conversion(a, {path, file->temporary(), result.report.binding});
  file->commit();
  summary("%s: %s bytes, weights %s, activations %s\n",
          output == "-" ? "standard output" : output.c_str(), grouped(written.file_bytes).c_str(),
          short_bytes(written.weight_bytes).c_str(),
          short_bytes(result.report.arena_bytes).c_str());
  return 0;
}

}  // namespace

void add_convert(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<ConvertCommand>();
  CLI::App* command = add_command(
      app, chosen, "convert", "Convert a trained network into one .ingot file",
      "  ingot convert model.onnx\n"
      "  ingot convert ocr.onnx --dim N=1 --dim W=32..2048 --metadata licence=Apache-2.0\n"
      "  ingot convert net.onnx --weights finetuned.pth -o finetuned.ingot\n"
      "  ingot convert net.onnx --input-shape x=1x3x224x224 --explain --dry-run\n"
      "  ingot convert net.onnx --dtype int8 --calibrate samples.npz --sensitivity\n"
      "  ingot convert net.onnx --image image=nv12:1920x1080,letterbox,pad=114\n"
      "  ingot convert tcn.onnx --stream 2=1         # for each new frame, see docs/streaming.md\n"
      "  ingot convert vww.tflite --target mcu --min-ram    # less RAM for more work\n"
      "  ingot convert vad.jit --input-shape x=1x512 --argument sr=16000    # TorchScript",
      [a] { return convert(a->source, a->options); });
  takes_plugins(command);
  reads_file(
      command
          ->add_option("SOURCE", a->source,
                       "the source: ONNX, TorchScript, torch.export (.pt2), TFLite, Keras, a Flux "
                       "chain, GGUF, llama2.c, or a folder of Hugging Face")
          ->required()
          ->type_name(""));
  declare_convert_options(command, &a->options);
}

}  // namespace ingot::cli
