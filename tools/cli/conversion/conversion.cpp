#include "tools/cli/conversion/conversion.h"

#include <filesystem>

#include "tools/cli/output/terminal.h"
#include "tools/files/file_kind.h"
#include "tools/files/standard_streams.h"
#include "tools/files/work_budget.h"
#include "tools/import/flux/import.h"
#include "tools/import/keras/import.h"
#include "tools/import/pt2/archive.h"
#include "tools/import/torchscript/import.h"

namespace ingot::cli {

using host::Exit;
using host::FileKind;

namespace {

/// A .task bundle is a zip of models, of which one is meant.
void refuse_bundle(const std::string& path) {
  std::string models;
  try {
    models = checkpoint::Archive::open(path)->bundled_models();
  } catch (const host::Failure&) {  // is said of it as of any archive
    return;
  }
  if (!models.empty())
    host::fail(Exit::kUnsupported, path + ": is a bundle of TFLite models (" + models +
                                       "); choose one: ingot convert " + path + " --member NAME");
}

}  // namespace

void require_source(const std::string& path) {
  const FileKind kind = host::file_kind(path);
  switch (kind) {
    case FileKind::kOnnx:
    case FileKind::kTflite:
    case FileKind::kMobile: return;
    case FileKind::kIngot:
      host::fail(Exit::kUsage,
                 path + ": is an .ingot file already, expected a source such as an ONNX model");
    case FileKind::kZip:
      if (pt2::is_exported_program(path) || torchscript::is_torchscript(path)) return;
      refuse_bundle(path);
      [[fallthrough]];
    case FileKind::kHdf5:
    case FileKind::kBson:
      if (keras::is_keras_model(path) || flux::is_flux_model(path)) return;
      [[fallthrough]];
    case FileKind::kPickle:
    case FileKind::kSafetensors:
    case FileKind::kGguf:
    case FileKind::kDistributed:
      host::fail(Exit::kUnsupported, path + ": is " + host::kind_text(path, kind) +
                                         ", which has weights and no program; convert the "
                                         "network's ONNX model, .pt2, TorchScript, Keras or "
                                         "Flux file with them: ingot convert NETWORK --weights " +
                                         path);
    case FileKind::kNumpyArray:
    case FileKind::kIngotState:
    case FileKind::kOther: break;
  }
  host::fail(Exit::kCorrupt,
             path + ": expected an ONNX, TorchScript, .pt2, Keras, TFLite or Flux model, found " +
                 host::kind_text(path, kind));
}

std::unique_ptr<host::TemporaryPath> unpack_member(const std::string& path,
                                                   const std::string& member) {
  if (member.empty()) return nullptr;
  if (host::file_kind(path) != FileKind::kZip)
    host::fail(Exit::kMismatch, path + ": --member names a model of a .task bundle; this is none");
  const auto archive = checkpoint::Archive::open(path);
  const std::string models = archive->bundled_models();
  if (!archive->has(member))
    host::fail(Exit::kMismatch, path + ": --member names '" + member +
                                    "', which the bundle does not have; " +
                                    (models.empty() ? "it has no models" : "there are " + models));
  return unpack(*archive, path, member);
}

std::unique_ptr<host::TemporaryPath> unpack(const checkpoint::Archive& archive,
                                            const std::string& path, const std::string& member) {
  constexpr uint64_t kMaxBytes = uint64_t{1} << 33;
  const std::string name = path + "!" + member;
  host::require_memory(name, archive.size(member));
  const std::vector<uint8_t> bytes = archive.read(member, kMaxBytes);
  auto file =
      std::make_unique<host::TemporaryPath>(std::filesystem::path(member).extension().string());
  host::OutputFile out(file->path());
  out.write(bytes.data(), bytes.size());
  out.commit();
  host::show_path_as(file->path(), name);
  return file;
}

convert::ConversionResult convert_with_progress(const std::string& path,
                                                convert::ConvertOptions options) {
  require_source(path);
  Progress progress("converting " + path);
  options.progress = [&](const std::string& stage, double done) { progress.show(stage, done); };
  try {
    return convert::convert_source(path, options);
  } catch (graph::ConversionError& error) {
    if (error.message.rfind(path, 0) != 0) error.message = path + ": " + error.message;
    throw;
  }
}

ConvertedFile::ConvertedFile(const std::string& path, const convert::ConvertOptions& options)
    : path_(path) {
  if (host::file_kind(path) == FileKind::kIngot) return;
  const convert::ConversionResult result = convert_with_progress(path, options);
  converted_ = std::make_unique<host::TemporaryPath>(".ingot");
  host::show_path_as(converted_->path(), path);
  convert::write_file(result.file, converted_->path());
}

}  // namespace ingot::cli
