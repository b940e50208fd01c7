// SPDX-License-Identifier: Apache-2.0
// tools/files/standard_streams.h - "-" as the name of a file: standard input as one to read,
// standard output as one to write. Formats need to seek, so what arrives is kept in an unnamed
// temporary file first; it is gone with the program, however that ends.
// Errors   Failure kUsage, kUnavailable.
// Threads  none of these may run beside another.
#pragma once
#include <string>

namespace ingot::host {

/// The path that reads standard input, all of which is taken now. A second call is refused: it can
/// be read once.
std::string spool_standard_input();

/// Whether `path` is what spool_standard_input() gave.
bool is_standard_input(const std::string& path);
/// From now on messages call a temporary file what its user knows it by.
void show_path_as(const std::string& path, const std::string& name);
/// `text` with these names; spool_standard_input() is "standard input". For messages.
std::string with_stream_names(std::string text);

/// An unnamed file in $TMPDIR (or /tmp), open for reading and writing, or -1 with errno. The system
/// removes it when its last descriptor is closed. `suffix` is used only where the file system has
/// no unnamed files.
int open_unnamed_file();
/// A path that opens the file of a descriptor of this process, or "" where the system has none.
std::string descriptor_path(int descriptor);

}  // namespace ingot::host
