// SPDX-License-Identifier: Apache-2.0
// tools/session/state_files.h - saved state as files: written whole or not at all, read, described.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "tools/session/engine.h"

namespace ingot::cli {

/// @pre the engine has a session. @throws Failure kMismatch for what is not a number, kUnavailable
/// for the file. `replaced`: the state that this run began with, which may be the same file.
void save_state(Engine* engine, const std::string& path, const std::string& replaced);
/// @throws Failure kMismatch when it belongs to another model, version or dims, kCorrupt when it is
/// damaged.
void load_state(Engine* engine, const std::string& path);
/// {"kind": "state", "program_sha256", "state_variables": [{"name", "dtype", "dims", "bytes"}]}.
/// @throws Failure kCorrupt
nlohmann::ordered_json inspect_state(const std::string& path);

}  // namespace ingot::cli
