// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/convert/source.h"

#include "tools/files/failure.h"
#include "tools/import/common/empty_dims.h"
#include "tools/import/decoder/import.h"
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

using host::Exit;
using host::FileKind;
using importer::ExactTo;
using importer::ImportOptions;
using importer::OpenedFile;
using importer::Program;

constexpr uint32_t bit_of(ExactTo to) { return 1u << int(to); }
constexpr uint32_t kTypes = 1 << 8, kSignature = 1 << 9, kContext = 1 << 10,
                   kItsOwn = bit_of(ExactTo::kDefault),
                   kTfliteIntegers = kItsOwn | bit_of(ExactTo::kLitert) |
                                     bit_of(ExactTo::kBuiltin) | bit_of(ExactTo::kTflm);
constexpr const char* kHasNoIntegers = "is for quantized models of TFLite and ONNX";
constexpr const char* kOwnWeights =
    "a language model has its own weights; convert it without --weights, or with a type of blocks "
    "that they become: --weights q8";

Program import_onnx(const OpenedFile& file, const ImportOptions& options) {
  graph::Model model = onnx::import_onnx(file.path, options);
  if (options.exact_to == ExactTo::kOnnx && !model.graph.has_integers())
    graph::fail_mismatch(file.path, "--exact-to onnx: the model computes nothing in integers");
  return {std::move(model), {}};
}

template <graph::Model (*kImport)(const OpenedFile&, const ImportOptions&)>
Program without_states(const OpenedFile& file, const ImportOptions& options) {
  return {kImport(file, options), {}};
}

Program import_tflite(const OpenedFile& file, const ImportOptions& options) {
  return tflite::import_tflite(file.path, options);
}

/// With dimensions that may be 0.
template <Program (*kImport)(const OpenedFile&, const ImportOptions&)>
Program with_empty(const OpenedFile& file, const ImportOptions& options) {
  return importer::allow_empty(options, true,
                               [&](const ImportOptions& tried) { return kImport(file, tried); });
}

constexpr Importer kImporters[] = {
    {"torchscript", torchscript::is_torchscript, with_empty<torchscript::import_torchscript>,
     nullptr, kItsOwn | kTypes, kHasNoIntegers, nullptr},
    {"pt2", pt2::is_exported_program, with_empty<without_states<pt2::import_pt2>>,
     pt2::describe_pt2, kItsOwn, kHasNoIntegers, nullptr},
#ifdef INGOT_HAVE_JSON
    {"hugging face", decoder::is_hugging_face, decoder::import_hugging_face, nullptr,
     kItsOwn | kContext, kHasNoIntegers, kOwnWeights},
    {"keras", keras::is_keras_model, with_empty<keras::import_keras>, nullptr, kItsOwn,
     kHasNoIntegers, nullptr},
#endif
    {"tflite", [](const OpenedFile& file) { return file.kind == FileKind::kTflite; },
     with_empty<import_tflite>, nullptr, kSignature | kTfliteIntegers,
     "a TFLite model has the integers of litert, builtin or tflm; choose one of them",
     "weights of a TFLite model are not replaced by those of a checkpoint; convert it with its "
     "own"},
    {"flux", flux::is_flux_model, with_empty<without_states<flux::import_flux>>, nullptr, kItsOwn,
     kHasNoIntegers,
     "--weights over a Flux chain is not supported, because its layers have numbers and no names; "
     "load the weights with Flux.loadmodel!(chain, state) and save the chain again"},
    {"gguf", decoder::is_gguf, decoder::import_gguf, nullptr, kItsOwn | kContext, kHasNoIntegers,
     kOwnWeights},
    {"llama2.c", decoder::is_llama2c, decoder::import_llama2c, nullptr, kItsOwn | kContext,
     kHasNoIntegers, kOwnWeights},
    {"onnx", [](const OpenedFile& file) { return file.kind == FileKind::kOnnx; }, import_onnx,
     [](const OpenedFile& file) { return onnx::describe_onnx(file.path); },
     kItsOwn | bit_of(ExactTo::kOnnx), "an ONNX model has the integers of onnx", nullptr},
};

/// Of a file that no importer reads.
[[noreturn]] void refuse(const OpenedFile& file) {
  const std::string where = file.path + ": ";
  if (file.kind == FileKind::kIngot)
    host::fail(Exit::kUsage,
               where + "is an .ingot file already, expected a source such as an ONNX model");
  const std::string models = file.archive ? file.archive->bundled_models() : "";
  if (!models.empty())
    host::fail(Exit::kUnsupported, where + "is a bundle of TFLite models (" + models +
                                       "); choose one: ingot convert " + file.path +
                                       " --member NAME");
  const std::string kind = host::kind_text(file.path, file.kind);
  for (const FileKind weights : {FileKind::kZip, FileKind::kHdf5, FileKind::kBson,
                                 FileKind::kPickle, FileKind::kSafetensors, FileKind::kDistributed})
    if (file.kind == weights)
      host::fail(Exit::kUnsupported, where + "is " + kind +
                                         ", which has weights and no program; convert the "
                                         "network's ONNX model, .pt2, TorchScript, Keras or "
                                         "Flux file with them: ingot convert NETWORK --weights " +
                                         file.path);
  host::fail(Exit::kCorrupt, where +
                                 "expected an ONNX, TorchScript, .pt2, Keras, TFLite, Flux, GGUF "
                                 "or llama2.c model, found " +
                                 kind);
}

const Importer& importer_of(const OpenedFile& file) {
  for (const Importer& importer : kImporters)
    if (importer.recognizes(file)) return importer;
  refuse(file);
}

}  // namespace

Source::Source(importer::OpenedFile file)
    : file_(std::move(file)), importer_(&importer_of(file_)) {}

std::string Source::weights() const {
#ifdef INGOT_HAVE_JSON
  if (decoder::is_hugging_face(file_)) return decoder::hugging_face_weights(path());
#endif
  return path();
}

uint64_t Source::bytes() const {
  const uint64_t own = host::file_bytes(path());
  const std::string beside = weights();
  if (beside != path()) return own + (beside.empty() ? 0 : checkpoint::file_bytes(beside));
  return own + (file_.kind == FileKind::kOnnx ? onnx::external_data_bytes(path()) : 0);
}

Program Source::import(const ImportOptions& options) const {
  const auto refuse_unless = [&](bool fits, Exit exit, const std::string& why) {
    if (!fits) graph::fail_conversion(exit, path(), why);
  };
  const uint32_t takes = importer_->takes;
  refuse_unless(options.signature.empty() || takes & kSignature, Exit::kMismatch,
                "--signature is for TFLite models; this one has none");
  refuse_unless((options.context == 0 && options.slots == 0 && options.lookup == 0 &&
                 !options.full_windows && options.cache == DType::kF32) ||
                    takes & kContext,
                Exit::kMismatch,
                "--context, --cache, --full-windows, --slots and --lookup are for language models; "
                "this one has no cache of tokens");
  refuse_unless(!options.blocks || takes & kContext, Exit::kMismatch,
                "--weights with a type of blocks is for language models; other networks: --dtype "
                "int8 --calibrate, w8 or w4 (docs/quantization.md)");
  refuse_unless(takes & bit_of(options.exact_to), Exit::kMismatch,
                std::string("--exact-to ") + importer::exact_to_name(options.exact_to) + ": " +
                    importer_->why_exact_to);
  refuse_unless((options.input_types.empty() && options.arguments.empty()) || takes & kTypes,
                Exit::kMismatch,
                "--input-type and --argument are for TorchScript programs; this one says both "
                "itself");
  if (importer_->why_weights)
    refuse_unless(!options.replace_weights, Exit::kUnsupported, importer_->why_weights);
  return importer_->import(file_, options);
}

importer::SourceDescription Source::describe() const {
  return importer_->describe ? importer_->describe(file_) : importer::SourceDescription();
}

}  // namespace ingot::convert
