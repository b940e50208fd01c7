// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/protocol/embeddings.h"

#include <nlohmann/json.hpp>

#include "tools/serve/protocol/completion_request.h"
#include "tools/serve/protocol/json_text.h"
#include "tools/serve/protocol/request_body.h"

namespace ingot::serve {
namespace {

using Json = nlohmann::ordered_json;

class InputReader {
 public:
  InputReader(const EmbeddingModel& model, Embeddings* request)
      : model_(model), request_(*request) {}

  void read(const Json& input) {
    if (input.is_string()) return add_text(input);
    if (!input.is_array() || input.empty())
      refuse_field("input", "expected a text, a list of texts, or the numbers of tokens");
    if (input[0].is_number()) return add_tokens(input);
    if (input.size() > EmbeddingModel::kMaxInputs)
      refuse_field("input", std::to_string(input.size()) + " texts, at most " +
                                std::to_string(EmbeddingModel::kMaxInputs) + " are taken");
    for (const Json& one : input) {
      if (one.is_string())
        add_text(one);
      else if (one.is_array())
        add_tokens(one);
      else
        refuse_field("input", "expected texts, or lists of tokens");
    }
  }

 private:
  void add_text(const Json& text) {
    if (text.get_ref<const std::string&>().empty()) refuse_field("input", "an empty text");
    add(model_.encode(text.get_ref<const std::string&>()));
  }
  void add_tokens(const Json& list) {
    std::vector<int32_t> ids;
    for (const Json& id : list) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() >= model_.vocabulary())
        refuse_field("input",
                     "expected tokens, which are 0 to " + std::to_string(model_.vocabulary() - 1));
      ids.push_back(id.get<int32_t>());
    }
    add(std::move(ids));
  }
  void add(std::vector<int32_t> ids) {
    if (ids.empty()) refuse_field("input", "a text without a token");
    if (ids.size() > model_.context())
      refuse(Refusal::kInvalid,
             "'input': " + std::to_string(ids.size()) + " tokens, the context of model '" +
                 request_.name + "' has room for " + std::to_string(model_.context()),
             "input", "context_length_exceeded");
    request_.inputs.push_back(std::move(ids));
  }

  const EmbeddingModel& model_;
  Embeddings& request_;
};

void read_field(const std::string& key, const Json& value, uint64_t width, Embeddings* request) {
  if (key == "model" || key == "input" || key == "user") return;
  if (key == "encoding_format") {
    request->is_base64 = value == "base64";
    if (!request->is_base64 && value != "float")
      refuse_field(key, "expected \"float\" or \"base64\"");
  } else if (key == "dimensions") {
    if (value != width)
      refuse_field(key, "the vectors of this model have " + std::to_string(width) +
                            " numbers, and no other count; leave it out");
  } else {
    refuse(Refusal::kInvalid, "'" + key + "' is not supported", key);
  }
}

void append_base64(const float* values, uint64_t count, std::string* out) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto* bytes = reinterpret_cast<const uint8_t*>(values);
  const uint64_t size = count * sizeof(float);
  for (uint64_t i = 0; i < size; i += 3) {
    const uint64_t left = size - i;
    const uint32_t three = uint32_t(bytes[i]) << 16 | (left > 1 ? uint32_t(bytes[i + 1]) << 8 : 0) |
                           (left > 2 ? uint32_t(bytes[i + 2]) : 0);
    const char digits[] = {kDigits[three >> 18], kDigits[three >> 12 & 63],
                           left > 1 ? kDigits[three >> 6 & 63] : '=',
                           left > 2 ? kDigits[three & 63] : '='};
    out->append(digits, sizeof digits);
  }
}

}  // namespace

Embeddings read_embeddings(const Repository& repository, std::string_view body) {
  const Json json = parse_request_body(body);
  const auto name = json.find("model");
  if (name == json.end() || !name->is_string())
    refuse_field("model", "expected the name of a model");
  Embeddings request;
  request.name = name->get<std::string>();
  request.model = find_openai_model(repository, request.name);
  const EmbeddingModel* const model = request.model->embedding();
  try {
    if (!model)
      refuse(Refusal::kNotFound,
             "model '" + request.name + "' gives no embeddings: " + request.model->no_embedding(),
             "model", "model_not_found");
    for (const auto& [key, value] : json.items())
      if (!value.is_null()) read_field(key, value, model->width(), &request);
    const auto input = json.find("input");
    if (input == json.end()) refuse_field("input", "is missing");
    InputReader(*model, &request).read(*input);
  } catch (const ServeError& error) {
    request.model->count_refused(error.why());
    throw;
  }
  request.reply = "{\"object\":\"list\",\"data\":[";
  return request;
}

void add_embedding(const float* vector, Embeddings* request) {
  const uint64_t width = request->model->embedding()->width();
  std::string& out = request->reply;
  out += request->done ? ",{\"object\":\"embedding\",\"index\":"
                       : "{\"object\":\"embedding\",\"index\":";
  append_number(request->done++, &out);
  out += ",\"embedding\":";
  if (request->is_base64) {
    out += '"';
    append_base64(vector, width, &out);
    out += "\"}";
    return;
  }
  out += '[';
  for (uint64_t i = 0; i < width; i++) {
    if (i) out += ',';
    append_number(vector[i], &out);
  }
  out += "]}";
}

void end_embeddings(Embeddings* request) {
  size_t tokens = 0;
  for (const auto& ids : request->inputs) tokens += ids.size();
  std::string& out = request->reply;
  out += "],\"model\":";
  append_json_string(request->name, &out);
  out += ",\"usage\":{\"prompt_tokens\":";
  append_number(tokens, &out);
  out += ",\"total_tokens\":";
  append_number(tokens, &out);
  out += "}}";
}

}  // namespace ingot::serve
