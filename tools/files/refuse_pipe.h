// SPDX-License-Identifier: Apache-2.0
// tools/files/refuse_pipe.h - a pipe in place of a file to read, refused before it is opened: that
// would wait for a writer, and what comes through a pipe cannot be read twice.
#pragma once
#include <sys/stat.h>

#include <string>

#include "tools/files/failure.h"

namespace ingot::host {

/// @throws Failure kUnavailable.
inline void refuse_pipe(const std::string& path) {
  struct stat found;
  if (stat(path.c_str(), &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode)))
    fail(Exit::kUnavailable,
         path +
             ": is a pipe, expected a file, which is read more than once; write it to a file "
             "first, or say - and redirect it into standard input");
}

}  // namespace ingot::host
