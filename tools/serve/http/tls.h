// SPDX-License-Identifier: Apache-2.0
// tools/serve/http/tls.h - the certificate and the key that connections are encrypted with.
#pragma once
#include <boost/asio/ssl/context.hpp>
#include <string>

namespace ingot::serve {

/// TLS 1.2 and 1.3. @throws host::Failure kUnavailable, kMismatch: a file that is no certificate or
/// key, a key of another certificate, a certificate that expired or is not valid yet
boost::asio::ssl::context tls_context(const std::string& certificate, const std::string& key);

}  // namespace ingot::serve
