// SPDX-License-Identifier: Apache-2.0
// runtime/api/generator_api.cpp - generators: options of an answer, creation, tokens, saving.
#include "runtime/api/translate_text.h"
#include "runtime/generate/generator.h"

using namespace ingot;
using namespace ingot::api;

namespace {

RunGenerator* unwrap(ingot_generator* generator) {
  return reinterpret_cast<RunGenerator*>(generator);
}
const RunGenerator* unwrap(const ingot_generator* generator) {
  return reinterpret_cast<const RunGenerator*>(generator);
}

// Read in place.
static_assert(sizeof(ingot_logit_bias) == sizeof(text::LogitBias) &&
                  offsetof(ingot_logit_bias, add) == offsetof(text::LogitBias, add),
              "");
static_assert(sizeof(ingot_logprob) == sizeof(TokenLogprob) &&
                  offsetof(ingot_logprob, logprob) == offsetof(TokenLogprob, logprob),
              "");

constexpr ingot_setting_range kRanges[] = {
#define INGOT_SAMPLER_OPTION(type, name, value, low, high, group, help) \
  {sizeof(ingot_setting_range), #name, help, double(value), low, high, sizeof(type) == 4},
#include "runtime/text/sampler_options.def"
};

void assign(double value, double* to) { *to = value; }
void assign(double value, uint32_t* to) { *to = uint32_t(value); }

ingot_code apply_setting(const ingot_setting& setting, text::SamplerOptions* out,
                         ingot_error* error) {
  if (!setting.name) return refuse_argument("options.settings: a name is null", error);
  const ingot_setting_range* range = nullptr;
  for (const ingot_setting_range& r : kRanges)
    if (std::strcmp(r.name, setting.name) == 0) range = &r;
  const auto refuse = [&](Code code, const char* field) {
    ErrorDetail detail;
    const Status status = fail(&detail, code, field);
    name_error(&detail, setting.name);
    return report(status, detail, error);
  };
  if (!range) return refuse(Code::kNotFound, "options.settings");
  const double v = setting.value;
  // What is no whole number, or beyond the range, is refused before it is converted.
  if (!(v >= range->low && v <= range->high) || (range->is_whole && v != double(uint32_t(v))))
    return refuse(Code::kInvalidArgument, range->is_whole
                                              ? "options.settings: a whole number in its range"
                                              : "options.settings: a number in its range");
  const char* const given = setting.name;
#define INGOT_SAMPLER_OPTION(type, name, value, low, high, group, help) \
  if (std::strcmp(given, #name) == 0) assign(v, &out->name);
#include "runtime/text/sampler_options.def"
  return INGOT_OK;
}

struct ReadAnswer {
  AnswerOptions options;
  text::StopText stop_texts[text::kMaxStopTexts];
};

ingot_code read_answer(const ingot_answer_options* given, ReadAnswer* out, ingot_error* error) {
  ingot_answer_options o = {};
  if (given && !read_sized(given, &o)) return refuse_size(error);
  constexpr uint32_t kKnown = INGOT_ANSWER_IGNORE_END | INGOT_ANSWER_SHOW_CONTROL;
  if (o.flags & ~kKnown)
    return refuse_number("options.flags: unknown bits", 0, o.flags & ~kKnown, error);
  if ((o.setting_count && !o.settings) || (o.bias_count && !o.biases) ||
      (o.stop_text_count && !o.stop_texts))
    return refuse_argument("options: settings, biases or stop_texts is null", error);
  AnswerOptions& to = out->options;
  for (size_t i = 0; i < o.setting_count; i++)
    if (const ingot_code code = apply_setting(o.settings[i], &to.sampling, error)) return code;
  to.sampling.seed = o.seed;
  to.sampling.biases = {reinterpret_cast<const text::LogitBias*>(o.biases), o.bias_count};
  if (o.stop_text_count > text::kMaxStopTexts) {
    ErrorDetail detail;
    return report(
        fail(&detail, Code::kLimitExceeded, "stop texts", text::kMaxStopTexts, o.stop_text_count),
        detail, error);
  }
  for (size_t i = 0; i < o.stop_text_count; i++) {
    const char* const text = o.stop_texts[i];
    if (!text) return refuse_argument("options.stop_texts: one is null", error);
    out->stop_texts[i] = {reinterpret_cast<const uint8_t*>(text), std::strlen(text)};
  }
  to.stop_texts = {out->stop_texts, o.stop_text_count};
  if (o.constraint) to.constraint = &api::unwrap(o.constraint)->constraint;
  to.tokens = o.tokens;
  to.lookup = o.lookup;
  to.ignores_end = (o.flags & INGOT_ANSWER_IGNORE_END) != 0;
  to.shows_control = (o.flags & INGOT_ANSWER_SHOW_CONTROL) != 0;
  return INGOT_OK;
}

ingot_token token_of(const AnswerToken& from) {
  ingot_token to = {};
  to.id = from.id;
  to.end = ingot_end(from.end);
  to.text = from.text.data ? reinterpret_cast<const char*>(from.text.data) : "";
  to.text_bytes = from.text.size;
  to.stop_text = from.stop_text;
  return to;
}

}  // namespace

extern "C" {

ingot_code ingot_setting_at(uint32_t index, ingot_setting_range* out_range) {
  if (!out_range) return INGOT_INVALID_ARGUMENT;
  if (index >= sizeof kRanges / sizeof *kRanges) return INGOT_NOT_FOUND;
  return wrote(write_sized(kRanges[index], out_range));
}

ingot_code ingot_generator_requirements(ingot_session* session, uint64_t* out_bytes,
                                        ingot_error* error) {
  if (!session || !out_bytes) return refuse_argument("session or out_bytes is null", error);
  ErrorDetail detail;
  return report(measure_generator(api::unwrap(session), out_bytes, &detail), detail, error);
}

ingot_code ingot_generator_create(ingot_session* session, const ingot_text* text,
                                  const ingot_block_options* options,
                                  ingot_generator** out_generator, ingot_error* error) {
  if (!out_generator) return refuse_argument("out_generator is null", error);
  *out_generator = nullptr;
  if (!session) return refuse_argument("session is null", error);
  RunSession* const s = api::unwrap(session);
  if (text && api::unwrap(text)->model != s->model)
    return refuse_argument("text: of another model than the session", error);
  ErrorDetail detail;
  uint64_t bytes = 0;
  if (const Status status = measure_generator(s, &bytes, &detail); !status.ok())
    return report(status, detail, error);
  ObjectBlock block;
  if (const ingot_code code = take_block(options, *s->model, bytes, &block, error)) return code;
  RunGenerator* generator = nullptr;
  const Status status = make_generator(s, text ? api::unwrap(text) : nullptr,
                                       {block.at, size_t(block.bytes)}, &generator, &detail);
  keep_block(block, status, generator);
  if (status.ok()) *out_generator = reinterpret_cast<ingot_generator*>(generator);
  return report(status, detail, error);
}

void ingot_generator_destroy(ingot_generator* generator) {
  if (generator && unwrap(generator)->block.at) drop_block(unwrap(generator)->block);
}

ingot_generator* ingot_generator_slot(ingot_generator* generator, uint32_t slot) {
  if (!generator || slot >= unwrap(generator)->runs().slots()) return nullptr;
  return reinterpret_cast<ingot_generator*>(unwrap(generator)->slot(slot));
}

ingot_code ingot_generator_set_draft(ingot_generator* generator, ingot_generator* draft,
                                     ingot_error* error) {
  if (!generator) return refuse_argument("generator is null", error);
  ErrorDetail detail;
  return report(unwrap(generator)->set_draft(draft ? unwrap(draft) : nullptr, &detail), detail,
                error);
}

ingot_code ingot_generator_summarize(const ingot_generator* generator,
                                     ingot_generator_summary* out_summary) {
  if (!generator || !out_summary) return INGOT_INVALID_ARGUMENT;
  const RunGenerator& g = *unwrap(generator);
  ingot_generator_summary s = {};
  s.context = uint64_t(g.runs().context());
  s.run_tokens = uint64_t(g.runs().most());
  s.vocabulary = uint64_t(g.runs().vocabulary());
  s.tokens = g.sequence().data;
  s.token_count = g.sequence().size;
  s.cached = uint64_t(g.position());
  s.slots = uint64_t(g.runs().slots());
  s.lookup = uint64_t(g.runs().rows()) - 1;
  s.proposed = g.drafter().proposed();
  s.accepted = g.drafter().accepted();
  return wrote(write_sized(s, out_summary));
}

ingot_code ingot_generator_begin(ingot_generator* generator, const int32_t* ids, uint64_t count,
                                 const ingot_answer_options* options, uint64_t* out_reused,
                                 ingot_error* error) {
  if (out_reused) *out_reused = 0;
  if (!generator || (!ids && count)) return refuse_argument("generator or ids is null", error);
  ReadAnswer answer;
  if (const ingot_code code = read_answer(options, &answer, error)) return code;
  ErrorDetail detail;
  return report(unwrap(generator)->begin({ids, size_t(count)}, answer.options, out_reused, &detail),
                detail, error);
}

ingot_code ingot_generator_prefill(ingot_generator* generator, uint64_t deadline_ns,
                                   uint64_t* out_left, ingot_error* error) {
  if (!generator) return refuse_argument("generator is null", error);
  ErrorDetail detail;
  return report(unwrap(generator)->prefill(deadline_ns, out_left, &detail), detail, error);
}

ingot_code ingot_generator_step(ingot_generator* generator, uint64_t deadline_ns,
                                uint64_t* out_left, ingot_error* error) {
  if (!generator) return refuse_argument("generator is null", error);
  ErrorDetail detail;
  return report(unwrap(generator)->step(deadline_ns, out_left, &detail), detail, error);
}

ingot_code ingot_generator_next(ingot_generator* generator, uint64_t deadline_ns,
                                ingot_token* out_token, ingot_error* error) {
  if (!generator || !out_token) return refuse_argument("generator or out_token is null", error);
  if (out_token->size < sizeof out_token->size)
    return refuse_argument("token.size is not set", error);
  ErrorDetail detail;
  AnswerToken token;
  const Status status = unwrap(generator)->next(deadline_ns, &token, &detail);
  if (status.ok()) (void)write_sized(token_of(token), out_token);
  return report(status, detail, error);
}

ingot_code ingot_generator_run(ingot_generator* generator, uint64_t deadline_ns,
                               ingot_token_function function, void* user, ingot_end* out_end,
                               ingot_error* error) {
  if (out_end) *out_end = INGOT_END_NONE;
  if (!generator || !function) return refuse_argument("generator or function is null", error);
  ingot_token token = {};
  token.size = sizeof token;
  do {
    if (const ingot_code code = ingot_generator_next(generator, deadline_ns, &token, error))
      return code;
  } while (function(user, &token) == 0 && token.end == INGOT_END_NONE);
  if (out_end) *out_end = token.end;
  return INGOT_OK;
}

void ingot_generator_cancel(ingot_generator* generator) {
  if (generator) unwrap(generator)->cancel();
}

ingot_code ingot_generator_logits(ingot_generator* generator, ingot_tensor* out_logits,
                                  ingot_error* error) {
  if (!generator || !out_logits) return refuse_argument("generator or out_logits is null", error);
  ErrorDetail detail;
  Span<float> logits;
  const Status status = unwrap(generator)->logits(&logits, &detail);
  *out_logits = {};
  if (!status.ok()) return report(status, detail, error);
  out_logits->data = logits.data;
  out_logits->bytes = logits.size * sizeof(float);
  out_logits->dtype = INGOT_F32;
  out_logits->rank = 1;
  out_logits->dims[0] = out_logits->row_stride = int64_t(logits.size);
  return INGOT_OK;
}

ingot_code ingot_generator_logprobs(ingot_generator* generator, int32_t id, ingot_logprob* out,
                                    size_t count, ingot_error* error) {
  if (!generator || (!out && count)) return refuse_argument("generator or out is null", error);
  ErrorDetail detail;
  Span<float> logits;
  const Status status = unwrap(generator)->logits(&logits, &detail);
  if (!status.ok()) return report(status, detail, error);
  if (id < -1 || id >= int64_t(logits.size))
    return refuse_number("id: at most", logits.size - 1, uint64_t(int64_t{id}), error);
  const size_t own = id >= 0 && count ? 1 : 0;
  if (count - own > logits.size)
    return refuse_number("count: at most", logits.size + own, count, error);
  TokenLogprob* const to = reinterpret_cast<TokenLogprob*>(out);
  if (own) to[0] = {id, logprob_of({logits.data, logits.size}, id)};
  if (count > own) top_logprobs({logits.data, logits.size}, {to + own, count - own});
  return INGOT_OK;
}

ingot_code ingot_generator_save(ingot_generator* generator, void* out, uint64_t capacity,
                                uint64_t* out_bytes, ingot_error* error) {
  if (out_bytes) *out_bytes = 0;
  if (!generator || !out_bytes || (!out && capacity))
    return refuse_argument("generator, out or out_bytes is null", error);
  ErrorDetail detail;
  return report(unwrap(generator)->save(static_cast<uint8_t*>(out), capacity, out_bytes, &detail),
                detail, error);
}

ingot_code ingot_generator_restore(ingot_generator* generator, const void* saved, uint64_t bytes,
                                   ingot_error* error) {
  if (!generator || !saved) return refuse_argument("generator or saved is null", error);
  ErrorDetail detail;
  return report(
      unwrap(generator)->restore({static_cast<const uint8_t*>(saved), size_t(bytes)}, &detail),
      detail, error);
}

}  // extern "C"
