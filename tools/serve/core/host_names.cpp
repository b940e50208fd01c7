// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/core/host_names.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>

namespace ingot::serve {
namespace {

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = char(c + 32);
  return small;
}

/// Without the port; "" where it is no name.
std::string name_of(std::string_view host) {
  if (!host.empty() && host[0] == '[') {
    const size_t end = host.find(']');
    if (end == std::string_view::npos) return "";
    return in_small_letters(host.substr(1, end - 1));
  }
  std::string name = in_small_letters(host.substr(0, host.find(':')));
  if (!name.empty() && name.back() == '.') name.pop_back();
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-._") == std::string::npos
             ? name
             : "";
}

bool is_address(const std::string& name) {
  in6_addr six{};
  in_addr four{};
  return inet_pton(AF_INET, name.c_str(), &four) == 1 ||
         inet_pton(AF_INET6, name.c_str(), &six) == 1;
}

}  // namespace

bool HostNames::is_served(std::string_view host) const {
  if (!checks) return true;
  const std::string name = name_of(host);
  if (name.empty()) return false;
  if (name.find('.') == std::string::npos || is_address(name) || name.ends_with(".localhost"))
    return true;
  char own[256] = {};
  if (gethostname(own, sizeof own - 1) == 0 && name == in_small_letters(own)) return true;
  return std::any_of(allowed.begin(), allowed.end(),
                     [&](const std::string& each) { return in_small_letters(each) == name; });
}

bool HostNames::may_change(std::string_view origin, std::string_view host) const {
  const size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos) return false;  // "null": a page that hides where it is from
  const std::string_view page = origin.substr(scheme + 3);
  if (in_small_letters(page) == in_small_letters(host)) return true;
  const std::string name = name_of(page);
  return std::any_of(allowed.begin(), allowed.end(),
                     [&](const std::string& each) { return in_small_letters(each) == name; });
}

}  // namespace ingot::serve
