// SPDX-License-Identifier: Apache-2.0
// tools/files/whole_file.h - a file that must be there and readable, as a descriptor or as its text.
// Errors   Failure kUnavailable: no such file, a folder, a pipe, permissions, a failed read; of
//          read_text() kUnsupported{limit}.
// Threads  any.
#pragma once
#include <cstdint>
#include <string>

namespace ingot::host {

/// What the caller closes.
int open_readable(const std::string& path);

constexpr uint64_t kMaxTextFile = uint64_t{1} << 28;
/// All bytes: a prompt, messages. `path` may be what spool_standard_input() gave.
std::string read_text(const std::string& path);

}  // namespace ingot::host
