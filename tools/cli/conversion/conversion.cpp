// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/conversion/conversion.h"

#include <filesystem>

#include "tools/cli/output/terminal.h"
#include "tools/files/file_kind.h"
#include "tools/files/standard_streams.h"
#include "tools/files/work_budget.h"

namespace ingot::cli {

using host::Exit;
using host::FileKind;

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

convert::ConversionResult convert_with_progress(const convert::Source& source,
                                                convert::ConvertOptions options) {
  const std::string& path = source.path();
  Progress progress("converting " + path);
  options.progress = [&](const std::string& stage, double done) { progress.show(stage, done); };
  try {
    return convert::convert_source(source, options);
  } catch (graph::ConversionError& error) {
    error.add_place(path);
    throw;
  }
}

ConvertedFile::ConvertedFile(const std::string& path, const convert::ConvertOptions& options)
    : path_(path) {
  const importer::OpenedFile file(path);
  if (file.kind == FileKind::kIngot) return;
  const convert::ConversionResult result = convert_with_progress(convert::Source(file), options);
  converted_ = std::make_unique<host::TemporaryPath>(".ingot");
  host::show_path_as(converted_->path(), path);
  convert::write_file(result.file, converted_->path());
}

}  // namespace ingot::cli
