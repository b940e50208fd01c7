// SPDX-License-Identifier: Apache-2.0
// tools/files/visible_text.cpp - see visible_text.h.
#include "tools/files/visible_text.h"

namespace ingot::host {

bool is_obeyed(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

void ControlHider::hide(std::string* text) {
  for (char& c : *text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool follows = (byte & 0xc0) == 0x80, stray = follows && following_ == 0;
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f || stray) {
      c = '?';
    } else if (follows && following_ == 1) {
      const uint32_t two = uint32_t(last_ & 0x1f) << 6 | (byte & 0x3f);
      const uint32_t three =
          uint32_t(before_ & 0x0f) << 12 | uint32_t(last_ & 0x3f) << 6 | (byte & 0x3f);
      if (last_ == 0xc2 && is_obeyed(two)) c = '\xbf';                       // U+00BF
      if (last_ == 0xd8 && is_obeyed(two)) c = '\x9f';                       // U+061F
      if (before_ == 0xe2 && last_ == 0x80 && is_obeyed(three)) c = '\xbd';  // U+203D
      if (before_ == 0xe2 && last_ == 0x81 && is_obeyed(three)) c = '\x87';  // U+2047
    }
    following_ = follows        ? following_ - (stray ? 0 : 1)
                 : byte >= 0xf0 ? 3
                 : byte >= 0xe0 ? 2
                 : byte >= 0xc0 ? 1
                                : 0;
    before_ = last_, last_ = byte;
  }
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  ControlHider().hide(&text);
  return text;
}

}  // namespace ingot::host
