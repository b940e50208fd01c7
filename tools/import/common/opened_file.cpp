#include "tools/import/common/opened_file.h"

#include "tools/files/work_budget.h"

namespace ingot::importer {

OpenedFile::OpenedFile(const std::string& name) : path(name), kind(host::file_kind(name)) {
  if (kind != host::FileKind::kZip) return;
  const host::WorkBudget budget(path, host::file_bytes(path));
  archive = checkpoint::Archive::open(path);
}

}  // namespace ingot::importer
