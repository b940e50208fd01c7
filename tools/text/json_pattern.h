// SPDX-License-Identifier: Apache-2.0
// tools/text/json_pattern.h - a regular expression of a schema's `pattern` as the content of a
// string of JSON. Characters, classes, \d \w \s and their opposites, groups, alternatives and
// greedy repetitions; ^ and $ at the ends of an alternative that is not inside a group. What looks
// ahead or back, and \b, is refused.
#pragma once
#include "tools/text/json_pieces.h"

namespace ingot::grammar {

/// @param where  begins every error
ExprId read_pattern(const std::string& pattern, const std::string& where, Grammar* grammar,
                    JsonPieces* pieces);

}  // namespace ingot::grammar
