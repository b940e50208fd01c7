// SPDX-License-Identifier: Apache-2.0
#include "tools/import/torchscript/library.h"

#include <algorithm>

#include "tools/graph/graph.h"
#include "tools/import/torchscript/parse.h"

namespace ingot::torchscript {
namespace {

constexpr size_t kMaxBytes = 2 * kMaxCode;  // of all files together

}  // namespace

const File* Library::file(const std::string& member) {
  const auto known = files_.find(member);
  if (known != files_.end()) return known->second.get();
  std::unique_ptr<File> made;
  if (make_) {
    made = make_(member);
  } else if (const std::optional<std::string> source = read_(member)) {
    bytes_ += source->size();
    if (bytes_ > kMaxBytes)
      graph::fail_corrupt(name_, "has more than " + std::to_string(kMaxBytes) + " bytes of code");
    made = std::make_unique<File>(parse_file(*source, name_ + ": code/" + member));
  }
  return (files_[member] = std::move(made)).get();
}

Library::Found Library::find(const std::string& qualified) {
  const size_t dot = qualified.rfind('.');
  if (dot == std::string::npos) return {};
  std::string member = qualified.substr(0, dot);
  std::replace(member.begin(), member.end(), '.', '/');
  const std::string name = qualified.substr(dot + 1);
  Found found;
  found.file = file(member + ".py");
  if (!found.file) return {};
  const auto type = found.file->classes.find(name);
  if (type != found.file->classes.end()) found.type = &type->second;
  const auto function = found.file->functions.find(name);
  if (function != found.file->functions.end()) found.function = &function->second;
  return found;
}

}  // namespace ingot::torchscript
