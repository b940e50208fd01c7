// tools/cli/output/json_text.h - reports for scripts as text.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace ingot::cli {

/// With nine digits of each number that is no integer, which is more than a clock or an error has:
/// 13.9048875 and not 13.904887500000001. What is no UTF-8 becomes U+FFFD.
std::string json_text(nlohmann::ordered_json report, int indent = 2);

}  // namespace ingot::cli
