// SPDX-License-Identifier: Apache-2.0
// tools/compile/firmware/needed_sources.cpp - what a project has to compile, by following includes.
#include <algorithm>
#include <regex>
#include <set>

#include "tools/compile/firmware/sources.h"

namespace ingot::firmware {
namespace {

void follow(const std::string& text, std::set<std::string>* seen);

void add(std::string path, std::set<std::string>* seen) {
  if (path.rfind("ingot/", 0) == 0) path = "runtime/include/" + path;
  const SourceFile* file = find_source(path);
  if (!file || !seen->insert(path).second) return;
  follow(file->text(), seen);
  const std::string kHeader = ".h";
  if (path.rfind("runtime/", 0) == 0 && path.size() > kHeader.size() &&
      path.compare(path.size() - kHeader.size(), kHeader.size(), kHeader) == 0)
    add(path.substr(0, path.size() - kHeader.size()) + ".cpp", seen);
}

void follow(const std::string& text, std::set<std::string>* seen) {
  static const std::regex kInclude(R"(#\s*include\s+["<]([^">]+)[">])");
  for (std::sregex_iterator at(text.begin(), text.end(), kInclude), end; at != end; ++at)
    add((*at)[1].str(), seen);
}

}  // namespace

const SourceFile* find_source(const std::string& path) {
  for (const SourceFile& file : source_files())
    if (path == file.path) return &file;
  return nullptr;
}

std::vector<const SourceFile*> needed_sources(const std::string& text,
                                              const std::vector<std::string>& roots) {
  std::set<std::string> seen;
  follow(text, &seen);
  for (const std::string& root : roots) add(root, &seen);
  std::vector<const SourceFile*> files;
  for (const std::string& path : seen) files.push_back(find_source(path));
  return files;
}

}  // namespace ingot::firmware
