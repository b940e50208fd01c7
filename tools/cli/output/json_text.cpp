// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/output/json_text.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "tools/files/visible_text.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

void round_numbers(Json* json) {
  if (json->is_structured()) {
    for (Json& each : *json) round_numbers(&each);
    return;
  }
  if (!json->is_number_float() || !std::isfinite(json->get<double>())) return;
  const double exact = *json;
  // one double in a thousand is written in 17 digits, however few it has: a neighbour is taken
  for (int i = 0; i < 8; i++) {
    char text[40];
    snprintf(text, sizeof text, "%.9g", exact * (1 + i * 4e-9));
    *json = strtod(text, nullptr);
    if (json->dump().size() < 18) return;
  }
}

}  // namespace

std::string json_text(Json report, int indent) {
  round_numbers(&report);
  return exact_json_text(report, indent);
}

std::string exact_json_text(const Json& report, int indent) {
  return escape_controls(report.dump(indent, ' ', false, Json::error_handler_t::replace));
}

std::string escape_controls(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (size_t i = 0; i < json.size();) {
    const auto byte = [&](size_t k) {
      return i + k < json.size() ? static_cast<unsigned char>(json[i + k]) : 0u;
    };
    const size_t length = byte(0) < 0xc0 ? 1 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
    const uint32_t character =
        length == 1   ? byte(0)
        : length == 2 ? (byte(0) & 0x1f) << 6 | (byte(1) & 0x3f)
        : length == 3 ? (byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f)
                      : 0x10000;
    // line ends and indentation stand between its strings
    if (character != '\n' && host::is_obeyed(character)) {
      char escaped[8];
      snprintf(escaped, sizeof escaped, "\\u%04x", unsigned(character));
      out += escaped;
    } else {
      out.append(json, i, length);
    }
    i += length;
  }
  return out;
}

nlohmann::ordered_json finite_or_text(double number) {
  if (std::isfinite(number)) return number;
  return std::to_string(number);
}

}  // namespace ingot::cli
