#include "tools/cli/arguments.h"

#include <charconv>
#include <cmath>

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

int64_t parse_integer(const std::string& option, const std::string& text, int64_t low, int64_t high) {
  int64_t value = 0;
  if (!whole_integer(text, &value) || value < low || value > high) {
    fail(Exit::kUsage, option + ": expected a number from " + std::to_string(low) + " to " + std::to_string(high) + ", found '" +
                           text + "'");
  }
  return value;
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

uint64_t parse_bytes(const std::string& option, const std::string& text) {
  int shift = 0;
  std::string digits = text;
  if (!digits.empty() && (digits.back() == 'B' || digits.back() == 'b')) digits.pop_back();
  if (!digits.empty()) {
    switch (digits.back()) {
      case 'k': case 'K': shift = 10; break;
      case 'm': case 'M': shift = 20; break;
      case 'g': case 'G': shift = 30; break;
      default: break;
    }
    if (shift) digits.pop_back();
  }
  int64_t value = 0;
  if (!whole_integer(digits, &value) || value < 0 || value > (INT64_MAX >> shift)) {
    fail(Exit::kUsage, option + ": expected a number of bytes such as 1048576, 64K, 12M or 2G, found '" + text + "'");
  }
  return uint64_t(value) << shift;
}

std::string parse_choice(const std::string& option, const std::string& text, const std::vector<std::string>& choices) {
  for (const std::string& choice : choices) {
    if (choice == text) return text;
  }
  std::string list;
  for (size_t i = 0; i < choices.size(); i++) list += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + choices[i];
  const std::string near = host::nearest(text, choices);
  fail(Exit::kUsage, option + ": expected " + list + ", found '" + text + "'" +
                         (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

Assignment parse_assignment(const std::string& option, const std::string& text, bool at_first) {
  const size_t at = at_first ? text.find('=') : text.rfind('=');
  if (at == std::string::npos || at == 0) fail(Exit::kUsage, option + ": expected NAME=VALUE, found '" + text + "'");
  return {text.substr(0, at), text.substr(at + 1)};
}

std::map<std::string, DimRange> parse_dims(const std::vector<std::string>& texts, bool ranges) {
  std::map<std::string, DimRange> dims;
  for (const std::string& text : texts) {
    const Assignment a = parse_assignment("--dim", text);
    DimRange range{};
    const size_t dots = a.value.find("..");
    if (dots == std::string::npos) {
      if (!whole_integer(a.value, &range.low) || range.low < 0) {
        fail(Exit::kUsage, "--dim " + a.name + ": expected a number" + (ranges ? " or LOW..HIGH" : "") + ", found '" + a.value + "'");
      }
      range.high = range.low;
    } else {
      const bool whole = whole_integer(a.value.substr(0, dots), &range.low) && whole_integer(a.value.substr(dots + 2), &range.high);
      if (!ranges) fail(Exit::kUsage, "--dim " + a.name + ": takes one number here, found the range '" + a.value + "'; ranges are for convert");
      if (!whole || range.low < 0 || range.high < range.low) {
        fail(Exit::kUsage, "--dim " + a.name + ": expected LOW..HIGH with 0 <= LOW <= HIGH, found '" + a.value + "'");
      }
    }
    if (!dims.emplace(a.name, range).second) fail(Exit::kUsage, "--dim " + a.name + ": given twice; say it once");
  }
  return dims;
}

std::map<std::string, std::vector<std::string>> parse_shapes(const std::vector<std::string>& texts) {
  std::map<std::string, std::vector<std::string>> shapes;
  for (const std::string& text : texts) {
    const Assignment a = parse_assignment("--input-shape", text);
    std::vector<std::string> dims;
    // An 'x' separates only where a number stands on one side of it: dimensions may be names that hold one.
    std::string dim;
    const auto all_digits = [](const std::string& s) { return !s.empty() && s.find_first_not_of("0123456789") == std::string::npos; };
    for (size_t i = 0; i <= a.value.size(); i++) {
      const bool end = i == a.value.size();
      const bool digit_follows = !end && i + 1 < a.value.size() && a.value[i + 1] >= '0' && a.value[i + 1] <= '9';
      if (end || a.value[i] == ',' || (a.value[i] == 'x' && (all_digits(dim) || digit_follows))) {
        int64_t n = 0;
        const bool number = all_digits(dim);
        if (dim.empty() ? !(end && dims.empty()) : number && !whole_integer(dim, &n)) {
          fail(Exit::kUsage, "--input-shape " + a.name + ": expected dimensions such as 1x3x224x224, found '" + a.value + "'");
        }
        if (!dim.empty()) dims.push_back(dim);
        dim.clear();
      } else {
        dim += a.value[i];
      }
    }
    if (!shapes.emplace(a.name, dims).second) fail(Exit::kUsage, "--input-shape " + a.name + ": given twice; say it once");
  }
  return shapes;
}

}  // namespace ingot::cli
