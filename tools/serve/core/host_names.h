// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/host_names.h - which names a server answers to, and which pages may change what
// it serves. A browser runs pages of anybody, and sends what they ask for from inside the network:
// a page's own name may point to this machine (DNS rebinding), or a page posts to it from outside.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace ingot::serve {

struct HostNames {
  std::vector<std::string> allowed;  // beside addresses and local names
  bool checks = true;                // false: a token or a certificate keeps pages of others out

  /// @param host "models:8000", "[::1]". An address, a name without a dot (no page on the internet
  /// has one), localhost, this machine's name, or one that is allowed.
  bool is_served(std::string_view host) const;
  /// @param origin of the page that asks, "http://localhost:8000"; @param host that it asks
  bool may_change(std::string_view origin, std::string_view host) const;
};

}  // namespace ingot::serve
