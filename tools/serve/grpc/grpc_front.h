// SPDX-License-Identifier: Apache-2.0
// tools/serve/grpc/grpc_front.h - KServe v2 over gRPC: the same service, another protocol.
// Threads  gRPC's own call the service.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "tools/serve/core/service.h"
#include "tools/serve/http/workers.h"

namespace ingot::serve {

struct GrpcSettings {
  std::string address = "127.0.0.1";
  uint16_t port = 8001;          // 0: one that is free
  std::string certificate, key;  // of TLS, which were checked; both or none
  uint64_t body_bytes = 0;       // of all requests
};

class GrpcFront {
 public:
  /// Listens. @throws host::Failure kUnavailable
  GrpcFront(Service& service, Workers& workers, const GrpcSettings& settings);
  ~GrpcFront();
  /// "grpc://127.0.0.1:8001"
  std::string url() const;
  /// Ends calls that are still open, after a second.
  void stop();

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace ingot::serve
