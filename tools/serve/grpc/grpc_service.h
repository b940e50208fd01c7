// SPDX-License-Identifier: Apache-2.0
// tools/serve/grpc/grpc_service.h - the calls of GRPCInferenceService.
// Threads  gRPC's; an inference ends on a thread of its model.
#pragma once
#include <functional>

#include "kserve.grpc.pb.h"
#include "tools/serve/core/service.h"
#include "tools/serve/http/workers.h"

namespace ingot::serve {

class GrpcService final : public inference::GRPCInferenceService::CallbackService {
 public:
  GrpcService(serve::Service& service, Workers& workers) : service_(service), workers_(workers) {}

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
#define INGOT_GRPC_CALL(name)                                              \
  Reactor* name(Context* context, const inference::name##Request* request, \
                inference::name##Response* response) override
  INGOT_GRPC_CALL(ServerLive);
  INGOT_GRPC_CALL(ServerReady);
  INGOT_GRPC_CALL(ModelReady);
  INGOT_GRPC_CALL(ServerMetadata);
  INGOT_GRPC_CALL(ModelMetadata);
  INGOT_GRPC_CALL(ModelInfer);
  INGOT_GRPC_CALL(ModelConfig);
  INGOT_GRPC_CALL(ModelStatistics);
  INGOT_GRPC_CALL(RepositoryIndex);
  INGOT_GRPC_CALL(RepositoryModelLoad);
  INGOT_GRPC_CALL(RepositoryModelUnload);
  INGOT_GRPC_CALL(SystemSharedMemoryStatus);
  INGOT_GRPC_CALL(SystemSharedMemoryRegister);
  INGOT_GRPC_CALL(SystemSharedMemoryUnregister);
#undef INGOT_GRPC_CALL

  void check_token(Context* context) const;
  SharedRegions& regions() const;
  /// Calls `fill` and ends the call with what it throws.
  template <class Fill>
  Reactor* answer(Context* context, const Fill& fill);
  /// The same on a thread of this pool.
  template <class Fill>
  Reactor* answer_on(boost::asio::thread_pool& pool, Context* context, Fill fill);

  serve::Service& service_;  // not the base class, which is another Service
  Workers& workers_;
};

}  // namespace ingot::serve
