// SPDX-License-Identifier: Apache-2.0
// tools/import/common/opened_file.h - a file whose content has been looked at, for the importers
// that recognize it and the one that reads it.
#pragma once
#include <memory>
#include <string>

#include "tools/checkpoint/tensors/archive.h"
#include "tools/files/file_kind.h"
#include "tools/files/work_budget.h"

namespace ingot::importer {

struct OpenedFile {
  /// @throws host::Failure of file_kind(), and of the archive where the file is a zip.
  OpenedFile(const std::string& name) : path(name), kind(host::file_kind(name)) {  // NOLINT
    if (kind != host::FileKind::kZip) return;
    const host::WorkBudget budget(path, host::file_bytes(path));
    archive = checkpoint::Archive::open(path);
  }

  std::string path;
  host::FileKind kind;
  std::shared_ptr<checkpoint::Archive> archive;  // of a zip, else null
};

}  // namespace ingot::importer
