// tools/checkpoint/bounded_json.h - JSON from a file that may lie: depth is known before the parser recurses. Needs nlohmann-json.
// Errors   host::Failure kCorrupt.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace ingot::checkpoint {

/// `where` begins every error.
nlohmann::ordered_json parse_bounded_json(std::string_view text, const std::string& where, int most_depth = 128);

}  // namespace ingot::checkpoint
