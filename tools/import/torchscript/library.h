// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/library.h - the code of an archive: files are read and parsed when
// something in them is first named.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tools/import/torchscript/syntax.h"

namespace ingot::torchscript {

class Library {
 public:
  /// `read` gives the text of a member below code/ ("__torch__/torch/nn.py"), nothing where there
  /// is none. `name` is for messages.
  using Read = std::function<std::optional<std::string>(const std::string& member)>;
  Library(std::string name, Read read) : name_(std::move(name)), read_(std::move(read)) {}
  /// `make` gives a file that is no text (bytecode.h).
  using Make = std::function<std::unique_ptr<File>(const std::string& member)>;
  Library(std::string name, Make make) : name_(std::move(name)), make_(std::move(make)) {}

  struct Found {
    const File* file = nullptr;
    const Class* type = nullptr;
    const Function* function = nullptr;
    explicit operator bool() const { return type || function; }
  };
  /// A class or a function: "__torch__.torch.nn.functional.relu". Nothing where the archive has no
  /// such thing. @throws graph::ConversionError(kCorrupt) where the file is no code.
  Found find(const std::string& qualified);

 private:
  const File* file(const std::string& member);

  std::string name_;
  Read read_;
  Make make_;
  std::map<std::string, std::unique_ptr<File>> files_;
  size_t bytes_ = 0;
};

}  // namespace ingot::torchscript
