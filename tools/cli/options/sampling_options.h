// SPDX-License-Identifier: Apache-2.0
// tools/cli/options/sampling_options.h - how `generate` chooses a token, and where it ends.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/text/sampler.h"
#include "tools/cli/options/command.h"

namespace ingot::cli {

struct Sampling {
  text::SamplerOptions options;  // without the biases
  std::vector<text::LogitBias> biases;
  bool draws() const { return options.temperature > 0; }
};

struct SamplingArguments {
  std::map<std::string, std::string> numbers;  // what was said, by member of SamplerOptions
  std::optional<std::string> seed;
  std::vector<std::string> biases, stops;
  bool greedy = false;

  void declare(CLI::App* command);
  /// A token is drawn where one of the options that shape the draw was given, at temperature 1
  /// unless it was said; else the most probable one is taken. Without --seed, one of the
  /// system's.
  /// @throws Failure kUsage
  Sampling sampling() const;
};

}  // namespace ingot::cli
