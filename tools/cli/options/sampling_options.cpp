// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/options/sampling_options.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "runtime/text/stop_texts.h"
#include "tools/files/failure.h"
#include "tools/files/whole_file.h"
#include "tools/session/arguments.h"
#include "tools/text/json_schema.h"

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

ingot_logit_bias parse_bias(const std::string& text) {
  const size_t at = text.find('=');
  if (at == std::string::npos) fail(Exit::kUsage, "--bias: expected ID=X, found '" + text + "'");
  ingot_logit_bias bias{};
  bias.id = int32_t(parse_integer("--bias", text.substr(0, at), 0, INT32_MAX));
  const std::string option = "--bias " + std::to_string(bias.id), value = text.substr(at + 1);
  bias.add = value == "-inf" ? -INFINITY : parse_real(option, value, -kMaxBias, kMaxBias);
  return bias;
}

void check_stops(const std::vector<std::string>& stops) {
  std::vector<text::StopText> views;
  for (const std::string& stop : stops)
    views.push_back({reinterpret_cast<const uint8_t*>(stop.data()), stop.size()});
  ErrorDetail detail;
  uint64_t bytes = 0;
  const Status status = text::measure_stop_texts({views.data(), views.size()}, &bytes, &detail);
  if (status.code() == Code::kLimitExceeded)
    fail(Exit::kUsage, std::string("--stop: ") + std::to_string(detail.have) + " " + detail.field +
                           ", at most " + std::to_string(detail.need));
  if (!status.ok()) fail(Exit::kUsage, "--stop: expected a text, found an empty one");
}

}  // namespace

std::vector<uint8_t> compile_grammar_option(const std::string& command, const std::string& grammar,
                                            const std::string& schema) {
  if (!grammar.empty() && !schema.empty())
    fail(Exit::kUsage, command + ": --grammar and --json-schema; name one of them");
  if (!grammar.empty()) return grammar::compile_gbnf(host::read_text(grammar), grammar);
  if (schema.empty()) return {};
  const size_t first = schema.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && schema[first] == '{')
    return grammar::compile_schema_text(schema, "--json-schema");
  return grammar::compile_schema_text(host::read_text(schema), schema);
}

AnswerSettings::AnswerSettings(const Sampling& sampling, uint32_t flags) {
#define INGOT_SAMPLER_OPTION(type, name, value, low, high, group, help) \
  settings.push_back({#name, double(sampling.options.name)});
#include "runtime/text/sampler_options.def"
  for (const std::string& stop : sampling.stops) stops.push_back(stop.c_str());
  options.settings = settings.data();
  options.setting_count = settings.size();
  options.seed = sampling.options.seed;
  options.biases = sampling.biases.data();
  options.bias_count = sampling.biases.size();
  options.stop_texts = stops.data();
  options.stop_text_count = stops.size();
  options.flags = flags;
  options.lookup = sampling.lookup;
}

void SamplingArguments::declare(CLI::App* app) {
  command = app->get_name();
  app->add_flag("--greedy", greedy, "the most probable token each time (the default)")
      ->group(kSampling);
  for (const SamplingRow& r : kSamplingRows) {
    const std::string name = r.name;
    app->add_option_function<std::string>(
           sampling_option(name), [this, name](const std::string& text) { numbers[name] = text; },
           r.help)
        ->type_name(r.whole ? "N" : "X")
        ->default_str(name == "temperature" ? "1 for a draw" : r.standard)
        ->group(kSampling);
  }
  app->add_option("--bias", biases,
                  "adds X to the logit of the token ID; -inf: never that one (repeatable)")
      ->type_name("ID=X")
      ->expected(1)
      ->take_all()
      ->group(kSampling);
  app->add_option_function<std::string>(
         "--seed", [this](const std::string& text) { seed = text; },
         "the same seed draws the same tokens; without it, another one each time")
      ->type_name("N")
      ->group(kSampling);
  app->add_option_function<std::string>(
         "--lookup", [this](const std::string& text) { lookup = text; },
         "tokens that a run checks at most, where the last ones stood before: the same answer, in "
         "fewer runs; 0: none")
      ->type_name("N")
      ->default_str("those of ingot convert --lookup");
  reads_file(app->add_option("--draft", draft,
                             "a smaller model of the same vocabulary, an .ingot file: it proposes "
                             "the tokens that a run checks; the same answer, in fewer runs")
                 ->type_name("FILE"));
  app->add_option("--stop", stops, "the answer ends in front of this text (repeatable)")
      ->type_name("TEXT")
      ->expected(1)
      ->take_all()
      ->group(kSampling);
  reads_file(app->add_option("--grammar", grammar,
                             "the answer is a text of this grammar, in llama.cpp's GBNF")
                 ->type_name("FILE")
                 ->group(kSampling));
  app->add_option("--json-schema", schema, "the answer is JSON of this schema: a file, or {...}")
      ->type_name("FILE|TEXT")
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
         command + ": --greedy and " + given[SamplingGroup::kDraw] + "; name one of them");
  if (draws && !numbers.count("temperature")) o.temperature = 1;
  if (given.count(SamplingGroup::kRepeatLength) && !o.penalizes_repeats())
    fail(Exit::kUsage, command +
                           ": --repeat-last without a penalty; give --repeat-penalty, "
                           "--presence-penalty or --frequency-penalty");
  if (given.count(SamplingGroup::kDryLength) && o.dry_multiplier == 0)
    fail(Exit::kUsage, command + ": " + given[SamplingGroup::kDryLength] +
                           " without a penalty; give --dry-multiplier above 0");
  if (s.draws() && !seed) o.seed = std::random_device()();
  if (lookup) s.lookup = int32_t(parse_integer("--lookup", *lookup, 0, INT32_MAX));
  check_stops(stops);
  s.stops = stops;
  s.grammar = compile_grammar_option(command, grammar, schema);
  std::set<int32_t> ids;
  for (const std::string& text : biases) {
    s.biases.push_back(parse_bias(text));
    if (!ids.insert(s.biases.back().id).second)
      fail(Exit::kUsage,
           "--bias " + std::to_string(s.biases.back().id) + ": given twice; expected once");
  }
  return s;
}

}  // namespace ingot::cli
