// SPDX-License-Identifier: Apache-2.0
#include "tools/session/arguments.h"

#include <charconv>
#include <cmath>

#include "runtime/device/device.h"
#include "runtime/include/ingot/ingot.h"
#include "tools/files/failure.h"
#include "tools/files/suggest.h"

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;

bool whole_integer(const std::string& text, int64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

int64_t parse_integer(const std::string& option, const std::string& text, int64_t low,
                      int64_t high) {
  int64_t value = 0;
  if (!whole_integer(text, &value) || value < low || value > high) {
    fail(Exit::kUsage, option + ": expected a whole number from " + std::to_string(low) + " to " +
                           std::to_string(high) + ", found '" + text + "'");
  }
  return value;
}

int32_t parse_threads(const std::string& text) {
  if (text == "auto") return 0;
  int64_t threads = 0;
  if (!whole_integer(text, &threads) || threads < 0 || threads > INGOT_MAX_THREADS)
    fail(Exit::kUsage, "--threads: expected auto or a whole number from 0 to " +
                           std::to_string(INGOT_MAX_THREADS) + ", found '" + text + "'");
  return int32_t(threads);
}

double parse_real(const std::string& option, const std::string& text, double low, double high) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  if (!whole || !(value >= low && value <= high)) {
    char range[64];
    snprintf(range, sizeof range, "%g to %g", low, high);
    fail(Exit::kUsage, option + ": expected a number from " + range + ", found '" + text + "'");
  }
  return value;
}
std::optional<double> parse_tolerance(const std::string& option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  return parse_real(option, text, 0, 1e30);
}

uint64_t parse_bytes(const std::string& option, const std::string& text) {
  int shift = 0;
  std::string digits = text;
  if (!digits.empty() && (digits.back() == 'B' || digits.back() == 'b')) digits.pop_back();
  if (!digits.empty()) {
    switch (digits.back()) {
      case 'k':
      case 'K': shift = 10; break;
      case 'm':
      case 'M': shift = 20; break;
      case 'g':
      case 'G': shift = 30; break;
      default: break;
    }
    if (shift) digits.pop_back();
  }
  int64_t value = 0;
  if (!whole_integer(digits, &value) || value < 0 || value > (INT64_MAX >> shift)) {
    fail(Exit::kUsage, option +
                           ": expected a number of bytes such as 1048576, 64K, 12M or 2G, found '" +
                           text + "'");
  }
  return uint64_t(value) << shift;
}

std::string parse_choice(const std::string& option, const std::string& text,
                         const std::vector<std::string>& choices) {
  for (const std::string& choice : choices) {
    if (choice == text) return text;
  }
  std::string list;
  for (size_t i = 0; i < choices.size(); i++)
    list += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + choices[i];
  const std::string near = host::nearest(text, choices);
  fail(Exit::kUsage, option + ": expected " + list + ", found '" + text + "'" +
                         (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

std::vector<std::string> device_kinds() {
  std::vector<std::string> kinds = {"auto", "cpu"};
  for (const BackendRow* row = kBackends; row->name; row++) kinds.push_back(row->name);
  return kinds;
}

std::string device_names() {
  std::string list, last;
  for (const std::string& kind : device_kinds()) list += (list.empty() ? "" : ", ") + (last = kind);
  return list + " or " + last + ":N";
}

std::map<std::string, int64_t> parse_dims(const std::vector<std::string>& texts) {
  std::map<std::string, int64_t> dims;
  for (const std::string& text : texts) {
    const size_t at = text.rfind('=');
    if (at == std::string::npos || at == 0)
      fail(Exit::kUsage, "--dim: expected NAME=VALUE, found '" + text + "'");
    const std::string name = text.substr(0, at), value = text.substr(at + 1);
    int64_t number = 0;
    if (value.find("..") != std::string::npos) {
      fail(Exit::kUsage, "--dim " + name + ": expected one number here, found the range '" + value +
                             "'; ranges are for convert");
    }
    if (!whole_integer(value, &number) || number < 0)
      fail(Exit::kUsage, "--dim " + name + ": expected a whole number, found '" + value + "'");
    if (!dims.emplace(name, number).second)
      fail(Exit::kUsage, "--dim " + name + ": given twice; expected once");
  }
  return dims;
}

}  // namespace ingot::cli
