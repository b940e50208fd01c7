// tools/import/pt2/archive.h - a file of torch.export.save(): where its program and its weights
// lie. Needs nlohmann-json and libzip; without them every such file is refused, and that is said.
#pragma once
#include <string>
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::pt2 {

/// True when the file is an archive with an exported program in it. False for anything that cannot
/// be opened as one.
bool is_exported_program(const std::string& path);

/// The text of its program, which is JSON. @throws host::Failure kCorrupt (none, several),
/// kUnsupported (no libzip), kUnavailable.
std::vector<uint8_t> read_program(const std::string& path);

}  // namespace ingot::pt2
