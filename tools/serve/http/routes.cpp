// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/http/routes.h"

#include "tools/serve/core/unsupported.h"
#include "tools/serve/protocol/completion_reply.h"
#include "tools/serve/protocol/descriptions.h"
#include "tools/serve/protocol/json_text.h"
#include "tools/serve/protocol/messages_reply.h"

namespace ingot::serve {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view part) {
  std::string out;
  for (size_t i = 0; i < part.size(); i++) {
    if (part[i] != '%') {
      out += part[i];
      continue;
    }
    const int high = i + 2 < part.size() ? hex_digit(part[i + 1]) : -1;
    const int low = i + 2 < part.size() ? hex_digit(part[i + 2]) : -1;
    if (high < 0 || low < 0) refuse(Refusal::kInvalid, "path: '%' is not followed by two digits");
    out += char(high * 16 + low);
    i += 2;
  }
  return out;
}

[[noreturn]] void unknown_path() {
  refuse(Refusal::kNotFound, "no such path; see the KServe v2 protocol, and docs/serve.md");
}

bool is_openai(const std::vector<std::string>& path) { return !path.empty() && path[0] == "v1"; }

bool is_anthropic(const std::vector<std::string>& path) {
  return path.size() > 1 && is_openai(path) && path[1] == "messages";
}

/// As far as any of its methods goes.
void check_path(const std::vector<std::string>& path) {
  const bool is_models = path.size() > 1 && path.size() <= 3 && path[1] == "models";
  if (is_openai(path) && !is_models && completion_of(path) == Asked::kElse)
    refuse(Refusal::kNotFound,
           "no such path; there are /v1/models, /v1/chat/completions, /v1/completions, "
           "/v1/embeddings, /v1/messages and /v1/messages/count_tokens");
  if (path.empty() || (path[0] != "v1" && path[0] != "v2" && path[0] != "metrics")) unknown_path();
}

/// A small document that a client sent; an empty body is an empty object.
Json document(std::string_view body) {
  if (body.size() > kMaxControlBody)
    refuse(Refusal::kTooLarge, "a body of more than 65,536 bytes for this path");
  if (body.find_first_not_of(" \r\n\t") == std::string_view::npos) return Json::object();
  Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) refuse(Refusal::kInvalid, "the body is no JSON object");
  return json;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

uint64_t number_field(const Json& json, const char* name, bool is_required) {
  const auto found = json.find(name);
  if (found == json.end() && !is_required) return 0;
  if (found == json.end() || !found->is_number_unsigned())
    refuse(Refusal::kInvalid, std::string("'") + name + "': expected an integer from 0");
  return found->get<uint64_t>();
}

Reply ready_reply(bool is_ready) { return {is_ready ? 200 : 503, "", "application/json"}; }

/// Below /v2/models/NAME[/versions/VERSION].
Reply answer_model(Service& service, const std::string& name, const std::string& version,
                   const std::vector<std::string>& rest) {
  const bool asks_ready = rest.size() == 1 && rest[0] == "ready";
  std::shared_ptr<ServedModel> model;
  try {
    model = service.repository.find(name, version);
  } catch (const ServeError& error) {
    if (asks_ready && error.why() == Refusal::kUnavailable) return ready_reply(false);
    throw;
  }
  if (asks_ready) return ready_reply(true);
  if (rest.empty())
    return {200, text_of(model_metadata(*model, service.repository.versions(name)))};
  if (rest.size() > 1) unknown_path();
  if (rest[0] == "config") return {200, text_of(model_configuration(*model))};
  if (rest[0] == "stats") {
    Json list = Json::array();
    for (const auto& one : service.repository.served())
      if (one->name() == name && (version.empty() || one == model))
        list.push_back(statistics_json(*one));
    return {200, text_of(Json::object({{"model_stats", list}}))};
  }
  unknown_path();
}

Reply answer_models(Service& service, const std::vector<std::string>& path) {
  if (path.size() == 3 && path[2] == "stats") {
    Json list = Json::array();
    for (const auto& one : service.repository.served()) list.push_back(statistics_json(*one));
    return {200, text_of(Json::object({{"model_stats", list}}))};
  }
  if (path.size() < 3) unknown_path();
  const bool has_version = path.size() >= 5 && path[3] == "versions";
  const size_t used = has_version ? 5 : 3;
  return answer_model(service, path[2], has_version ? path[4] : "",
                      {path.begin() + std::ptrdiff_t(used), path.end()});
}

Reply answer_repository(Service& service, const std::vector<std::string>& path,
                        std::string_view body) {
  const Json json = document(body);
  if (path.size() == 3 && path[2] == "index") {
    const auto ready = json.find("ready");
    if (ready != json.end() && !ready->is_boolean())
      refuse(Refusal::kInvalid, "'ready': expected true or false");
    const bool ready_alone = ready != json.end() && ready->get<bool>();
    return {200, text_of(index_json(service.repository.index(), ready_alone))};
  }
  if (path.size() != 5 || path[2] != "models") unknown_path();
  if (path[4] == "load") {
    const auto parameters = json.find("parameters");
    if (parameters != json.end() && !parameters->empty()) refuse_load_parameters();
    service.repository.load(path[3]);
    return {};
  }
  if (path[4] != "unload") unknown_path();
  service.repository.unload(path[3]);
  return {};
}

/// Below /v2/systemsharedmemory.
Reply answer_regions(Service& service, const std::vector<std::string>& path,
                     std::string_view body) {
  if (!service.shared()) refuse_shared_memory();
  const bool has_region = path.size() == 5 && path[2] == "region";
  if (!has_region && path.size() != 3) unknown_path();
  const std::string& call = path.back();
  const std::string region = has_region ? path[3] : "";
  if (call == "status") {
    if (has_region) return {200, text_of(regions_json({service.regions.find(region)}))};
    return {200, text_of(regions_json(service.regions.all()))};
  }
  if (call == "unregister") {
    service.regions.remove(region);
    return {};
  }
  if (call != "register" || !has_region) unknown_path();
  const Json json = document(body);
  const auto key = json.find("key");
  if (key == json.end() || !key->is_string()) refuse(Refusal::kInvalid, "'key': expected a text");
  service.regions.add(region, key->get<std::string>(), number_field(json, "offset", false),
                      number_field(json, "byte_size", true));
  return {};
}

/// Below /v1, but for answers.
Reply answer_openai(Service& service, const std::vector<std::string>& path) {
  if (path.size() == 2) return {200, openai_models(service.repository)};
  return {200, openai_model(service.repository, path[2])};
}

Reply metrics(Service& service) {
  ServerCounts counts;
  counts.connections = service.connections;
  counts.refused_connections = service.refused_connections;
  counts.request_bytes_held = service.jobs.held_bytes();
  if (service.access_log) counts.dropped_log_lines = service.access_log->dropped();
  counts.uptime_seconds = double(ingot_clock_ns() - service.began_ns) / 1e9;
  return {200, metrics_text(service.repository, counts),
          "text/plain; version=0.0.4; charset=utf-8"};
}

/// Calls that change something, and inferences, are POST and nothing else: a link or an image in a
/// page makes a browser ask by GET.
const char* method_of(const std::vector<std::string>& path) {
  if (completion_of(path) != Asked::kElse || infer_path(path)) return "POST";
  if (path.size() > 1 && path[1] == "repository") return "POST";
  const bool is_region = path.size() > 1 && path[1].find("sharedmemory") != std::string::npos;
  return is_region && path.back() != "status" ? "POST" : "GET";
}

}  // namespace

std::vector<std::string> path_parts(std::string_view target) {
  // a proxy may send the whole address
  for (const std::string_view scheme : {"http://", "https://"})
    if (target.rfind(scheme, 0) == 0)
      target.remove_prefix(std::min(target.find('/', scheme.size()), target.size()));
  target = target.substr(0, target.find('?'));
  std::vector<std::string> parts;
  for (size_t at = 0; at < target.size();) {
    const size_t end = std::min(target.find('/', at), target.size());
    if (end > at) parts.push_back(decoded(target.substr(at, end - at)));
    at = end + 1;
  }
  return parts;
}

std::optional<InferPath> infer_path(const std::vector<std::string>& path) {
  if (path.size() < 4 || path[0] != "v2" || path[1] != "models" || path.back() != "infer")
    return std::nullopt;
  if (path.size() == 4) return InferPath{path[2], ""};
  if (path.size() == 6 && path[3] == "versions") return InferPath{path[2], path[4]};
  return std::nullopt;
}

Asked completion_of(const std::vector<std::string>& path) {
  if (!is_openai(path)) return Asked::kElse;
  if (path.size() == 2 && path[1] == "completions") return Asked::kText;
  if (path.size() == 2 && path[1] == "embeddings") return Asked::kEmbeddings;
  if (path.size() == 2 && path[1] == "messages") return Asked::kMessages;
  if (path.size() != 3) return Asked::kElse;
  if (path[1] == "messages" && path[2] == "count_tokens") return Asked::kTokenCount;
  return path[1] == "chat" && path[2] == "completions" ? Asked::kChat : Asked::kElse;
}

uint64_t largest_completion(const Service& service) {
  uint64_t most = uint64_t{1} << 20;
  for (const auto& model : service.repository.served()) {
    if (model->language()) most = std::max(most, model->language()->largest_body());
    if (model->embedding()) most = std::max(most, model->embedding()->largest_body());
  }
  return most;
}

Pace pace_of(const std::vector<std::string>& path) {
  if (path.size() < 3 || path[0] != "v2" || path[1] != "repository") return Pace::kAtOnce;
  if (path[2] == "index") return Pace::kReadsFolder;
  return path.back() == "load" ? Pace::kLoads : Pace::kAtOnce;
}

bool is_public(const std::vector<std::string>& path) {
  return path.size() == 3 && path[0] == "v2" && path[1] == "health";
}

Reply answer(Service& service, std::string_view method, const std::vector<std::string>& path,
             std::string_view body) {
  const bool is_metrics = path.size() == 1 && path[0] == "metrics";
  check_path(path);
  const std::string expected = method_of(path);
  // The connection leaves the body of an answer to HEAD out.
  if (method != expected && !(method == "HEAD" && expected == "GET"))
    return refusal_reply(path, 405, "expected " + expected);
  if (is_metrics) return metrics(service);
  if (is_openai(path)) return answer_openai(service, path);
  if (path.size() == 1) return {200, text_of(server_metadata(service.extensions()))};
  if (path[1] == "health" && path.size() == 3) {
    if (path[2] == "live") return ready_reply(true);
    if (path[2] == "ready") return ready_reply(service.repository.is_ready());
  }
  if (path[1] == "models") return answer_models(service, path);
  if (path[1] == "repository") return answer_repository(service, path, body);
  if (path[1] == "systemsharedmemory") return answer_regions(service, path, body);
  if (path[1] == "cudasharedmemory") {
    if (path.back() == "status") return {200, "[]"};
    if (path.back() == "unregister") return {};
    refuse(Refusal::kUnsupported, "shared memory of a GPU is not supported");
  }
  unknown_path();
}

Reply answer_or_refusal(Service& service, std::string_view method,
                        const std::vector<std::string>& path, std::string_view body) {
  try {
    return answer(service, method, path, body);
  } catch (const ServeError& refused) {
    return refusal_reply(path, refused);
  } catch (const std::exception& failure) {
    return refusal_reply(path, 500, failure.what());
  }
}

Reply refusal_reply(const std::vector<std::string>& path, int status, const std::string& text) {
  if (is_anthropic(path)) return {status, anthropic_error(status, text)};
  return {status, is_openai(path) ? openai_error(status, text) : error_json(text)};
}

Reply refusal_reply(const std::vector<std::string>& path, const ServeError& error) {
  const int status = status_of(error.why());
  if (!is_openai(path) || is_anthropic(path)) return refusal_reply(path, status, error.text());
  return {status, openai_error(status, error.text(), error.field(), error.code())};
}

int status_of(Refusal why) {
  switch (why) {
    case Refusal::kInvalid: return 400;
    case Refusal::kUnauthorized: return 401;
    case Refusal::kForbidden: return 403;
    case Refusal::kNotFound: return 404;
    case Refusal::kTooLarge: return 413;
    case Refusal::kBusy: return 429;
    case Refusal::kDeadline: return 504;
    case Refusal::kCancelled: return 499;
    case Refusal::kUnavailable: return 503;
    case Refusal::kUnsupported: return 501;
    case Refusal::kInternal: return 500;
  }
  return 500;
}

const char* status_text(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 411: return "Length Required";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 499: return "Client Closed Request";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "Internal Server Error";
  }
}

}  // namespace ingot::serve
