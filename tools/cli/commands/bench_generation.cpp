// SPDX-License-Identifier: Apache-2.0
// ingot bench --prompt N --generate M - tokens a second of a language model.
#include "tools/cli/commands/bench_generation.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/cli/output/json_text.h"
#include "tools/cli/output/terminal.h"
#include "tools/cli/reports/memory_parts.h"
#include "tools/session/generation.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

double seconds_since(uint64_t began) { return double(ingot_clock_ns() - began) / 1e9; }

/// Random tokens, the same on every machine.
std::vector<int32_t> prompt_of(int64_t tokens, int64_t vocabulary) {
  std::vector<int32_t> ids;
  uint32_t state = 1;
  for (int64_t i = 0; i < tokens; i++) {
    state = state * 1664525u + 1013904223u;
    ids.push_back(int32_t(state % uint32_t(std::max<int64_t>(vocabulary, 1))));
  }
  return ids;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
double best(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

/// Tokens a second behind the prompt.
double rate_of_answer(Generation& generation, int64_t tokens) {
  const uint64_t began = ingot_clock_ns();
  ingot_token token = INGOT_INIT(ingot_token);
  for (int64_t i = 0; i < tokens && generation.next(&token); i++) (void)generation.prefill();
  return double(tokens) / seconds_since(began);
}

/// Tokens a second of all slots together, each with the prompt and an answer of its own.
double rate_of_slots(Generation& generation, const std::vector<int32_t>& prompt, int64_t tokens) {
  std::vector<SlotGenerator> slots;
  for (uint32_t i = 0; i < generation.slots(); i++) slots.push_back(generation.slot(i));
  for (SlotGenerator& slot : slots) (void)slot.begin(prompt);
  (void)generation.step();
  const uint64_t began = ingot_clock_ns();
  for (int64_t i = 0; i < tokens; i++) {
    for (SlotGenerator& slot : slots) (void)slot.next();
    if (!generation.step()) break;
  }
  const double seconds = seconds_since(began);
  return double(slots.size()) * double(tokens) / seconds;
}

}  // namespace

int bench_generation(const GenerationBench& a) {
  const uint64_t began = ingot_clock_ns();
  Engine engine(a.file, a.open);
  Generation generation(&engine, a.session, nullptr);
  const double load = seconds_since(began);
  if (a.prompt + a.generate > generation.context())
    host::fail(host::Exit::kMismatch, a.file + ": " + std::to_string(a.prompt + a.generate) +
                                          " tokens, its context has room for " +
                                          std::to_string(generation.context()) +
                                          "; convert it with a larger --context");
  std::vector<int32_t> prompt = prompt_of(a.prompt, generation.vocabulary());
  Progress progress("bench");
  std::vector<double> prompt_rates, generate_rates, lookup_rates, slot_rates;
  double first = 0;
  ingot_generator_summary found = INGOT_INIT(ingot_generator_summary);
  const uint64_t start = ingot_clock_ns();
  // three rounds at least, the first of which fills caches and counts for none
  for (int round = 0; round < 3 || seconds_since(start) < a.seconds; round++) {
    progress.show(std::to_string(round) + " rounds", seconds_since(start) / a.seconds);
    prompt[0] = round % 2;  // nothing of the round before is in the caches
    generation.begin(prompt, answer_options());
    const uint64_t at = ingot_clock_ns();
    (void)generation.prefill();
    const double prompt_seconds = seconds_since(at);
    if (round == 0) first = load + prompt_seconds;
    const double generate_rate = rate_of_answer(generation, a.generate);
    const bool has_lookup = generation.summary().lookup > 0 && a.generate;
    double lookup_rate = 0;
    if (has_lookup) {
      ingot_answer_options options = answer_options();
      options.lookup = -1;
      generation.begin(prompt, options);
      (void)generation.prefill();
      lookup_rate = rate_of_answer(generation, a.generate);
      found = generation.summary();
    }
    const bool has_slots = generation.slots() > 1 && a.generate;
    const double slots_rate = has_slots ? rate_of_slots(generation, prompt, a.generate) : 0;
    if (round == 0) continue;
    if (has_slots) slot_rates.push_back(slots_rate);
    if (has_lookup) lookup_rates.push_back(lookup_rate);
    prompt_rates.push_back(double(a.prompt) / prompt_seconds);
    generate_rates.push_back(generate_rate);
  }
  const ingot_placement placement = engine.placement();
  const ingot_requirements need = engine.requirements();
  Json report = {{"file", a.file},
                 {"prompt", a.prompt},
                 {"generate", a.generate},
                 {"prompt_tps", median(prompt_rates)},
                 {"generate_tps", a.generate ? median(generate_rates) : 0},
                 {"prompt_tps_best", best(prompt_rates)},
                 {"generate_tps_best", a.generate ? best(generate_rates) : 0},
                 {"rounds", prompt_rates.size()},
                 {"load_ms", load * 1e3},
                 {"first_token_ms", first * 1e3},
                 {"threads", placement.threads},
                 {"isa", placement.isa},
                 {"arena_bytes", need.arena_bytes},
                 {"memory", memory_json(need)},
                 {"file_bytes", engine.summary().file_bytes},
                 {"version", ingot_version()}};
  if (!lookup_rates.empty()) {
    report["lookup_tps"] = median(lookup_rates);
    report["lookup_tps_best"] = best(lookup_rates);
    report["lookup"] = {{"proposed", found.proposed}, {"accepted", found.accepted}};
  }
  if (!slot_rates.empty()) {
    report["slots"] = generation.slots();
    report["slots_tps"] = median(slot_rates);
    report["slots_tps_best"] = best(slot_rates);
  }
  if (a.json) {
    printf("%s\n", json_text(report).c_str());
    return 0;
  }
  Table table({"", ">tokens/s", ">best"});
  const auto row = [&](const std::string& name, const char* key) {
    table.row({name, number(report[key].get<double>(), 4),
               number(report[std::string(key) + "_best"].get<double>(), 4)});
  };
  row("prompt of " + std::to_string(a.prompt), "prompt_tps");
  if (a.generate) row(std::to_string(a.generate) + " generated", "generate_tps");
  if (!lookup_rates.empty())
    row("the same with look-up, " + std::to_string(found.accepted) + " of " +
            std::to_string(found.proposed) + " accepted",
        "lookup_tps");
  if (!slot_rates.empty())
    row("in " + std::to_string(generation.slots()) + " slots together", "slots_tps");
  fputs(table.text().c_str(), stdout);
  printf("%s, %d thread%s; first token after %s; arena %s\n", placement.isa, placement.threads,
         placement.threads == 1 ? "" : "s", short_time(first * 1e3).c_str(),
         short_bytes(need.arena_bytes).c_str());
  return 0;
}

}  // namespace ingot::cli
