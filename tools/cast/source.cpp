// tools/cast/source.cpp - from a source file to a file in memory: import, passes, cast.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "runtime/base/sha256.h"
#include "tools/cast/cast.h"
#include "tools/files/file_kind.h"
#include "tools/onnx/import.h"
#include "tools/pt2/archive.h"
#include "tools/pt2/import.h"

namespace ingot::cast {
namespace {

std::string sha256_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
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

/// The content decides which importer.
graph::Model import_source(const std::string& path, const onnx::ImportOptions& options) {
  if (host::file_kind(path) == host::FileKind::kZip && pt2::is_exported_program(path))
    return pt2::import_pt2(path, options);
  return onnx::import_onnx(path, options);
}

}  // namespace

CastResult cast_source(const std::string& source, const CastOptions& options) {
  const auto tell = [&](const char* stage, double done) {
    if (options.progress) options.progress(stage, done);
  };
  onnx::ImportOptions import;
  for (const std::string& argument : options.input_shapes) onnx::add_input_shape(import, argument);
  for (const std::string& argument : options.dims) onnx::add_dim(import, argument);
  import.expected_inputs = options.expected_inputs;
  if (!options.weights.checkpoint.empty()) {
    import.replace_weights = [&](graph::Model & model, const std::vector<graph::ValueId>& initialisers) {
      overlay::overlay_weights(model, initialisers, options.weights);
  };
}
tell("import", 0);
graph::Model model = import_source(source, import);
if (options.observe) options.observe("import", model);
tell("passes", 0.3);
passes::PassOptions pass_options;
pass_options.io_layout = options.io_layout;
pass_options.observe = options.observe;
std::vector<passes::PassRecord> records = passes::run_passes(model, pass_options);
CastResult result = cast_model(std::move(model), options, std::move(records));
result.file.metadata.source_file = std::filesystem::path(source).filename().string();
result.file.metadata.source_sha256 = sha256_of(source);
if (!options.weights.checkpoint.empty()) {
  const std::string& weights = options.weights.checkpoint;
  result.file.metadata.entries.push_back({"ingot.weights", std::filesystem::path(weights).filename().string()});
  result.file.metadata.entries.push_back({"ingot.weights_sha256", sha256_of(weights)});
}
return result;
}  // namespace ingot::cast

}  // namespace ingot::cast
