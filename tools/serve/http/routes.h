// SPDX-License-Identifier: Apache-2.0
// tools/serve/http/routes.h - which path is which call, without a connection: everything but the
// inference itself.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/serve/core/service.h"

namespace ingot::serve {

/// Of a call that is no inference.
constexpr size_t kMaxControlBody = 65536;

struct Reply {
  int status = 200;
  std::string body;
  const char* type = "application/json";
};

/// "/v2/models/digits/infer" in parts, decoded; what follows '?' is left out.
/// @throws ServeError kInvalid for a '%' without two digits
std::vector<std::string> path_parts(std::string_view target);

/// The model and the version that an inference is for; nothing where the path is another.
struct InferPath {
  std::string model, version;
};
std::optional<InferPath> infer_path(const std::vector<std::string>& path);
/// What a POST to the path asks of a language model.
enum class Asked { kElse, kChat, kText, kEmbeddings, kMessages, kTokenCount };
Asked completion_of(const std::vector<std::string>& path);
/// Bytes of such a request at most, whatever model it is for.
uint64_t largest_completion(const Service& service);
/// Where the call is answered: it may take long where it reads files, and a load where it tries a
/// model, which holds up nothing else.
enum class Pace { kAtOnce, kReadsFolder, kLoads };
Pace pace_of(const std::vector<std::string>& path);
/// Health is asked without a token.
bool is_public(const std::vector<std::string>& path);

/// @throws ServeError
Reply answer(Service& service, std::string_view method, const std::vector<std::string>& path,
             std::string_view body);

/// The same, with what it throws as its answer.
Reply answer_or_refusal(Service& service, std::string_view method,
                        const std::vector<std::string>& path, std::string_view body);

/// {"error":"..."}, or OpenAI's below /v1, and Anthropic's below /v1/messages.
Reply refusal_reply(const std::vector<std::string>& path, int status, const std::string& text);
Reply refusal_reply(const std::vector<std::string>& path, const ServeError& error);

int status_of(Refusal why);
const char* status_text(int status);

}  // namespace ingot::serve
