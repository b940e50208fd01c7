// SPDX-License-Identifier: Apache-2.0
// tools/files/npz/stored_archive.h - .npz archives whose members are stored as they are, as
// numpy.savez writes them. For builds without libzip, such as the command line of a board.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "tools/files/npz/npz.h"

namespace ingot::host {

/// What the member of an archive is called without ".npy"; no name may be there twice. @throws
/// Failure
std::string array_name(const std::string& path, const std::string& member,
                       std::set<std::string>* seen);
/// All of them, one after another.
std::vector<Array> read_all(std::vector<NpzMember> members, const NpzLimits& limits);

/// As open_npz(). @throws Failure kUnsupported for members that are packed or encrypted.
std::vector<NpzMember> open_stored_npz(const std::string& path, const NpzLimits& limits = {});
/// As read_npz(). @throws Failure kUnsupported for members that are packed or encrypted.
std::vector<Array> read_stored_npz(const std::string& path, const NpzLimits& limits = {});

}  // namespace ingot::host
