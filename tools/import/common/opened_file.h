// tools/import/common/opened_file.h - a file whose content has been looked at, for the importers
// that recognize it and the one that reads it.
#pragma once
#include <memory>
#include <string>

#include "tools/checkpoint/tensors/archive.h"
#include "tools/files/file_kind.h"

namespace ingot::importer {

struct OpenedFile {
  /// @throws host::Failure of file_kind(), and of the archive where the file is a zip.
  OpenedFile(const std::string& path);  // NOLINT: a path is one wherever a file is expected

  std::string path;
  host::FileKind kind;
  std::shared_ptr<checkpoint::Archive> archive;  // of a zip, else null
};

}  // namespace ingot::importer
