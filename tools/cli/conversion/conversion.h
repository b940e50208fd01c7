// SPDX-License-Identifier: Apache-2.0
// tools/cli/conversion/conversion.h - from a source file to an .ingot file: the one place where the
// command line meets importers and conversion.
#pragma once
#include <memory>
#include <string>

#include "tools/checkpoint/tensors/archive.h"
#include "tools/compile/convert/convert.h"
#include "tools/files/output_file.h"
#include "tools/session/engine.h"

namespace ingot::cli {

/// The model of that name in a .task bundle, which is a zip of models; null where no name is given.
/// @throws Failure kMismatch with the models that are there.
std::unique_ptr<host::TemporaryPath> unpack_member(const std::string& path,
                                                   const std::string& member);

/// A member as a file of its own, with its ending; errors call it PATH!MEMBER. @throws Failure
/// kCorrupt, or kUnavailable where it takes more memory than there is.
std::unique_ptr<host::TemporaryPath> unpack(const checkpoint::Archive& archive,
                                            const std::string& path, const std::string& member);

/// convert_source() with progress on a terminal.
convert::ConversionResult convert_with_progress(const convert::Source& source,
                                                convert::ConvertOptions options);

/// An .ingot file for `path`: itself when it is one, else a conversion of it in the temporary
/// folder, removed with this.
class ConvertedFile {
 public:
  explicit ConvertedFile(const std::string& path, const convert::ConvertOptions& options = {});
  const std::string& path() const { return converted_ ? converted_->path() : path_; }
  bool was_converted() const { return converted_ != nullptr; }

 private:
  std::string path_;
  std::unique_ptr<host::TemporaryPath> converted_;
};

}  // namespace ingot::cli
