// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/protocol/completion_reply.h"

#include <ctime>

#include "runtime/text/unicode.h"
#include "tools/serve/protocol/json_text.h"

namespace ingot::serve {
namespace {

constexpr float kLeastLogprob = -9999;  // JSON has no infinity

bool is_utf8(std::string_view bytes) {
  return text::is_utf8({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

std::string_view piece_of(const Text& text, int32_t id) {
  const char* bytes = "";
  size_t count = 0;
  ingot_text_token(text.get(), id, &bytes, &count, nullptr);  // a model may have logits for more
  return {bytes, count};
}

/// A part of a character as OpenAI writes it: bytes:\xe2\x80
void append_piece(std::string_view bytes, std::string* out) {
  if (is_utf8(bytes)) return append_json_string(bytes, out);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text = "bytes:";
  for (const char c : bytes)
    text.append("\\x").append(1, kHex[uint8_t(c) >> 4]).append(1, kHex[c & 15]);
  append_json_string(text, out);
}

void append_logprob(float logprob, std::string* out) {
  append_number(logprob >= kLeastLogprob ? logprob : kLeastLogprob, out);
}

/// "token":...,"logprob":...,"bytes":[...]
void append_entry(const Text& text, const ingot_logprob& of, std::string* out) {
  const std::string_view piece = piece_of(text, of.id);
  *out += "\"token\":";
  append_piece(piece, out);
  *out += ",\"logprob\":";
  append_logprob(of.logprob, out);
  *out += ",\"bytes\":[";
  for (size_t i = 0; i < piece.size(); i++) {
    if (i) *out += ',';
    append_number(unsigned(uint8_t(piece[i])), out);
  }
  *out += ']';
}

void separate(std::string* list) {
  if (!list->empty()) *list += ',';
}

uint64_t characters(std::string_view text) {
  uint64_t count = 0;
  for (const char c : text) count += (c & 0xc0) != 0x80;
  return count;
}

const char* reason_of(ingot_end why) {
  return why == INGOT_END_LENGTH || why == INGOT_END_CONTEXT ? "length" : "stop";
}

void append_usage(const AnswerCounts& counts, std::string* out) {
  *out += "\"usage\":{\"prompt_tokens\":";
  append_number(counts.prompt, out);
  *out += ",\"completion_tokens\":";
  append_number(counts.generated, out);
  *out += ",\"total_tokens\":";
  append_number(counts.prompt + counts.generated, out);
  *out += ",\"prompt_tokens_details\":{\"cached_tokens\":";
  append_number(counts.cached, out);
  *out += "}}";
}

void append_model(const ServedModel& model, const std::string& name, std::string* out) {
  *out += "{\"id\":";
  append_json_string(name, out);
  *out += ",\"object\":\"model\",\"created\":";
  append_number(model.created(), out);
  *out += ",\"owned_by\":\"ingot\"}";
}

}  // namespace

CompletionReply::CompletionReply(const CompletionForm& form, const Text* text)
    : form_(form),
      text_(text),
      id_(random_id(form.is_chat ? "chatcmpl-" : "cmpl-")),
      created_(std::time(nullptr)) {}

void CompletionReply::begin_object(const char* name, std::string* out) const {
  *out += "{\"id\":\"" + id_ + "\",\"object\":\"" + name + "\",\"created\":";
  append_number(created_, out);
  *out += ",\"model\":";
  append_json_string(form_.model, out);
  *out += ",\"choices\":[";
}

void CompletionReply::begin_event(std::string* out) const {
  *out += "data: ";
  begin_object(form_.is_chat ? "chat.completion.chunk" : "text_completion", out);
}

void CompletionReply::begin(const AnswerTask&, std::string* out) {
  if (!form_.streams || !form_.is_chat) return;
  begin_event(out);
  *out +=
      "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,"
      "\"finish_reason\":null}]";
  *out += form_.includes_usage ? ",\"usage\":null}\n\n" : "}\n\n";
}

void CompletionReply::add_logprobs(const AnswerPiece& piece, std::string* out) {
  separate(out);
  *out += '{';
  append_entry(*text_, piece.logprobs[0], out);
  *out += ",\"top_logprobs\":[";
  for (size_t i = 1; i < piece.logprobs.size(); i++) {
    *out += i > 1 ? ",{" : "{";
    append_entry(*text_, piece.logprobs[i], out);
    *out += '}';
  }
  *out += "]}";
}

/// Of /v1/completions: lists beside one another.
void CompletionReply::add_old_logprobs(const AnswerPiece& piece, std::string* out) {
  separate(out);
  *out += '{';
  for (size_t i = 1; i < piece.logprobs.size(); i++) {
    if (i > 1) *out += ',';
    append_piece(piece_of(*text_, piece.logprobs[i].id), out);
    *out += ':';
    append_logprob(piece.logprobs[i].logprob, out);
  }
  *out += '}';
  separate(&tokens_);
  append_piece(piece_of(*text_, piece.id), &tokens_);
  separate(&token_logprobs_);
  append_logprob(piece.logprobs[0].logprob, &token_logprobs_);
  separate(&offsets_);
  append_number(offset_, &offsets_);
}

void CompletionReply::write_logprobs(std::string* out) const {
  *out += ",\"logprobs\":";
  if (!form_.has_logprobs || (form_.streams && logprobs_.empty()))
    *out += "null";
  else if (form_.is_chat)
    *out += "{\"content\":[" + logprobs_ + "],\"refusal\":null}";
  else
    *out += "{\"tokens\":[" + tokens_ + "],\"token_logprobs\":[" + token_logprobs_ +
            "],\"top_logprobs\":[" + logprobs_ + "],\"text_offset\":[" + offsets_ + "]}";
}

void CompletionReply::add(const AnswerPiece& piece, std::string* out) {
  if (form_.has_logprobs && !piece.is_control) {
    if (form_.is_chat)
      add_logprobs(piece, &logprobs_);
    else
      add_old_logprobs(piece, &logprobs_);
  }
  offset_ += characters(piece.text);
  said_ += piece.text;
  if (!form_.streams || (said_.empty() && logprobs_.empty())) return;
  std::string held;  // what may be of a call
  if (form_.tools.is_offered) {
    const size_t before = bytes_before_call(said_, form_.tools);
    if (before == 0) return;
    held = said_.substr(before);
    said_.resize(before);
  }
  std::string delta = form_.is_chat ? "\"delta\":{\"content\":" : "\"text\":";
  append_json_string(said_, &delta);
  if (form_.is_chat) delta += '}';
  write_delta(delta, out);
  for (std::string* text : {&said_, &logprobs_, &tokens_, &token_logprobs_, &offsets_})
    text->clear();
  said_ = std::move(held);
}

/// An event that is not the last.
void CompletionReply::write_delta(const std::string& delta, std::string* out) {
  begin_event(out);
  *out += "{\"index\":0," + delta;
  write_logprobs(out);
  *out += ",\"finish_reason\":null}]";
  *out += form_.includes_usage ? ",\"usage\":null}\n\n" : "}\n\n";
}

std::string CompletionReply::calls_of(const std::vector<ToolCall>& calls) const {
  std::string json = "\"tool_calls\":[";
  for (size_t i = 0; i < calls.size(); i++) {
    const std::string number = std::to_string(i);
    json += (i ? ",{" : "{") + (form_.streams ? "\"index\":" + number + ',' : std::string());
    json += "\"id\":\"call_" + id_.substr(id_.find('-') + 1, 20) + number;
    json += "\",\"type\":\"function\",\"function\":{\"name\":";
    append_json_string(calls[i].name, &json);
    json += ",\"arguments\":";
    append_json_string(calls[i].arguments, &json);
    json += "}}";
  }
  return json + ']';
}

void CompletionReply::end(ingot_end why, const AnswerTask& task, std::string* out) {
  std::vector<ToolCall> calls;
  std::string_view content = said_;
  if (form_.tools.is_offered) calls = find_tool_calls(said_, form_.tools, &content);
  const std::string reason = std::string(",\"finish_reason\":\"") +
                             (calls.empty() ? reason_of(why) : "tool_calls") + "\"}]";
  if (!form_.streams) {
    begin_object(form_.is_chat ? "chat.completion" : "text_completion", out);
    *out += form_.is_chat ? "{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":"
                          : "{\"index\":0,\"text\":";
    if (!calls.empty() && content.empty())
      *out += "null";
    else
      append_json_string(content, out);
    if (!calls.empty()) *out += ',' + calls_of(calls);
    if (form_.is_chat) *out += ",\"refusal\":null}";
    write_logprobs(out);
    *out += reason + ',';
    append_usage(task.counts, out);
    *out += '}';
    return;
  }
  if (form_.tools.is_offered && !said_.empty()) {  // what was held back
    std::string delta = "\"delta\":{\"content\":";
    append_json_string(content, &delta);
    write_delta(calls.empty() ? delta + '}' : "\"delta\":{" + calls_of(calls) + '}', out);
    logprobs_.clear();
  }
  begin_event(out);
  *out += form_.is_chat ? "{\"index\":0,\"delta\":{},\"logprobs\":null"
                        : "{\"index\":0,\"text\":\"\",\"logprobs\":null";
  *out += reason;
  *out += form_.includes_usage ? ",\"usage\":null}\n\n" : "}\n\n";
  if (form_.includes_usage) {
    begin_event(out);
    *out += "],";
    append_usage(task.counts, out);
    *out += "}\n\n";
  }
  *out += "data: [DONE]\n\n";
}

std::string openai_error(int status, const std::string& text, const std::string& field,
                         const char* code) {
  const bool is_client = status < 500 || status == 501;
  const char* type = is_client ? "invalid_request_error" : "server_error";
  if (status == 401) type = "authentication_error", code = "invalid_api_key";
  if (status == 403) type = "permission_error";
  if (status == 429) type = "rate_limit_error";
  std::string json = "{\"error\":{\"message\":";
  append_json_string(text, &json);
  json += std::string(",\"type\":\"") + type + "\",\"param\":";
  if (field.empty())
    json += "null";
  else
    append_json_string(field, &json);
  json += ",\"code\":";
  json += *code ? "\"" + std::string(code) + "\"}}" : "null}}";
  return json;
}

std::string openai_models(const Repository& repository) {
  std::string json = "{\"object\":\"list\",\"data\":[";
  std::string last;
  for (const auto& model : repository.served()) {
    if ((!model->language() && !model->embedding()) || model->name() == last) continue;
    if (!last.empty()) json += ',';
    last = model->name();
    append_model(*model, last, &json);
  }
  return json + "]}";
}

std::string openai_model(const Repository& repository, const std::string& name) {
  const auto model = find_openai_model(repository, name);
  if (!model->embedding()) (void)find_language_model(repository, name);
  std::string json;
  append_model(*model, name, &json);
  return json;
}

}  // namespace ingot::serve
