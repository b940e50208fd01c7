// SPDX-License-Identifier: Apache-2.0
// tools/serve/http/http_front.h - KServe v2 over HTTP/1.1: an event loop that many thousands of
// connections may wait in, each with a limit on time and on bytes.
// Threads  those that run the io_context.
#pragma once
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "tools/serve/core/service.h"
#include "tools/serve/http/workers.h"

namespace ingot::serve {

struct HttpSettings {
  std::string address = "127.0.0.1";
  uint16_t port = 8000;          // 0: one that is free
  std::string certificate, key;  // of TLS; both or none
  uint64_t max_connections = 0;
  int idle_seconds = 0;     // a connection without a request
  int request_seconds = 0;  // until a request has arrived whole, and until its answer has left
};

class HttpFront {
 public:
  /// Listens. @throws host::Failure kUnavailable, kUsage
  HttpFront(boost::asio::io_context& loop, Workers& workers, Service& service,
            const HttpSettings& settings);
  ~HttpFront();
  /// "http://127.0.0.1:8000"
  std::string url() const;
  /// No connection is taken any more; those that are open end with the answer that they wait for.
  void stop();

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace ingot::serve
