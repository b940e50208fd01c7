// SPDX-License-Identifier: Apache-2.0
// tools/compile/firmware/sources.h - the sources that a project gets, as they were when this
// program was built (cmake/IngotFirmware.cmake).
// Owns     constant data.
// Threads  any.
#pragma once
#include <string>
#include <vector>

#include "runtime/base/span.h"

namespace ingot::firmware {

struct SourceFile {
  const char* path;  // from the root of the repository
  const char *begin, *end;
  std::string text() const { return std::string(begin, end); }
};
/// All, in the order of their paths.
Span<const SourceFile> source_files();
/// Null: there is none of that path.
const SourceFile* find_source(const std::string& path);

/// The paths in `roots`, what they include, and of each header of the runtime the .cpp beside it,
/// in the order of their paths. `text` is a source that is none of the files and includes some.
std::vector<const SourceFile*> needed_sources(const std::string& text,
                                              const std::vector<std::string>& roots);

}  // namespace ingot::firmware
