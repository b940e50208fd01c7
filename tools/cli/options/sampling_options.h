// SPDX-License-Identifier: Apache-2.0
// tools/cli/options/sampling_options.h - how an answer's tokens are chosen, and where it ends.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/include/ingot/text.hpp"
#include "runtime/text/sampler.h"
#include "tools/cli/options/command.h"

namespace ingot::cli {

struct Sampling {
  text::SamplerOptions options;  // without the biases
  std::vector<ingot_logit_bias> biases;
  std::vector<std::string> stops;
  std::vector<uint8_t> grammar;  // compiled; empty: none
  int32_t lookup = -1;           // as ingot_answer_options
  bool draws() const { return options.temperature > 0; }
};

/// What a generator takes. The options point into the lists, and into the Sampling.
struct AnswerSettings {
  AnswerSettings(const Sampling& sampling, uint32_t flags);
  AnswerSettings(const AnswerSettings&) = delete;
  AnswerSettings& operator=(const AnswerSettings&) = delete;
  std::vector<ingot_setting> settings;
  std::vector<const char*> stops;
  ingot_answer_options options = answer_options();
};

/// Of --grammar and --json-schema, of which one may be there. @throws Failure
std::vector<uint8_t> compile_grammar_option(const std::string& command, const std::string& grammar,
                                            const std::string& schema);

struct SamplingArguments {
  std::map<std::string, std::string> numbers;  // what was said, by member of SamplerOptions
  std::optional<std::string> seed, lookup;
  std::vector<std::string> biases, stops;
  std::string grammar, schema, draft;
  bool greedy = false;
  std::string command;  // begins errors

  void declare(CLI::App* command);
  /// A token is drawn where one of the options that shape the draw was given, at temperature 1
  /// unless it was given; else the most probable one is taken. Without --seed, a seed of the
  /// system's.
  /// @throws Failure kUsage
  Sampling sampling() const;
};

}  // namespace ingot::cli
