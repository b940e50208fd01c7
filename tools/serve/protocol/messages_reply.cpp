// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/protocol/messages_reply.h"

#include <algorithm>

#include "tools/serve/protocol/json_text.h"
#include "tools/serve/protocol/tool_calls.h"

namespace ingot::serve {
namespace {

void begin_message_event(const char* type, std::string* out) {
  out->append("event: ").append(type).append("\ndata: {\"type\":\"").append(type).append("\"");
}

void append_message_usage(const AnswerCounts& counts, std::string* out) {
  *out += ",\"usage\":{\"input_tokens\":";
  append_number(counts.prompt - counts.cached, out);
  *out += ",\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":";
  append_number(counts.cached, out);
  *out += ",\"output_tokens\":";
  append_number(counts.generated, out);
  *out += '}';
}

/// "stop_reason":...,"stop_sequence":...
void append_stop(const char* reason, const AnswerTask& task, std::string* out) {
  out->append("\"stop_reason\":\"").append(reason).append("\",\"stop_sequence\":");
  if (task.stop_text < 0)
    *out += "null";
  else
    append_json_string(task.request.stop_texts[size_t(task.stop_text)], out);
}

const char* stop_reason(ingot_end why, bool has_calls) {
  if (has_calls) return "tool_use";
  if (why == INGOT_END_STOP_TEXT) return "stop_sequence";
  return why == INGOT_END_LENGTH || why == INGOT_END_CONTEXT ? "max_tokens" : "end_turn";
}

}  // namespace

/// Up to its content.
void MessagesReply::begin_message(std::string* out) const {
  *out += "{\"id\":\"" + id_ + "\",\"type\":\"message\",\"role\":\"assistant\",\"model\":";
  append_json_string(form_.model, out);
  *out += ",\"content\":[";
}

void MessagesReply::begin(const AnswerTask& task, std::string* out) {
  if (!form_.streams) return;
  begin_message_event("message_start", out);
  *out += ",\"message\":";
  begin_message(out);
  *out += "],\"stop_reason\":null,\"stop_sequence\":null";
  append_message_usage(task.counts, out);
  *out += "}}\n\n";
}

void MessagesReply::add(const AnswerPiece& piece, std::string* out) {
  said_ += piece.text;
  if (!form_.streams) return;
  const size_t sure = form_.tools.is_offered ? bytes_before_call(said_, form_.tools) : said_.size();
  if (!sure) return;
  add_text(std::string_view(said_).substr(0, sure), out);
  said_.erase(0, sure);
}

void MessagesReply::add_text(std::string_view text, std::string* out) {
  if (!form_.streams) {
    *out += blocks_++ ? "," : "";
    *out += "{\"type\":\"text\",\"text\":";
    append_json_string(text, out);
    *out += '}';
    return;
  }
  if (!is_open_) {
    begin_message_event("content_block_start", out);
    *out += ",\"index\":";
    append_number(blocks_++, out);
    *out += ",\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
    is_open_ = true;
  }
  if (text.empty()) return;
  begin_message_event("content_block_delta", out);
  *out += ",\"index\":";
  append_number(blocks_ - 1, out);
  *out += ",\"delta\":{\"type\":\"text_delta\",\"text\":";
  append_json_string(text, out);
  *out += "}}\n\n";
}

void MessagesReply::end_block(std::string* out) {
  if (!is_open_) return;
  is_open_ = false;
  begin_message_event("content_block_stop", out);
  *out += ",\"index\":";
  append_number(blocks_ - 1, out);
  *out += "}\n\n";
}

void MessagesReply::add_call(const ToolCall& call, std::string* out) {
  const size_t index = blocks_++;
  if (form_.streams) {
    begin_message_event("content_block_start", out);
    *out += ",\"index\":";
    append_number(index, out);
    *out += ",\"content_block\":";
  } else {
    *out += index ? "," : "";
  }
  *out += "{\"type\":\"tool_use\",\"id\":\"toolu_" + id_.substr(id_.find('_') + 1, 20);
  append_number(index, out);
  *out += "\",\"name\":";
  append_json_string(call.name, out);
  *out += ",\"input\":" + (form_.streams ? std::string("{}") : call.arguments) + '}';
  if (!form_.streams) return;
  *out += "}\n\n";
  begin_message_event("content_block_delta", out);
  *out += ",\"index\":";
  append_number(index, out);
  *out += ",\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":";
  append_json_string(call.arguments, out);
  *out += "}}\n\n";
  is_open_ = true;
  end_block(out);
}

void MessagesReply::end(ingot_end why, const AnswerTask& task, std::string* out) {
  std::vector<ToolCall> calls;
  std::string_view content = said_;
  if (form_.tools.is_offered) calls = find_tool_calls(said_, form_.tools, &content);
  // an input is an object here, never a text
  if (!std::all_of(calls.begin(), calls.end(), has_object)) calls.clear(), content = said_;
  const char* const reason = stop_reason(why, !calls.empty());
  if (!form_.streams) begin_message(out);
  // A client may count on a block: without calls there is one, of no text if need be.
  const bool needs_text = calls.empty() && (!form_.streams || !blocks_);
  if (!content.empty() || needs_text) add_text(content, out);
  end_block(out);
  for (const ToolCall& call : calls) add_call(call, out);
  if (!form_.streams) {
    *out += "],";
    append_stop(reason, task, out);
    append_message_usage(task.counts, out);
    *out += '}';
    return;
  }
  begin_message_event("message_delta", out);
  *out += ",\"delta\":{";
  append_stop(reason, task, out);
  *out += '}';
  append_message_usage(task.counts, out);
  *out += "}\n\n";
  begin_message_event("message_stop", out);
  *out += "}\n\n";
}

std::string anthropic_error(int status, const std::string& text) {
  const char* type = status < 500 || status == 501 ? "invalid_request_error" : "api_error";
  if (status == 401) type = "authentication_error";
  if (status == 403) type = "permission_error";
  if (status == 404) type = "not_found_error";
  if (status == 413) type = "request_too_large";
  if (status == 429) type = "rate_limit_error";
  if (status == 504) type = "timeout_error";
  std::string json = "{\"type\":\"error\",\"error\":{\"type\":\"";
  json.append(type).append("\",\"message\":");
  append_json_string(text, &json);
  return json + "}}";
}

std::string token_count(size_t tokens) {
  return "{\"input_tokens\":" + std::to_string(tokens) + "}";
}

}  // namespace ingot::serve
