// SPDX-License-Identifier: Apache-2.0
// tools/import/pt2/archive.h - a file of torch.export.save(): where its program and its weights
// lie. Needs nlohmann-json and libzip; without them every such file is refused, and that is
// reported.
#pragma once
#include <string>
#include <vector>

#include "tools/import/common/opened_file.h"

namespace ingot::pt2 {

/// True when the file is an archive with an exported program in it.
bool is_exported_program(const importer::OpenedFile& file);

/// The text of its program, which is JSON. @throws host::Failure kCorrupt (none), kUnsupported
/// (several).
std::vector<uint8_t> read_program(const importer::OpenedFile& file);

}  // namespace ingot::pt2
