// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/http/request_head.h"

#include <charconv>
#include <cstdint>

namespace ingot::serve {
namespace {

namespace http = boost::beast::http;

/// The line's value, "" where it is missing. @throws ServeError kInvalid where it is there twice
std::string_view only(const RequestHead& request, const char* name) {
  const auto lines = request.equal_range(name);
  if (lines.first == lines.second) return "";
  auto second = lines.first;
  if (++second != lines.second)
    refuse(Refusal::kInvalid, std::string(name) + ": expected one line, found more");
  return view(lines.first->value());
}

/// Of "http://host:80/path", as proxies ask; "" of a path alone.
std::string_view authority_of(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (target.rfind(scheme, 0) == 0) {
      target.remove_prefix(scheme.size());
      return target.substr(0, target.find_first_of("/?"));
    }
  return "";
}

/// Whether the line goes on in the next one. Beast puts such a value together elsewhere, and leaves
/// out lines of spaces before and behind it. @pre the whole head is in memory, as it is here
bool is_folded(boost::beast::string_view name, boost::beast::string_view value) {
  const char* at = name.data() + name.size();
  if (!value.empty()) {
    const uintptr_t end = uintptr_t(at), begin = uintptr_t(value.data());
    if (begin < end || begin - end > kMaxHeader) return true;
    while (at < value.data())
      if (*at++ == '\n') return true;
    at += value.size();
  }
  while (*at == ':' || *at == ' ' || *at == '\t') at++;
  return at[0] == '\r' && at[1] == '\n' && (at[2] == ' ' || at[2] == '\t');
}

}  // namespace

void HeadParser::on_field_impl(http::field name, boost::beast::string_view spelled,
                               boost::beast::string_view value, boost::beast::error_code& error) {
  if (is_folded(spelled, value)) {
    error = http::error::bad_obs_fold;
    return;
  }
  get().insert(name, spelled, value);
}

uint64_t json_bytes(const RequestHead& request, uint64_t body_bytes) {
  static constexpr char kName[] = "Inference-Header-Content-Length";
  const auto found = request.find(kName);
  if (found == request.end()) return body_bytes;
  const std::string_view text = view(found->value());
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    refuse(Refusal::kInvalid, std::string(kName) + ": expected a number");
  return number;
}

void check_head(const RequestHead& request, const Service& service) {
  for (const char* name : {"Content-Encoding", "Authorization", "Inference-Header-Content-Length"})
    only(request, name);
  const std::string_view host = only(request, "Host");
  if (host.empty() && request.version() >= 11)
    refuse(Refusal::kInvalid, "Host: expected one line, found none");
  const std::string_view authority = authority_of(view(request.target()));
  if (!authority.empty() && authority != host)
    refuse(Refusal::kInvalid, "Host: another than the one of the address that is asked for");
  if (!host.empty() && !service.hosts.is_served(host))
    refuse(Refusal::kForbidden, "Host '" + std::string(host.substr(0, 256)) +
                                    "' is not served; allow it: ingot serve --allow-host NAME");
  if (request.method() == http::verb::get || request.method() == http::verb::head) return;
  const std::string_view origin = only(request, "Origin"), site = only(request, "Sec-Fetch-Site");
  const bool is_foreign = origin.empty() ? site == "cross-site" || site == "same-site"
                                         : !service.hosts.may_change(origin, host);
  if (is_foreign)
    refuse(Refusal::kForbidden,
           "Origin: a page of another site asks; allow its host: ingot serve --allow-host NAME");
}

}  // namespace ingot::serve
