// SPDX-License-Identifier: Apache-2.0
// tools/files/visible_text.h - characters that a terminal obeys instead of showing them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::host {

/// Whether a terminal obeys the character: control characters of one and of two bytes, separators
/// of lines, and what turns the direction of the text around it (U+061C, U+200E, U+200F, U+202A to
/// U+202E, U+2066 to U+2069).
bool is_obeyed(uint32_t character);

/// Hides such characters in a text that comes in pieces, without changing its length: '?' for one
/// byte, a mark that asks of the same bytes for more. Line ends and tabs pass. What follows no
/// character of UTF-8 is hidden too: a terminal of 8 bits takes it for a control character.
class ControlHider {
 public:
  void hide(std::string* text);

 private:
  unsigned char before_ = 0, last_ = 0;  // the bytes before; 0: none
  int following_ = 0;                    // bytes that the character at hand still has
};

/// Text as one line: line ends as spaces, what a terminal obeys hidden.
std::string one_line(std::string text);

}  // namespace ingot::host
