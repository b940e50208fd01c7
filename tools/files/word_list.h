// SPDX-License-Identifier: Apache-2.0
// tools/files/word_list.h - names of a table that are written as one text.
#pragma once
#include <set>
#include <sstream>
#include <string>

namespace ingot::host {

/// The words of `text`, between blanks.
inline std::set<std::string> word_list(const std::string& text) {
  std::istringstream stream(text);
  std::set<std::string> all;
  for (std::string word; stream >> word;) all.insert(word);
  return all;
}

}  // namespace ingot::host
