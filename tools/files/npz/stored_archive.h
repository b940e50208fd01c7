// tools/files/npz/stored_archive.h - .npz archives whose members are stored as they are, as
// numpy.savez writes them. For builds without libzip, such as the command line of a board.
#pragma once
#include <string>
#include <vector>

#include "tools/files/npz/npz.h"

namespace ingot::host {

/// As read_npz(). @throws Failure kUnsupported for members that are packed or encrypted.
std::vector<Array> read_stored_npz(const std::string& path, const NpzLimits& limits = {});

}  // namespace ingot::host
