// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/protocol/json_text.h"

#include <cstdint>

namespace ingot::serve {
namespace {

/// Bytes of the character of UTF-8 that begins at `at`, or 0.
size_t character_bytes(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return at + i < text.size() ? uint8_t(text[at + i]) : 0; };
  const auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first < 0xf0) {
    const bool is_overlong = first == 0xe0 && byte(1) < 0xa0;
    const bool is_surrogate = first == 0xed && byte(1) >= 0xa0;
    return follows(1) && follows(2) && !is_overlong && !is_surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first < 0xf5) {
    const bool is_outside = (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90);
    return follows(1) && follows(2) && follows(3) && !is_outside ? 4 : 0;
  }
  return 0;
}

}  // namespace

void append_json_string(std::string_view text, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out->push_back('"');
  for (size_t i = 0; i < text.size();) {
    const size_t bytes = character_bytes(text, i);
    const char c = text[i];
    if (bytes == 0) {
      out->push_back('?');
    } else if (c == '"' || c == '\\') {
      out->push_back('\\'), out->push_back(c);
    } else if (uint8_t(c) < 0x20) {
      out->append("\\u00"), out->push_back(kHex[c >> 4]), out->push_back(kHex[c & 15]);
    } else {
      out->append(text.substr(i, bytes));
    }
    i += bytes ? bytes : 1;
  }
  out->push_back('"');
}

std::string error_json(std::string_view text) {
  std::string json = "{\"error\":";
  append_json_string(text, &json);
  return json + "}";
}

}  // namespace ingot::serve
