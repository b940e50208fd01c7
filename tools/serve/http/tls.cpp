// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/http/tls.h"

#include <openssl/err.h>
#include <openssl/x509.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tools/files/failure.h"
#include "tools/files/input_file.h"

namespace ingot::serve {
namespace {

namespace ssl = boost::asio::ssl;
using host::Exit;

std::string time_text(const ASN1_TIME* time) {
  tm fields{};
  if (!ASN1_TIME_to_tm(time, &fields)) return "a time that cannot be read";
  char text[40];
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &fields);
  return text;
}

void check_times(const std::string& file, SSL_CTX* context) {
  const X509* certificate = SSL_CTX_get0_certificate(context);
  if (!certificate) host::fail(Exit::kMismatch, file + ": has no certificate");
  const ASN1_TIME *from = X509_get0_notBefore(certificate), *to = X509_get0_notAfter(certificate);
  if (X509_cmp_current_time(to) < 0)
    host::fail(Exit::kMismatch, file + ": the certificate expired on " + time_text(to) +
                                    "; clients would refuse it; renew it");
  if (X509_cmp_current_time(from) > 0)
    host::fail(Exit::kMismatch, file + ": the certificate is not valid before " + time_text(from));
}

void check_readable(const std::string& path) {
  if (!host::InputStream(path))
    host::fail(Exit::kUnavailable, path + ": cannot be read: " + std::strerror(errno));
}

/// Boost's own text of an error of OpenSSL 3 is "asio.ssl error".
std::string reason_of(const boost::system::error_code& error) {
  const char* reason = ERR_reason_error_string(static_cast<unsigned long>(error.value()));
  return reason ? reason : error.message();
}

}  // namespace

ssl::context tls_context(const std::string& certificate, const std::string& key) {
  ssl::context context(ssl::context::tls_server);
  context.set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 |
                      ssl::context::no_tlsv1_1 | ssl::context::no_compression);
  boost::system::error_code error;
  check_readable(certificate);
  check_readable(key);
  context.use_certificate_chain_file(certificate, error);
  if (error)
    host::fail(Exit::kUnavailable,
               certificate + ": no certificate in PEM can be read from it: " + reason_of(error));
  check_times(certificate, context.native_handle());
  context.use_private_key_file(key, ssl::context::pem, error);
  if (error)
    host::fail(Exit::kUnavailable, key + ": no private key in PEM that fits " + certificate +
                                       " can be read from it: " + reason_of(error));
  return context;
}

}  // namespace ingot::serve
