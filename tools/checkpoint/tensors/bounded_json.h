// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/tensors/bounded_json.h - JSON from a file that may lie: depth is known before
// the parser recurses, equal keys are refused, time is linear in the text, and memory is charged
// (tools/files/work_budget.h). Needs nlohmann-json. Not nlohmann's own parser with a callback, nor
// its objects in the order of the file: both search an object at each of its keys.
// Errors   host::Failure kCorrupt.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace ingot::checkpoint {

/// `where` begins every error.
nlohmann::ordered_json parse_bounded_json(std::string_view text, const std::string& where,
                                          int most_depth = 128);

/// The same for values that are looked up by key.
nlohmann::json parse_sorted_json(std::string_view text, const std::string& where,
                                 int most_depth = 128);

/// @throws where brackets nest deeper; charges the values that a parser makes of the text.
void check_json_bounds(std::string_view text, const std::string& where, int most_depth);

}  // namespace ingot::checkpoint
