// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/options/sampling_options.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "tools/files/failure.h"
#include "tools/session/arguments.h"

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;

constexpr char kSampling[] = "Sampling";
constexpr double kMaxBias = 1e9;
enum class SamplingGroup { kDraw, kRepeat, kRepeatLength, kDry, kDryLength };

struct SamplingRow {
  const char* name;
  const char* standard;
  double low, high;
  SamplingGroup group;
  const char* help;
  double text::SamplerOptions::*real;  // one of the two
  uint32_t text::SamplerOptions::*whole;
};
constexpr SamplingRow sampling_row(SamplingRow r, double text::SamplerOptions::*member) {
  r.real = member;
  return r;
}
constexpr SamplingRow sampling_row(SamplingRow r, uint32_t text::SamplerOptions::*member) {
  r.whole = member;
  return r;
}
constexpr SamplingRow kSamplingRows[] = {
#define INGOT_SAMPLER_OPTION(type, name, value, low, high, group, help)                  \
  sampling_row({#name, #value, low, high, SamplingGroup::group, help, nullptr, nullptr}, \
               &text::SamplerOptions::name),
#include "runtime/text/sampler_options.def"
};

std::string sampling_option(std::string member) {
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
  for (const SamplingRow& r : kSamplingRows) {
    const std::string name = r.name;
    command
        ->add_option_function<std::string>(
            sampling_option(name), [this, name](const std::string& text) { numbers[name] = text; },
            r.help)
        ->type_name(r.whole ? "N" : "X")
        ->default_str(name == "temperature" ? "1 for a draw" : r.standard)
        ->group(kSampling);
  }
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
  std::map<SamplingGroup, std::string> given;  // the first option of each
  for (const SamplingRow& r : kSamplingRows) {
    const auto found = numbers.find(r.name);
    if (found == numbers.end()) continue;
    const std::string option = sampling_option(r.name);
    if (r.whole)
      o.*r.whole = uint32_t(parse_integer(option, found->second, int64_t(r.low), int64_t(r.high)));
    else
      o.*r.real = parse_real(option, found->second, r.low, r.high);
    given.emplace(r.group, option);
  }
  if (seed) {
    o.seed = uint64_t(parse_integer("--seed", *seed, 0, INT64_MAX));
    given.emplace(SamplingGroup::kDraw, "--seed");
  }
  const bool draws = given.count(SamplingGroup::kDraw);
  if (greedy && draws)
    fail(Exit::kUsage,
         "generate: --greedy and " + given[SamplingGroup::kDraw] + "; name one of them");
  if (draws && !numbers.count("temperature")) o.temperature = 1;
  if (given.count(SamplingGroup::kRepeatLength) && !o.penalizes_repeats())
    fail(Exit::kUsage,
         "generate: --repeat-last without a penalty; give --repeat-penalty, "
         "--presence-penalty or --frequency-penalty");
  if (given.count(SamplingGroup::kDryLength) && o.dry_multiplier == 0)
    fail(Exit::kUsage, "generate: " + given[SamplingGroup::kDryLength] +
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
