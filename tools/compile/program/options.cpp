// SPDX-License-Identifier: Apache-2.0
// tools/compile/program/options.cpp - the command line's spellings of what a conversion can be
// told.
#include "tools/compile/program/options.h"

#include <array>
#include <charconv>

namespace ingot::convert {
namespace {

std::pair<std::string, std::string> split_pair(const std::string& option,
                                               const std::string& argument) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0)
    graph::fail_usage(option + " '" + argument + "': expected NAME=VALUE");
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

}  // namespace

void set_winograd(ConvertOptions& options, const std::string& argument) {
  if (argument == "auto") {
    options.winograd = WinogradMode::kAuto;
  } else if (argument == "off") {
    options.winograd = WinogradMode::kOff;
  } else {
    const char* end = argument.data() + argument.size();
    const auto [rest, error] = std::from_chars(argument.data(), end, options.winograd_bytes);
    if (error != std::errc() || rest != end || argument.empty())
      graph::fail_usage("--winograd '" + argument + "': expected auto, off or a number of bytes");
    options.winograd = WinogradMode::kBudget;
  }
}

void set_precision(ConvertOptions& options, const std::string& argument) {
  const std::array<const char*, 4> names = {"exact", "fast", "fp16", "bf16"};
  for (size_t i = 0; i < names.size(); i++)
    if (argument == names[i]) return void(options.precision = uint8_t(i));
  graph::fail_usage("--precision '" + argument + "': expected exact, fast, fp16 or bf16");
}

void add_io_layout(ConvertOptions& options, const std::string& argument) {
  const auto [name, layout] = split_pair("--io-layout", argument);
  if (layout != "nchw" && layout != "nhwc")
    graph::fail_usage("--io-layout '" + argument + "': expected nchw or nhwc, found '" + layout +
                      "'");
  options.io_layout[name] = layout;
}

void add_state(ConvertOptions& options, const std::string& argument) {
  const auto [input, output] = split_pair("--state", argument);
  if (output.empty())
    graph::fail_usage("--state '" + argument + "': expected IN=OUT, an input and an output");
  options.states.push_back({input, output, 0});
}

void set_state_init(ConvertOptions& options, const std::string& argument) {
  const auto [input, number] = split_pair("--state-init", argument);
  double value = 0;
  const char* end = number.data() + number.size();
  const auto [rest, error] = std::from_chars(number.data(), end, value);
  if (error != std::errc() || rest != end || number.empty())
    graph::fail_usage("--state-init '" + argument + "': expected NAME=NUMBER, found '" + number +
                      "'");
  for (StatePair& pair : options.states)
    if (pair.input == input) {
      pair.init = value;
      return;
    }
  graph::fail_mismatch("--state-init '" + argument + "': no --state has the input '" + input + "'");
}

void add_metadata(ConvertOptions& options, const std::string& argument) {
  const auto [key, value] = split_pair("--metadata", argument);
  options.metadata[key] = value;
}

void set_targets(ConvertOptions& options, const std::string& argument) {
  options.targets.clear();
  for (size_t begin = 0; begin <= argument.size();) {
    const size_t comma = std::min(argument.find(',', begin), argument.size());
    const std::string target = argument.substr(begin, comma - begin);
    if (target != "cpu" && target != "cuda" && target != "mcu")
      graph::fail_usage("--target '" + argument +
                        "': expected cpu, cuda or mcu, separated by commas, found '" + target +
                        "'");
    options.targets.push_back(target);
    begin = comma + 1;
  }
}

}  // namespace ingot::convert
