// tools/cli/arguments.h - the values behind options, each refused with its option's name, what was found and what is expected.
// Errors   Failure kUsage.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ingot::cli {

int64_t parse_integer(const std::string& option, const std::string& text, int64_t low, int64_t high);
double parse_real(const std::string& option, const std::string& text, double low, double high);
/// "4096", "64K", "12M", "2G" (powers of 1024).
uint64_t parse_bytes(const std::string& option, const std::string& text);
/// One of a few words; the nearest is suggested otherwise.
std::string parse_choice(const std::string& option, const std::string& text, const std::vector<std::string>& choices);

struct Assignment {
  std::string name, value;
};
/// "NAME=VALUE", split at the last '=' (names of tensors may hold one) or, for free text, at the first.
Assignment parse_assignment(const std::string& option, const std::string& text, bool at_first = false);

struct DimRange {
  int64_t low, high;  // equal: a number
};
/// "NAME=VALUE" or, where `ranges` are allowed, "NAME=LOW..HIGH". The same name twice is refused.
std::map<std::string, DimRange> parse_dims(const std::vector<std::string>& texts, bool ranges);
/// "NAME=1x3x224x224"; a dimension may be a name ("Nx3x32xW"), kept as text.
std::map<std::string, std::vector<std::string>> parse_shapes(const std::vector<std::string>& texts);

}  // namespace ingot::cli
