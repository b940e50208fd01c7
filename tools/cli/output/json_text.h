// SPDX-License-Identifier: Apache-2.0
// tools/cli/output/json_text.h - reports for scripts as text: UTF-8 whatever a name has, and
// characters that a terminal obeys as \uXXXX.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace ingot::cli {

/// Of JSON: control characters of two bytes (U+0080 to U+009F), U+007F, and those that turn the
/// direction of text or end a line, as \uXXXX. They stand in its strings alone.
std::string escape_controls(const std::string& json);

/// With nine digits of each number that is no integer, within 3e-8 of it: more than a clock or an
/// error has. 13.9048875 and not 13.904887500000001. What is no UTF-8 becomes U+FFFD.
std::string json_text(nlohmann::ordered_json report, int indent = 2);

/// JSON has no NaN and no infinity: such a number is a text.
nlohmann::ordered_json finite_or_text(double number);

/// With every number as it is: what a checkpoint holds is compared to the bit.
std::string exact_json_text(const nlohmann::ordered_json& report, int indent = 2);

}  // namespace ingot::cli
