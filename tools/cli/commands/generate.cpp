// SPDX-License-Identifier: Apache-2.0
// ingot generate - a language model's continuation of a text.
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli/options/chat_options.h"
#include "tools/cli/options/sampling_options.h"
#include "tools/cli/options/session_options.h"
#include "tools/cli/output/json_text.h"
#include "tools/cli/output/terminal.h"
#include "tools/files/standard_streams.h"
#include "tools/files/whole_file.h"
#include "tools/session/generation.h"

namespace ingot::cli {
namespace {

using host::Exit;
using Json = nlohmann::ordered_json;

struct GenerateArguments {
  std::string file, prompt, input, tokens = "128";
  bool has_prompt = false, json = false, special = false, goes_on = false;
  SamplingArguments sampling;
  ChatArguments chat;
  SessionArguments session;
};

std::string prompt_of(const GenerateArguments& a) {
  if (a.has_prompt && !a.input.empty())
    host::fail(Exit::kUsage, "generate: --prompt and --file; name one of them");
  if (a.has_prompt) return a.prompt;
  return host::read_text(a.input.empty() ? host::spool_standard_input() : a.input);
}

Json sampling_json(const Sampling& s) {
  Json report;
#define INGOT_SAMPLER_OPTION(type, name, value, low, high, group, help) \
  report[#name] = s.options.name;
#include "runtime/text/sampler_options.def"
  report["bias"] = Json::object();
  for (const ingot_logit_bias& bias : s.biases)  // JSON has no infinity
    report["bias"][std::to_string(bias.id)] = std::isinf(bias.add) ? Json("-inf") : Json(bias.add);
  report["stop"] = s.stops;
  return report;
}

const char* end_name(ingot_end end) {
  switch (end) {
    case INGOT_END_CONTROL: return "end";
    case INGOT_END_STOP_TEXT: return "stop";
    case INGOT_END_CONTEXT: return "context";
    case INGOT_END_GRAMMAR: return "grammar";
    default: return "tokens";
  }
}

int generate(const GenerateArguments& a) {
  const int64_t most = parse_integer("--tokens", a.tokens, 1, 1 << 30);
  const Sampling sampling = a.sampling.sampling();
  if (a.chat.has_messages() && (a.has_prompt || !a.input.empty()))
    host::fail(Exit::kUsage, std::string("generate: --messages and --") +
                                 (a.has_prompt ? "prompt" : "file") + "; name one of them");
  Engine engine(a.file, a.session.open_settings());
  const Text tables = open_text(engine);
  const vocabulary::LoadedTokenizer tokenizer = tokenizer_of(tables, a.file);
  text::EncodeOptions encoding;
  encoding.parse_special = a.special || a.chat.is_chat();
  encoding.add_special = !a.chat.is_chat();  // the template has what stands before a text
  const std::string text = a.chat.is_chat()
                               ? a.chat.render(tokenizer, a.file, [&] { return prompt_of(a); })
                               : prompt_of(a);
  if (a.chat.shows_prompt()) {
    fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  const std::vector<int32_t> prompt = tokenizer.encode(text, encoding);
  if (prompt.empty()) host::fail(Exit::kMismatch, "generate: the prompt has no token");
  Generation generation(&engine, a.session.session_settings(), &tables);
  if (!a.sampling.draft.empty())
    generation.draft_by(a.sampling.draft, a.session.open_settings(), a.session.session_settings());
  AnswerSettings answer(sampling, (a.goes_on ? uint32_t{INGOT_ANSWER_IGNORE_END} : 0) |
                                      (a.special ? uint32_t{INGOT_ANSWER_SHOW_CONTROL} : 0));
  answer.options.tokens = uint32_t(most);
  generation.check_biases(sampling.biases);
  generation.constrain(tables, sampling.grammar);
  generation.begin(prompt, answer.options);
  const uint64_t began = ingot_clock_ns();
  (void)generation.prefill();
  const double prompt_seconds = double(ingot_clock_ns() - began) / 1e9;
  std::vector<int32_t> ids;
  std::string said;
  ingot_token token = INGOT_INIT(ingot_token);
  const uint64_t first = ingot_clock_ns();
  while (token.end == INGOT_END_NONE && generation.next(&token)) {
    if (token.end != INGOT_END_CONTROL) ids.push_back(token.id);
    said.append(token.text, token.text_bytes);
    if (a.json || token.text_bytes == 0) continue;
    fwrite(token.text, 1, token.text_bytes, stdout);
    fflush(stdout);
  }
  const double seconds = double(ingot_clock_ns() - first) / 1e9;
  if (a.json) {
    const ingot_generator_summary summary = generation.summary();
    Json drafted = {{"proposed", summary.proposed}, {"accepted", summary.accepted}};
    if (generation.draft()) drafted["arena_bytes"] = generation.draft()->requirements().arena_bytes;
    const Json report = {
        {"text", said},
        {"ids", ids},
        {"prompt_ids", prompt},
        {"stopped_by", end_name(token.end)},
        {"stop_text", token.stop_text < 0 ? Json() : Json(sampling.stops[size_t(token.stop_text)])},
        {"seed", sampling.draws() ? Json(sampling.options.seed) : Json()},
        {"sampling", sampling_json(sampling)},
        {generation.draft() ? "draft" : "lookup", drafted},
        {"arena_bytes", engine.requirements().arena_bytes},
        {"prompt_tps", double(prompt.size()) / prompt_seconds},
        {"generate_tps", double(ids.size()) / seconds}};
    puts(json_text(report).c_str());
    return 0;
  }
  if (said.empty() || said.back() != '\n') putchar('\n');
  if (sampling.draws() && !a.sampling.seed)
    note("drawn with --seed " + std::to_string(sampling.options.seed));
  if (token.end == INGOT_END_CONTEXT)
    note("the context of " + std::to_string(generation.context()) +
         " tokens is full; convert with a larger --context");
  return 0;
}

}  // namespace

void add_generate(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<GenerateArguments>();
  CLI::App* command = add_command(
      app, chosen, "generate", "Continue a text by a language model",
      "  ingot generate smollm2.ingot --prompt 'The capital of France is' --tokens 32\n"
      "  ingot generate smollm2.ingot --prompt 'A story:' --temperature 0.8 --top-p 0.95 --seed 1\n"
      "  ingot generate smollm2.ingot --chat --system 'Be brief.' --prompt 'Why is the sky blue?'\n"
      "  ingot generate smollm2.ingot --file question.txt --json\n"
      "  ingot generate smollm2.ingot --chat --prompt 'A city' --json-schema schema.json\n"
      "  echo 'Once upon a time' | ingot generate smollm2.ingot",
      [a] { return generate(*a); });
  reads_file(
      command->add_option("FILE", a->file, "the .ingot file of a language model with its tokenizer")
          ->required()
          ->type_name(""));
  command
      ->add_option_function<std::string>(
          "--prompt", [a](const std::string& text) { a->prompt = text, a->has_prompt = true; },
          "the text; without it and --file, standard input")
      ->type_name("TEXT");
  reads_file(command->add_option("--file", a->input, "a file with the text")->type_name("FILE"));
  command->add_option("--tokens", a->tokens, "how many tokens at most")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--special", a->special,
                    "take control tokens in the text for what they say, and print those of the "
                    "answer");
  command->add_flag("--ignore-end", a->goes_on, "go on behind the token that ends an answer");
  command->add_flag("--json", a->json, "print text, ids and tokens a second for scripts");
  a->sampling.declare(command);
  a->chat.declare(command);
  a->session.declare(command, true);
}

}  // namespace ingot::cli
