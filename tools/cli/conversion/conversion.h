// tools/cli/conversion/conversion.h - from a source file to an .ingot file: the one place where the
// command line meets importers and conversion.
#pragma once
#include <memory>
#include <string>

#include "tools/compile/convert/convert.h"
#include "tools/files/output_file.h"
#include "tools/session/engine.h"

namespace ingot::cli {

/// Fails for what cannot be converted because of what it is: our own files, formats without an
/// importer, no model at all. @throws Failure kUsage, kCorrupt, kUnsupported, kUnavailable.
void require_source(const std::string& path);

/// require_source() and convert_source(), with progress on a terminal.
cast::ConversionResult convert_with_progress(const std::string& path, cast::ConvertOptions options);

/// An .ingot file for `path`: itself when it is one, else a cast of it in the temporary folder,
/// removed with this.
class ConvertedFile {
 public:
  explicit ConvertedFile(const std::string& path, const cast::ConvertOptions& options = {});
  const std::string& path() const { return cast_ ? cast_->path() : path_; }
  bool was_cast() const { return cast_ != nullptr; }

 private:
  std::string path_;
  std::unique_ptr<host::TemporaryPath> cast_;
};

}  // namespace ingot::cli
