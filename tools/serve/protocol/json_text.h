// SPDX-License-Identifier: Apache-2.0
// tools/serve/protocol/json_text.h - JSON that is appended to a text, piece by piece, without a
// tree: a reply of the same form takes no memory anew.
#pragma once
#include <charconv>
#include <string>
#include <string_view>

namespace ingot::serve {

/// In quotes. What is no UTF-8 becomes '?', so that the text is JSON whatever a name has.
void append_json_string(std::string_view text, std::string* out);

template <class Number>
void append_number(Number number, std::string* out) {
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out->append(digits, size_t(end - digits));
}

/// {"error":"..."}
std::string error_json(std::string_view text);

}  // namespace ingot::serve
