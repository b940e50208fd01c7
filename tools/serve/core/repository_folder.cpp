// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/core/repository_folder.h"

#include <algorithm>
#include <filesystem>

#include "tools/serve/core/serve_error.h"

namespace ingot::serve {
namespace {

namespace fs = std::filesystem;

bool is_name(const std::string& name) {
  return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

}  // namespace

uint64_t version_number(const std::string& text) {
  if (text.empty() || text.size() > 18 || text[0] == '0') return 0;
  uint64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return 0;
    number = number * 10 + uint64_t(c - '0');
  }
  return number;
}

std::string file_of(const std::string& root, const std::string& name, uint64_t version) {
  return root + "/" + name + "/" + std::to_string(version) + "/model.ingot";
}

FolderModel read_model_folder(const std::string& root, const std::string& name) {
  if (!is_name(name)) refuse(Refusal::kNotFound, "model '" + name + "' is unknown");
  FolderModel model;
  std::error_code error;
  const fs::path folder = fs::path(root) / name;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const uint64_t number = version_number(entry.path().filename().string());
    std::error_code ignored;
    // what is there and is no file is named when it is opened
    if (number && fs::exists(entry.path() / "model.ingot", ignored))
      model.versions.push_back(number);
  }
  if (error) refuse(Refusal::kNotFound, "model '" + name + "': no such folder in the repository");
  std::sort(model.versions.begin(), model.versions.end());
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / "tags", error)) {
    std::error_code ignored;
    const uint64_t number =
        version_number(fs::read_symlink(entry.path(), ignored).filename().string());
    if (std::binary_search(model.versions.begin(), model.versions.end(), number))
      model.tags[entry.path().filename().string()] = number;
  }
  return model;
}

std::vector<std::string> models_of(const std::string& root) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
    const std::string name = entry.path().filename().string();
    std::error_code ignored;
    if (!is_name(name) || !entry.is_directory(ignored)) continue;
    if (!read_model_folder(root, name).versions.empty()) names.push_back(name);
  }
  if (error)
    refuse(Refusal::kNotFound, root + ": cannot be read as a folder: " + error.message() +
                                   "; expected NAME/VERSION/model.ingot below it, as ingot "
                                   "registry add --root makes it");
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace ingot::serve
