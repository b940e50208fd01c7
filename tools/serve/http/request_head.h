// SPDX-License-Identifier: Apache-2.0
// tools/serve/http/request_head.h - the head of a request: where a proxy before the server could
// read it in another way, or a page of somebody else's asks, it is refused.
#pragma once
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <string_view>

#include "tools/serve/core/service.h"

namespace ingot::serve {

constexpr size_t kMaxHeader = 16384;

using RequestHead = boost::beast::http::request<boost::beast::http::empty_body>;

inline std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

/// As Beast's, which unfolds a header that goes on in the next line: here that is an error.
class HeadParser : public boost::beast::http::request_parser<boost::beast::http::empty_body> {
  void on_field_impl(boost::beast::http::field name, boost::beast::string_view spelled,
                     boost::beast::string_view value, boost::beast::error_code& error) override;
};

/// Of Host, Origin, and the lines that may stand once alone. @throws ServeError
void check_head(const RequestHead& request, const Service& service);

/// Of the body, all where no line says otherwise. @throws ServeError kInvalid
uint64_t json_bytes(const RequestHead& request, uint64_t body_bytes);

}  // namespace ingot::serve
