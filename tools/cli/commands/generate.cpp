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
#include "tools/session/file_parts.h"
#include "tools/session/generation.h"
#include "tools/text/loaded_sampler.h"
#include "tools/text/loaded_tokenizer.h"

namespace ingot::cli {
namespace {

using host::Exit;
using vocabulary::LoadedSampler;
using vocabulary::LoadedStopTexts;
using vocabulary::LoadedTokenizer;
using Json = nlohmann::ordered_json;

struct GenerateArguments {
  std::string file, prompt, input, tokens = "128";
  bool has_prompt = false, json = false, special = false, goes_on = false;
  SamplingArguments sampling;
  ChatArguments chat;
  SessionArguments session;
};

LoadedTokenizer tokenizer_of(const Engine& engine) {
  FileParts parts(engine.path());
  if (!parts.has(PartKind::kText))
    host::fail(Exit::kMismatch, engine.path() +
                                    ": has no tokenizer; convert it from a GGUF file, or from a "
                                    "folder with a tokenizer.json");
  return LoadedTokenizer(parts.read(PartKind::kText), engine.path());
}

std::string prompt_of(const GenerateArguments& a) {
  if (a.has_prompt && !a.input.empty())
    host::fail(Exit::kUsage, "generate: --prompt and --file; name one of them");
  if (a.has_prompt) return a.prompt;
  return host::read_text(a.input.empty() ? host::spool_standard_input() : a.input);
}

/// The text of ids as they come, on standard output, up to a stop text.
class Printer {
 public:
  Printer(const LoadedTokenizer& tokenizer, std::vector<std::string> stops, bool is_silent,
          bool shows_control)
      : tables_(tokenizer.tables()),
        decoder_(shows_control),
        stops_(std::move(stops)),
        is_silent_(is_silent) {}
  void put(int32_t id) { add(stops_.put(view(decoder_.put(tables_, id, bytes_)))); }
  void finish() {
    add(stops_.put(view(decoder_.finish(bytes_))));
    add(stops_.finish());
  }
  const std::string& text() const { return text_; }
  const std::string* stopped_by() const { return stops_.stopped_by(); }

 private:
  std::string_view view(size_t count) const {
    return {reinterpret_cast<const char*>(bytes_), count};
  }
  void add(std::string_view bytes) {
    text_ += bytes;
    if (is_silent_ || bytes.empty()) return;
    fwrite(bytes.data(), 1, bytes.size(), stdout);
    fflush(stdout);
  }
  const TokenizerView& tables_;
  text::Decoder decoder_;
  LoadedStopTexts stops_;
  bool is_silent_;
  std::string text_;
  uint8_t bytes_[text::Decoder::kMaxBytes];
};

LoadedSampler sampler_of(const Sampling& s, const LoadedTokenizer& tokenizer,
                         const Generation& generation, const std::string& file) {
  const size_t count = size_t(generation.vocabulary());
  for (const text::LogitBias& bias : s.biases)
    if (size_t(bias.id) >= count)
      host::fail(Exit::kMismatch, "--bias " + std::to_string(bias.id) + ": " + file + " has " +
                                      std::to_string(count) + " tokens, from 0");
  std::vector<uint8_t> breakers;
  if (s.options.dry_multiplier > 0) breakers = vocabulary::dry_breakers(tokenizer.tables(), count);
  return LoadedSampler(s.options, s.biases, std::move(breakers), count,
                       size_t(generation.context()), file);
}

Json sampling_json(const Sampling& s, const std::vector<std::string>& stops) {
  Json report;
#define INGOT_SAMPLER_OPTION(type, name, value, low, high, group, help) \
  report[#name] = s.options.name;
#include "runtime/text/sampler_options.def"
  report["bias"] = Json::object();
  for (const text::LogitBias& bias : s.biases)  // JSON has no infinity
    report["bias"][std::to_string(bias.id)] = std::isinf(bias.add) ? Json("-inf") : Json(bias.add);
  report["stop"] = stops;
  return report;
}

int generate(const GenerateArguments& a) {
  const int64_t most = parse_integer("--tokens", a.tokens, 1, 1 << 30);
  const Sampling sampling = a.sampling.sampling();
  (void)LoadedStopTexts(a.sampling.stops);  // refused before anything is loaded
  if (a.chat.has_messages() && (a.has_prompt || !a.input.empty()))
    host::fail(Exit::kUsage, std::string("generate: --messages and --") +
                                 (a.has_prompt ? "prompt" : "file") + "; name one of them");
  Engine engine(a.file, a.session.open_settings());
  const LoadedTokenizer tokenizer = tokenizer_of(engine);
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
  Generation generation(&engine, a.session.session_settings());
  LoadedSampler sampler = sampler_of(sampling, tokenizer, generation, a.file);
  sampler.accept(prompt);
  Printer printer(tokenizer, a.sampling.stops, a.json, a.special);
  const uint64_t began = ingot_clock_ns();
  std::span<const float> logits = generation.feed(prompt);
  const double prompt_seconds = double(ingot_clock_ns() - began) / 1e9;
  std::vector<int32_t> ids;
  const char* why = "tokens";
  const uint64_t first = ingot_clock_ns();
  while (int64_t(ids.size()) < most) {
    const int32_t id = sampler.sample(logits);
    if (!a.goes_on && uint32_t(id) < tokenizer.tables().count &&
        tokenizer.tables().kind(uint32_t(id)) == PieceKind::kControl) {
      why = "end";
      break;
    }
    ids.push_back(id);
    sampler.accept({&id, 1});
    printer.put(id);
    if (printer.stopped_by()) break;
    if (int64_t(ids.size()) == most) break;
    if (generation.position() == generation.context()) {
      why = "context";
      break;
    }
    logits = generation.feed({&id, 1});
  }
  printer.finish();
  if (printer.stopped_by()) why = "stop";
  const double seconds = double(ingot_clock_ns() - first) / 1e9;
  if (a.json) {
    const std::string* const stop = printer.stopped_by();
    const Json report = {{"text", printer.text()},
                         {"ids", ids},
                         {"prompt_ids", prompt},
                         {"stopped_by", why},
                         {"stop_text", stop ? Json(*stop) : Json()},
                         {"seed", sampling.draws() ? Json(sampling.options.seed) : Json()},
                         {"sampling", sampling_json(sampling, a.sampling.stops)},
                         {"prompt_tps", double(prompt.size()) / prompt_seconds},
                         {"generate_tps", double(ids.size()) / seconds}};
    puts(json_text(report).c_str());
    return 0;
  }
  if (printer.text().empty() || printer.text().back() != '\n') putchar('\n');
  if (sampling.draws() && !a.sampling.seed)
    note("drawn with --seed " + std::to_string(sampling.options.seed));
  if (std::string(why) == "context")
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
