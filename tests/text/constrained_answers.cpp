// SPDX-License-Identifier: Apache-2.0
// constrained_answers FILE.ingot|tiny THREADS - answers of a language model by JSON schemas: a line
// of JSON on standard input for each, {"schema", "prompt", "seed", "temperature", "tokens"}, and a
// line out: {"text", "end", "tokens", "seconds", "mask_seconds"} or {"error"}. "tiny" has random
// weights, letters, bytes and pieces of JSON. The masks of an answer are made once more by
// themselves, to know what they cost.
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "runtime/include/ingot/text.hpp"
#include "runtime/text/constraint.h"
#include "tests/generate/small_chat_model.h"
#include "tools/session/generation.h"
#include "tools/text/json_schema.h"

using namespace ingot;
using Json = nlohmann::ordered_json;

namespace {

constexpr int64_t kTinyContext = 4096;

std::string write_tiny(const test::Scratch& scratch) {
  test::gguf::Source s = test::chat_source();
  std::vector<std::string> pieces = {"{\"", "\":", "\"}",  "},",       ",\"",    "\",",
                                     "[\"", "\"]", "]}",   "\":{\"",   "true",   "null",
                                     "12",  "abc", "\n  ", "\xe2\x82", "\xac\"", "\\u00"};
  for (char c = ' '; c <= '~'; c++) pieces.push_back(std::string(1, c));
  test::set_vocabulary(&s, {}, pieces);
  const std::string path = scratch / "tiny.ingot";
  convert::write_file(test::chat_model(s, kTinyContext), path);
  return path;
}

double seconds_since(uint64_t began) { return double(ingot_clock_ns() - began) / 1e9; }

class Answers {
 public:
  Answers(const std::string& path, int threads)
      : engine_(path), text_(cli::open_text(engine_)), tokenizer_(cli::tokenizer_of(text_, path)) {
    cli::SessionSettings settings;
    settings.threads = threads;
    generation_.emplace(&engine_, settings, &text_);
    const TokenizerView& t = tokenizer_.tables();
    const uint64_t bytes = text::TokenConstraint::measure(t);
    memory_ = vocabulary::aligned_bytes(bytes);
    ErrorDetail detail;
    if (!masks_.place(t, {memory_.get(), bytes}, &detail).ok()) std::abort();
  }

  Json answer(const Json& request) {
    const std::vector<uint8_t> form = grammar::compile_json_schema(request.at("schema"), "schema");
    const ingot_setting setting = {"temperature", request.at("temperature").get<double>()};
    ingot_answer_options options = answer_options();
    options.settings = &setting;
    options.setting_count = 1;
    options.seed = request.at("seed").get<uint64_t>();
    options.tokens = request.at("tokens").get<uint32_t>();
    generation_->constrain(text_, form);
    (void)generation_->begin(tokenizer_.encode(request.at("prompt").get<std::string>()), options);
    (void)generation_->prefill();
    std::vector<int32_t> ids;
    std::string text;
    ingot_token token = INGOT_INIT(ingot_token);
    const uint64_t began = ingot_clock_ns();
    while (token.end == INGOT_END_NONE && generation_->next(&token)) {
      if (token.end != INGOT_END_CONTROL) ids.push_back(token.id);
      text.append(token.text, token.text_bytes);
    }
    const double seconds = seconds_since(began);
    return {{"text", text},
            {"end", token.end},
            {"tokens", ids.size()},
            {"seconds", seconds},
            {"mask_seconds", mask_seconds(form, ids)}};
  }

 private:
  double mask_seconds(const std::vector<uint8_t>& form, const std::vector<int32_t>& ids) {
    ErrorDetail detail;
    Span<const uint8_t> bits;
    const uint64_t began = ingot_clock_ns();
    bool is_fine = masks_.set({form.data(), form.size()}, &detail).ok();
    for (size_t i = 0; i < ids.size() && is_fine; i++)
      is_fine = masks_.allowed(true, &bits, &detail).ok() && masks_.accept(ids[i], &detail).ok();
    if (!is_fine) std::abort();  // the generator chose what is not allowed
    return seconds_since(began);
  }

  cli::Engine engine_;
  const Text text_;
  const vocabulary::LoadedTokenizer tokenizer_;
  std::optional<cli::Generation> generation_;
  vocabulary::AlignedBytes memory_;
  text::TokenConstraint masks_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  const test::Scratch scratch;
  const std::string file = argv[1];
  Answers answers(file == "tiny" ? write_tiny(scratch) : file, std::atoi(argv[2]));
  for (std::string line; std::getline(std::cin, line);) {
    Json said;
    try {
      said = answers.answer(Json::parse(line));
    } catch (const host::Failure& failure) {
      said = {{"error", failure.message()}};
    }
    std::cout << said.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  }
  return 0;
}
