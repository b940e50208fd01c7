// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/options/sampling_options.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <type_traits>

#include "tools/files/failure.h"
#include "tools/session/arguments.h"

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;

constexpr char kSampling[] = "Sampling";
constexpr double kMaxBias = 1e9;
enum class Group { kDraw, kRepeat, kRepeatLength, kDry, kDryLength };

std::string option_of(std::string member) {
  std::replace(member.begin(), member.end(), '_', '-');
  return "--" + member;
}

text::LogitBias parse_bias(const std::string& text) {
  const size_t at = text.find('=');
  if (at == std::string::npos) fail(Exit::kUsage, "--bias: expected ID=X, found '" + text + "'");
  text::LogitBias bias;
  bias.id = int32_t(parse_integer("--bias", text.substr(0, at), 0, INT32_MAX));
  const std::string option = "--bias " + std::to_string(bias.id), value = text.substr(at + 1);
  bias.add = value == "-inf" ? -INFINITY : parse_real(option, value, -kMaxBias, kMaxBias);
  return bias;
}

}  // namespace

void SamplingArguments::declare(CLI::App* command) {
  command->add_flag("--greedy", greedy, "the most probable token each time (the default)")
      ->group(kSampling);
#define INGOT_SAMPLER_OPTION(type, name, value, low, high, by, help)                         \
  {                                                                                          \
    CLI::Option* const option = command->add_option_function<std::string>(                   \
        option_of(#name), [this](const std::string& text) { numbers[#name] = text; }, help); \
    option->type_name(std::is_integral_v<type> ? "N" : "X")->group(kSampling);               \
    option->default_str(std::string(#name) == "temperature" ? "1 for a draw" : #value);      \
  }
#include "runtime/text/sampler_options.def"
  command
      ->add_option("--bias", biases,
                   "adds X to the logit of the token ID; -inf: never that one (repeatable)")
      ->type_name("ID=X")
      ->expected(1)
      ->take_all()
      ->group(kSampling);
  command
      ->add_option_function<std::string>(
          "--seed", [this](const std::string& text) { seed = text; },
          "the same seed draws the same tokens; without it, another one each time")
      ->type_name("N")
      ->group(kSampling);
  command->add_option("--stop", stops, "the answer ends in front of this text (repeatable)")
      ->type_name("TEXT")
      ->expected(1)
      ->take_all()
      ->group(kSampling);
}

Sampling SamplingArguments::sampling() const {
  Sampling s;
  text::SamplerOptions& o = s.options;
  std::map<Group, std::string> given;  // the first option of each
#define INGOT_SAMPLER_OPTION(type, name, value, low, high, by, help)    \
  if (const auto found = numbers.find(#name); found != numbers.end()) { \
    const std::string option = option_of(#name);                        \
    if constexpr (std::is_integral_v<type>)                             \
      o.name = type(parse_integer(option, found->second, low, high));   \
    else                                                                \
      o.name = type(parse_real(option, found->second, low, high));      \
    given.emplace(Group::by, option);                                   \
  }
#include "runtime/text/sampler_options.def"
  if (seed) {
    o.seed = uint64_t(parse_integer("--seed", *seed, 0, INT64_MAX));
    given.emplace(Group::kDraw, "--seed");
  }
  const bool draws = given.count(Group::kDraw);
  if (greedy && draws)
    fail(Exit::kUsage, "generate: --greedy and " + given[Group::kDraw] + "; name one of them");
  if (draws && !numbers.count("temperature")) o.temperature = 1;
  if (given.count(Group::kRepeatLength) && !o.penalizes_repeats())
    fail(Exit::kUsage,
         "generate: --repeat-last without a penalty; give --repeat-penalty, "
         "--presence-penalty or --frequency-penalty");
  if (given.count(Group::kDryLength) && o.dry_multiplier == 0)
    fail(Exit::kUsage, "generate: " + given[Group::kDryLength] +
                           " without a penalty; give --dry-multiplier above 0");
  if (s.draws() && !seed) o.seed = std::random_device()();
  std::set<int32_t> ids;
  for (const std::string& text : biases) {
    s.biases.push_back(parse_bias(text));
    if (!ids.insert(s.biases.back().id).second)
      fail(Exit::kUsage,
           "--bias " + std::to_string(s.biases.back().id) + ": given twice; say it once");
  }
  return s;
}

}  // namespace ingot::cli
