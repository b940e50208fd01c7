// SPDX-License-Identifier: Apache-2.0
// generator_runner MODEL.ingot [DRAFT.ingot] - an answer of a language model allocates nothing,
// takes no lock and throws nothing: begin, prefill, each token, its text, and what a caller asks
// meanwhile; of all slots.
#include <ingot/cpu.h>

#include <cstdio>

#include "ingot/text.hpp"
#include "tests/traps/traps.h"

using namespace ingot;
using namespace ingot::test;

namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "generator_runner: %s\n", error.text().c_str());
  return 1;
}

/// What an answer needs.
struct Opened {
  Model model;
  Session session;
  Text text;
  Generator generator;
};

bool open(const char* path, Opened* out) {
  auto model = Model::open(path, ingot_cpu_kernels(nullptr));
  if (!model) return fail(model.error()), false;
  out->model = std::move(*model);
  const ingot_binding one = {"T", 1};
  ingot_session_options options = session_options();
  options.threads = 1;
  options.flags = INGOT_REBINDABLE;
  options.bindings = &one;
  options.binding_count = 1;
  auto session = out->model.session(options);
  if (!session) return fail(session.error()), false;
  out->session = std::move(*session);
  auto text = Text::open(out->model);
  if (!text) return fail(text.error()), false;
  out->text = std::move(*text);
  auto generator = Generator::create(out->session, &out->text);
  if (!generator) return fail(generator.error()), false;
  out->generator = std::move(*generator);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3 || !traps_work()) return 1;
  Opened draft, model;
  if (!open(argv[1], &model) || (argc > 2 && !open(argv[2], &draft))) return 1;
  Generator* const generator = &model.generator;
  if (argc > 2) {
    const auto is_set = generator->set_draft(&draft.generator);
    if (!is_set) return fail(is_set.error());
  }
  const auto prompt = model.text.encode("the quick brown fox");
  if (!prompt) return fail(prompt.error());
  const ingot_setting settings[] = {
      {"temperature", 1}, {"top_k", 40}, {"repeat_penalty", 1.1}, {"dry_multiplier", 0.8}};
  const char* const stops[] = {"zebra"};
  ingot_answer_options answer = answer_options();
  answer.settings = settings, answer.setting_count = 4;
  answer.stop_texts = stops, answer.stop_text_count = 1;
  answer.flags = INGOT_ANSWER_IGNORE_END;
  answer.tokens = 24;
  answer.lookup = -1;
  ingot_generator* const g = generator->get();
  const uint32_t slots = uint32_t(generator->summary().slots);
  unsigned long counts[kTrapCount];
  int tokens = 0;
  for (const bool is_armed : {false, true}) {
    tokens = 0;
    if (is_armed) arm_traps();
    ingot_token token = INGOT_INIT(ingot_token);
    ingot_code code = INGOT_OK;
    for (uint32_t i = 0; i < slots && code == INGOT_OK; i++)
      code = ingot_generator_begin(ingot_generator_slot(g, i), prompt->data(),
                                   is_armed ? prompt->size() : 1, &answer, nullptr, nullptr);
    while (code == INGOT_OK && token.end == INGOT_END_NONE) {
      if (slots > 1) code = ingot_generator_step(g, 0, nullptr, nullptr);
      for (uint32_t i = 0; i < slots && code == INGOT_OK; i++) {
        ingot_logprob best[5];
        ingot_generator* const slot = ingot_generator_slot(g, i);
        code = ingot_generator_next(slot, 0, &token, nullptr);
        if (code == INGOT_OK) code = ingot_generator_logprobs(slot, token.id, best, 5, nullptr);
        tokens++;
      }
    }
    if (is_armed) disarm_traps(counts);
    if (code != INGOT_OK) return fail(Error(code));
  }
  const ingot_generator_summary summary = generator->summary();
  const bool looks_up = slots == 1 && summary.lookup;
  int wrong = tokens != 24 * int(slots) || (looks_up && summary.proposed == 0);
  for (int t = 0; t < kTrapCount; t++) {
    if (counts[t] == 0) continue;
    std::fprintf(stderr, "generator_runner: %lu %s in %d tokens\n", counts[t], kTrapNames[t],
                 tokens);
    wrong = 1;
  }
  std::printf("generator_runner: %d tokens, %d proposed\n", tokens, int(summary.proposed));
  return wrong;
}
