// SPDX-License-Identifier: Apache-2.0
// tools/import/common/opened_file.h - a file whose content has been looked at, for the importers
// that recognize it and the one that reads it.
#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "tools/checkpoint/tensors/archive.h"
#include "tools/files/file_kind.h"
#include "tools/files/work_budget.h"

namespace ingot::importer {

/// Of a folder with a config.json, as Hugging Face has them, that file; else `name`.
inline std::string program_file(const std::string& name) {
  std::error_code unknown;
  const std::filesystem::path config = std::filesystem::path(name) / "config.json";
  const bool is_model = std::filesystem::is_directory(name, unknown) &&
                        std::filesystem::is_regular_file(config, unknown);
  return is_model ? config.string() : name;
}

struct OpenedFile {
  /// @throws host::Failure of file_kind(), and of the archive where the file is a zip.
  OpenedFile(const std::string& name)  // NOLINT
      : path(program_file(name)), kind(host::file_kind(path)) {
    if (kind != host::FileKind::kZip) return;
    const host::WorkBudget budget(path, host::file_bytes(path));
    archive = checkpoint::Archive::open(path);
  }

  std::string path;
  host::FileKind kind;
  std::shared_ptr<checkpoint::Archive> archive;  // of a zip, else null
};

}  // namespace ingot::importer
