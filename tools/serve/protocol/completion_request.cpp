// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/protocol/completion_request.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <random>

#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/files/failure.h"
#include "tools/serve/protocol/chat_values.h"
#include "tools/serve/protocol/constraint_request.h"
#include "tools/serve/protocol/messages_request.h"
#include "tools/serve/protocol/request_body.h"

namespace ingot::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxStopTexts = 256;
constexpr size_t kMaxBiases = 1024;
constexpr uint64_t kMaxLogprobs = 20;
constexpr uint64_t kMaxTokens = uint64_t{1} << 30;

bool flag_of(const std::string& field, const Json& json) {
  if (!json.is_boolean()) refuse_field(field, "expected true or false");
  return json.get<bool>();
}

uint64_t whole_of(const std::string& field, const Json& json, uint64_t low, uint64_t high) {
  const bool is_whole = json.is_number_unsigned() && json.get<uint64_t>() >= low;
  if (!is_whole || json.get<uint64_t>() > high)
    refuse_field(field,
                 "expected an integer from " + std::to_string(low) + " to " + std::to_string(high));
  return json.get<uint64_t>();
}

/// What clients send out of habit and what changes no answer.
bool is_ignored(const std::string& key) {
  for (const char* name : {"user", "store", "metadata", "service_tier", "safety_identifier",
                           "prompt_cache_key", "prompt_cache_retention", "parallel_tool_calls"})
    if (key == name) return true;
  return false;
}

/// The setting of that name, or null.
const ingot_setting_range* find_setting(const std::string& name, ingot_setting_range* range) {
  *range = INGOT_INIT(ingot_setting_range);
  for (uint32_t i = 0; ingot_setting_at(i, range) == INGOT_OK; i++)
    if (name == range->name) return range;
  return nullptr;
}

class Reader {
 public:
  Reader(const LanguageModel& model, CompletionForm* form, AnswerRequest* request)
      : model_(model),
        constraint_(form->is_messages ? "output_config" : "response_format"),
        form_(*form),
        request_(*request) {}

  void read(const Json& body) {
    request_ = {};
    request_.settings.push_back({"temperature", 1});
    request_.tokens = form_.is_chat ? 0 : 16;
    request_.seed = uint64_t{random_()} << 32 | random_();
    for (const auto& [key, value] : body.items())
      if (!value.is_null()) read_field(key, value);
    if (form_.includes_usage && !form_.streams)
      refuse_field("stream_options", "expected 'stream' beside it");
    if (top_logprobs_ && !form_.has_logprobs) refuse_field("top_logprobs", "expected 'logprobs'");
    if (form_.has_logprobs) request_.top_logprobs = int32_t(top_logprobs_);
    constraint_.finish(model_.text(), &form_.tools, &request_.grammar);
    if (!request_.grammar.empty() && request_.ignores_end)
      refuse_field("ignore_eos", "expected false beside a form of the answer");
    const char* const source = form_.is_chat ? "messages" : "prompt";
    const auto found = body.find(source);
    if (found == body.end() || found->is_null()) refuse_field(source, "is missing");
    if (form_.is_chat)
      read_messages(*found);
    else
      read_prompt(*found);
  }

 private:
  void read_field(const std::string& key, const Json& value) {
    ingot_setting_range range;
    const bool is_own = key == "model" || key == (form_.is_chat ? "messages" : "prompt");
    if (is_own || is_ignored(key)) return;
    const bool is_of_chats = key == "tools" || key == "tool_choice";
    if ((form_.is_chat || !is_of_chats) && constraint_.read_field(key, value)) return;
    if (find_setting(key, &range)) return read_setting(range, value);
    if (key == "stream") {
      form_.streams = flag_of(key, value);
    } else if (key == "stream_options") {
      read_stream_options(value);
    } else if (key == "n" || (key == "best_of" && !form_.is_chat)) {
      if (value != 1) refuse_field(key, "expected 1: an answer for each request");
    } else if (key == "seed") {
      if (!value.is_number_integer()) refuse_field(key, "expected an integer");
      request_.seed =
          value.is_number_unsigned() ? value.get<uint64_t>() : uint64_t(value.get<int64_t>());
    } else if (key == "max_tokens" || (key == "max_completion_tokens" && form_.is_chat)) {
      const uint32_t tokens = uint32_t(whole_of(key, value, 1, kMaxTokens));
      if (has_tokens_ && tokens != request_.tokens)
        refuse_field(key, "another number than that of its other name");
      request_.tokens = tokens;
      has_tokens_ = true;
    } else if (key == (form_.is_messages ? "stop_sequences" : "stop")) {
      read_stop(key, value);
    } else if (key == "logit_bias") {
      read_biases(value);
    } else if (key == "ignore_eos") {
      request_.ignores_end = flag_of(key, value);
    } else if (key == "logprobs") {
      read_logprobs(value);
    } else if (key == "top_logprobs" && form_.is_chat) {
      top_logprobs_ = whole_of(key, value, 0, kMaxLogprobs);
    } else if (key == "chat_template_kwargs" && form_.is_chat) {
      if (!value.is_object()) refuse_field(key, "expected an object");
      template_values_ = &value;
    } else {
      read_unsupported(key, value);
    }
  }

  /// What has to say nothing, or what every answer is.
  static void read_unsupported(const std::string& key, const Json& value) {
    const auto is = [&](const char* text) { return value.is_string() && value == text; };
    if (key == "tools" || key == "functions" || key == "echo" || key == "suffix") {
      if (!is_nothing(value)) refuse_unsupported(key);
    } else if (key == "tool_choice" || key == "function_call") {
      if (!is("none") && !is("auto")) refuse_unsupported(key);
    } else if (key == "modalities") {
      if (value != Json::array({"text"})) refuse_unsupported(key, ": expected [\"text\"]");
    } else {
      refuse_unsupported(key);
    }
  }

  void read_setting(const ingot_setting_range& range, const Json& value) {
    const double number = value.is_number() ? value.get<double>() : NAN;
    if (!(number >= range.low && number <= range.high) ||
        (range.is_whole && number != std::floor(number))) {
      char text[96];
      snprintf(text, sizeof text, "expected %s from %g to %g",
               range.is_whole ? "an integer" : "a number", range.low, range.high);
      refuse_field(range.name, text);
    }
    if (strcmp(range.name, "temperature") == 0)
      request_.settings[0].value = number;
    else
      request_.settings.push_back({range.name, number});
  }

  void read_stream_options(const Json& value) {
    if (!value.is_object()) refuse_field("stream_options", "expected an object");
    for (const auto& [key, option] : value.items()) {
      if (key == "include_usage")
        form_.includes_usage = flag_of("stream_options.include_usage", option);
      else if (key != "include_obfuscation")
        refuse_unsupported("stream_options." + key);
    }
  }

  void read_logprobs(const Json& value) {
    if (form_.is_chat) {
      form_.has_logprobs = flag_of("logprobs", value);
      return;
    }
    top_logprobs_ = whole_of("logprobs", value, 0, kMaxLogprobs);
    form_.has_logprobs = true;
  }

  void add_stop(const std::string& key, const Json& value) {
    const std::string& text = text_of_field(key, value);
    if (text.empty()) refuse_field(key, "an empty text");
    if (text.find('\0') != std::string::npos) refuse_field(key, "a text with a zero byte");
    request_.stop_texts.push_back(text);
  }

  void read_stop(const std::string& key, const Json& value) {
    if (!value.is_array()) return add_stop(key, value);
    if (value.size() > kMaxStopTexts)
      refuse_field(key, std::to_string(value.size()) + " texts, at most " +
                            std::to_string(kMaxStopTexts) + " are taken");
    for (const Json& text : value) add_stop(key, text);
  }

  void read_biases(const Json& value) {
    if (!value.is_object()) refuse_field("logit_bias", "expected an object of tokens");
    if (value.size() > kMaxBiases)
      refuse_field("logit_bias", std::to_string(value.size()) + " tokens, at most " +
                                     std::to_string(kMaxBiases) + " are taken");
    for (const auto& [key, add] : value.items()) {
      uint64_t id = 0;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
      const bool is_number = error == std::errc() && end == key.data() + key.size();
      if (!is_number || id >= model_.vocabulary())
        refuse_field("logit_bias", "'" + key + "' is no token, which are 0 to " +
                                       std::to_string(model_.vocabulary() - 1));
      if (!add.is_number() || std::fabs(add.get<double>()) > 100)
        refuse_field("logit_bias", "expected a number from -100 to 100 for token " + key);
      request_.biases.push_back({int32_t(id), add.get<double>()});
    }
  }

  void read_prompt(const Json& value) {
    if (value.is_string()) {
      request_.prompt = model_.encode(value.get_ref<const std::string&>());
      return;
    }
    if (!value.is_array() || value.empty())
      refuse_field("prompt", "expected a text, or the numbers of its tokens");
    if (value[0].is_string() || value[0].is_array()) {
      if (value.size() != 1) refuse_field("prompt", "expected one prompt for each request");
      return read_prompt_inside(value[0]);
    }
    read_tokens(value);
  }

  void read_prompt_inside(const Json& value) {
    if (value.is_string())
      request_.prompt = model_.encode(value.get_ref<const std::string&>());
    else
      read_tokens(value);
  }

  void read_tokens(const Json& list) {
    for (const Json& id : list)
      request_.prompt.push_back(int32_t(whole_of("prompt", id, 0, model_.vocabulary() - 1)));
  }

  void read_messages(const Json& value) {
    if (!value.is_array() || value.empty()) refuse_field("messages", "expected a list of messages");
    Json variables = template_values_ ? *template_values_ : Json::object();
    if (variables.contains("messages"))
      refuse_field("chat_template_kwargs", "'messages' has a place of its own");
    Json messages = Json::array();
    for (size_t i = 0; i < value.size(); i++)
      messages.push_back(message_of("messages[" + std::to_string(i) + "]", value[i]));
    variables["messages"] = std::move(messages);
    if (!constraint_.offered().empty()) variables["tools"] = constraint_.offered();
    ChatValues values;
    ingot_chat_options options = chat_options();
    options.variables = values.of(variables);
    const std::time_t now = std::time(nullptr);
    std::tm t{};
    if (localtime_r(&now, &t)) {
      const int parts[] = {t.tm_year + 1900, t.tm_mon + 1, t.tm_mday,
                           t.tm_hour,        t.tm_min,     t.tm_sec};
      std::copy(std::begin(parts), std::end(parts), options.now);
    }
    request_.prompt = model_.encode_chat(options);
    if (!form_.tools.is_forced) return;
    const std::vector<int32_t> begin =
        model_.encode(forced_prefix(form_.tools.form), INGOT_ENCODE_BARE | INGOT_ENCODE_CONTROL);
    request_.prompt.insert(request_.prompt.end(), begin.begin(), begin.end());
  }

  static Json message_of(const std::string& where, const Json& message) {
    if (!message.is_object()) refuse_field(where, "expected an object");
    Json made = Json::object();
    for (const auto& [key, value] : message.items()) {
      if (value.is_null()) continue;
      const std::string field = where + "." + key;
      if (key == "role") {
        const std::string& role = text_of_field(field, value);
        made[key] = role == "developer" ? "system" : role;
      } else if (key == "content") {
        made[key] = text_of_content(field, value);
      } else if (key == "name" || key == "tool_call_id") {
        made[key] = text_of_field(field, value);
      } else if (key == "tool_calls") {
        made[key] = calls_of(field, value);
      } else if (!is_nothing(value)) {
        refuse_unsupported(field);
      }
    }
    if (made.contains("tool_calls") && !made.contains("content")) made["content"] = "";
    for (const char* key : {"role", "content"})
      if (!made.contains(key)) refuse_field(where + "." + key, "is missing");
    return made;
  }

  /// Templates take arguments as values, clients give them as text.
  static Json calls_of(const std::string& where, const Json& calls) {
    if (!calls.is_array()) refuse_field(where, "expected a list");
    Json made = calls;
    for (Json& call : made) {
      if (!call.is_object() || !call.contains("function") || !call["function"].is_object() ||
          !call["function"].contains("name"))
        refuse_field(where, "expected calls of a function with a name");
      Json& function = call["function"];
      if (!function.contains("arguments")) function["arguments"] = "{}";
      if (!function["arguments"].is_string()) continue;
      try {
        function["arguments"] = checkpoint::parse_bounded_json(
            function["arguments"].get_ref<const std::string&>(), "'" + where + "'", 24);
      } catch (const host::Failure& failure) {
        refuse(Refusal::kInvalid, failure.message(), where);
      }
    }
    return made;
  }

  const LanguageModel& model_;
  ConstraintRequest constraint_;
  CompletionForm& form_;
  AnswerRequest& request_;
  std::random_device random_;
  uint64_t top_logprobs_ = 0;
  bool has_tokens_ = false;
  const Json* template_values_ = nullptr;
};

}  // namespace

std::shared_ptr<ServedModel> find_openai_model(const Repository& repository,
                                               const std::string& name) {
  const size_t at = name.rfind('@');
  try {
    return repository.find(name.substr(0, at), at == std::string::npos ? "" : name.substr(at + 1));
  } catch (const ServeError& error) {
    const bool is_unknown = error.why() == Refusal::kNotFound;
    refuse(error.why(), error.text(), "model", is_unknown ? "model_not_found" : "");
  }
}

std::shared_ptr<ServedModel> find_language_model(const Repository& repository,
                                                 const std::string& name) {
  std::shared_ptr<ServedModel> model = find_openai_model(repository, name);
  if (!model->language())
    refuse(Refusal::kNotFound, "model '" + name + "' gives no text: " + model->no_language(),
           "model", "model_not_found");
  return model;
}

std::shared_ptr<ServedModel> read_completion(const Repository& repository, std::string_view body,
                                             CompletionForm* form, AnswerRequest* request) {
  const Json json = parse_request_body(body);
  const auto name = json.find("model");
  if (name == json.end()) refuse_field("model", "is missing");
  form->model = text_of_field("model", *name);
  std::shared_ptr<ServedModel> model = find_language_model(repository, form->model);
  try {
    Reader reader(*model->language(), form, request);
    if (form->is_messages)
      reader.read(chat_of_messages(json, !form->counts_tokens));
    else
      reader.read(json);
  } catch (const ServeError& error) {
    model->language()->count_refused(error.why());
    throw;
  }
  return model;
}

}  // namespace ingot::serve
