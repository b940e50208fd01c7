#include "tools/cli/output/json_text.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

void round_numbers(Json* json) {
  if (json->is_structured()) {
    for (Json& each : *json) round_numbers(&each);
    return;
  }
  if (!json->is_number_float() || !std::isfinite(json->get<double>())) return;
  char digits[40];
  snprintf(digits, sizeof digits, "%.9g", json->get<double>());
  *json = strtod(digits, nullptr);
}

}  // namespace

std::string json_text(Json report, int indent) {
  round_numbers(&report);
  return report.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ingot::cli
