// SPDX-License-Identifier: Apache-2.0
// tools/files/suggest.h - the nearest name to a misspelt one.
#pragma once
#include <string>
#include <vector>

namespace ingot::host {

/// The candidate that differs least, or "" when none is near (more than a third of its letters
/// differ).
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

/// "; did you mean 'input'?" or "; there are: a, b, c" (at most eight) or "; there is none".
std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace ingot::host
