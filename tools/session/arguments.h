// SPDX-License-Identifier: Apache-2.0
// tools/session/arguments.h - the values behind options, each refused with its option's name, what
// was found and what is expected.
// Errors   Failure kUsage.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ingot::cli {

int64_t parse_integer(const std::string& option, const std::string& text, int64_t low,
                      int64_t high);
/// Of --threads: auto is 0, which is as many as suit the processors.
int32_t parse_threads(const std::string& text);
double parse_real(const std::string& option, const std::string& text, double low, double high);
/// A tolerance; nothing of an empty text.
std::optional<double> parse_tolerance(const std::string& option, const std::string& text);
/// "4096", "64K", "12M", "2G" (powers of 1024).
uint64_t parse_bytes(const std::string& option, const std::string& text);
/// One of a few words; the nearest is suggested otherwise.
std::string parse_choice(const std::string& option, const std::string& text,
                         const std::vector<std::string>& choices);
/// What --device may name, before ":": auto, cpu and the back ends (runtime/device/backends.def).
std::vector<std::string> device_kinds();
/// The same for help: "auto, cpu, cuda or cuda:N".
std::string device_names();

/// "NAME=VALUE", split at the last '='. The same name twice is refused.
std::map<std::string, int64_t> parse_dims(const std::vector<std::string>& texts);

}  // namespace ingot::cli
