// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/source_file.h - the bytes of a source file, and of the weight files beside it,
// which it must not leave.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace ingot::onnx {

/// A whole file, read only: in memory when small, mapped otherwise.
class SourceFile {
 public:
  /// @throws graph::ConversionError(kUnavailable) when it cannot be read, naming the reason.
  static std::shared_ptr<const SourceFile> open(const std::string& path);
  ~SourceFile();
  SourceFile(const SourceFile&) = delete;
  SourceFile& operator=(const SourceFile&) = delete;
  std::string_view bytes() const { return {data_, size_}; }

 private:
  SourceFile() = default;
  const char* data_ = nullptr;
  size_t size_ = 0;
  void* mapping_ = nullptr;
  std::unique_ptr<char[]> copy_;
};

/// What a file that is no model looks like: "" when it may be one, else one line (empty, a git-LFS
/// pointer, a web page, a zip).
std::string why_no_model(std::string_view bytes);

/// The folder of the model, in which external data must lie.
class ExternalData {
 public:
  explicit ExternalData(std::string directory) : directory_(std::move(directory)) {}
  /// Bytes [offset, offset + length) of `location`. length < 0: to the end of the file. @throws
  /// graph::ConversionError(kUnsafe) when the location leaves the folder (absolute, "..", a link),
  /// kCorrupt for a range past the end, kUnavailable for a missing file. `owner` names the tensor.
  std::string_view read(const std::string& owner, const std::string& location, int64_t offset,
                        int64_t length);

 private:
  std::string directory_;
  std::map<std::string, std::shared_ptr<const SourceFile>> files_;
};

}  // namespace ingot::onnx
