// SPDX-License-Identifier: Apache-2.0
// tools/files/npz/npz.h - archives of arrays. Reading packed members needs libzip
// (has_npz_reader()); writing does not: members are stored uncompressed with fixed times and in the
// order given, so that equal arrays make equal files.
#pragma once
#include <string>
#include <vector>

#include "tools/files/npz/npy.h"

namespace ingot::host {

struct NpzLimits {
  uint64_t total_bytes = uint64_t{16} << 30;  // of all arrays, unpacked
  uint32_t members = 65536;
};

/// Whether packed members are read too. False when the program was built without libzip: read_npz()
/// then reads what numpy.savez writes, and refuses what savez_compressed writes.
bool has_npz_reader();

/// Every array of an .npz, or the one of an .npy (its name is then empty); the content decides, not
/// the extension. @throws Failure kUnavailable, kCorrupt, kUnsafe, kUnsupported.
std::vector<Array> read_npz(const std::string& path, const NpzLimits& limits = {});

/// One array of an archive that was opened; its bytes are read as they are asked for.
struct NpzMember {
  std::string name;   // "" of an .npy
  std::string where;  // opens every error: "file.npz: array 'x'"
  ByteSource source;
};
/// The arrays of an .npz, or the one of an .npy, none of them read yet. Sources may be read side by
/// side, and keep the file open. @throws Failure as read_npz(), here and while they are read.
std::vector<NpzMember> open_npz(const std::string& path, const NpzLimits& limits = {});

/// Writes all or nothing (see OutputFile).
void write_npz(const std::string& path, const std::vector<Array>& arrays);

/// The array of that name, or null.
const Array* find_array(const std::vector<Array>& arrays, const std::string& name);

}  // namespace ingot::host
