// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/repository_folder.h - what a folder of models has, as the server reads it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ingot::serve {

struct FolderModel {
  std::vector<uint64_t> versions;        // with a model.ingot, ascending
  std::map<std::string, uint64_t> tags;  // that point to one of them
};

/// 0 where it is no number as the registry writes it.
uint64_t version_number(const std::string& text);
/// Folders that are a model, by name. @throws ServeError kNotFound
std::vector<std::string> models_of(const std::string& root);
/// A name that no path can be made of is not found. @throws ServeError kNotFound
FolderModel read_model_folder(const std::string& root, const std::string& name);
std::string file_of(const std::string& root, const std::string& name, uint64_t version);

}  // namespace ingot::serve
