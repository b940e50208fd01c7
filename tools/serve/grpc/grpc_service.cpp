// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/grpc/grpc_service.h"

#include <boost/asio/post.hpp>
#include <chrono>

#include "tools/serve/core/element_types.h"
#include "tools/serve/core/unsupported.h"
#include "tools/serve/grpc/infer_message.h"

namespace ingot::serve {
namespace {

grpc::StatusCode code_of(Refusal why) {
  switch (why) {
    case Refusal::kInvalid: return grpc::StatusCode::INVALID_ARGUMENT;
    case Refusal::kUnauthorized: return grpc::StatusCode::UNAUTHENTICATED;
    case Refusal::kForbidden: return grpc::StatusCode::PERMISSION_DENIED;
    case Refusal::kNotFound: return grpc::StatusCode::NOT_FOUND;
    case Refusal::kTooLarge: return grpc::StatusCode::OUT_OF_RANGE;
    case Refusal::kBusy: return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case Refusal::kDeadline: return grpc::StatusCode::DEADLINE_EXCEEDED;
    case Refusal::kCancelled: return grpc::StatusCode::CANCELLED;
    case Refusal::kUnavailable: return grpc::StatusCode::UNAVAILABLE;
    case Refusal::kUnsupported: return grpc::StatusCode::UNIMPLEMENTED;
    case Refusal::kInternal: return grpc::StatusCode::INTERNAL;
  }
  return grpc::StatusCode::INTERNAL;
}

template <class Fill>
grpc::Status status_of_call(const Fill& fill) {
  try {
    fill();
    return grpc::Status::OK;
  } catch (const ServeError& refused) {
    return {code_of(refused.why()), refused.text()};
  } catch (const std::bad_alloc&) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "out of memory; try again later"};
  } catch (const std::exception& failure) {
    return {grpc::StatusCode::INTERNAL, failure.what()};
  }
}

/// Nanoseconds until the client gives up; 0: never.
uint64_t time_left(const grpc::CallbackServerContext& context) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return 0;
  const auto left = deadline - std::chrono::system_clock::now();
  const int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
  return ns <= 0 ? 1 : uint64_t(ns);
}

inference::DataType data_type(ingot_dtype dtype) {
  inference::DataType type = inference::TYPE_INVALID;
  inference::DataType_Parse(std::string("TYPE_") + type_name(dtype), &type);
  return type;
}

template <class Tensors>
void add_metadata(const std::vector<ingot_value_type>& types, Tensors* tensors) {
  for (const ingot_value_type& type : types) {
    auto* tensor = tensors->Add();
    tensor->set_name(type.name);
    tensor->set_datatype(type_name(type.dtype));
    for (int32_t d = 0; d < type.rank; d++) tensor->add_shape(type.dims[d]);
  }
}

template <class Tensors>
void add_configured(const std::vector<ingot_value_type>& types, bool has_batch, Tensors* tensors) {
  for (const ingot_value_type& type : types) {
    auto* tensor = tensors->Add();
    tensor->set_name(type.name);
    tensor->set_data_type(data_type(type.dtype));
    for (int32_t d = has_batch; d < type.rank; d++) tensor->add_dims(type.dims[d]);
  }
}

void set_duration(const Duration& from, inference::StatisticDuration* to) {
  to->set_count(from.count);
  to->set_ns(from.ns);
}

void add_statistics(const ServedModel& model, inference::ModelStatisticsResponse* response) {
  const Statistics s = model.statistics();
  auto* to = response->add_model_stats();
  to->set_name(model.name());
  to->set_version(model.version());
  to->set_last_inference(s.last_ms);
  to->set_inference_count(s.inferences);
  to->set_execution_count(s.executions);
  auto* all = to->mutable_inference_stats();
  set_duration(s.success, all->mutable_success());
  set_duration(s.failure, all->mutable_fail());
  set_duration(s.queue, all->mutable_queue());
  set_duration(s.input, all->mutable_compute_input());
  set_duration(s.infer, all->mutable_compute_infer());
  set_duration(s.output, all->mutable_compute_output());
  for (const auto& [rows, batch] : s.batches) {
    auto* one = to->add_batch_stats();
    one->set_batch_size(uint64_t(rows));
    set_duration(batch.input, one->mutable_compute_input());
    set_duration(batch.infer, one->mutable_compute_infer());
    set_duration(batch.output, one->mutable_compute_output());
  }
}

/// An inference between its call and its answer.
struct InferCall {
  Service* service;
  grpc::CallbackServerContext* context;
  const inference::ModelInferRequest* request;
  inference::ModelInferResponse* response;
  grpc::ServerUnaryReactor* reactor;
  std::unique_ptr<Job> job;
  uint64_t began_ns = ingot_clock_ns();

  void log(const grpc::Status& status) const {
    AccessLine line;
    line.client = context->peer();
    line.method = "ModelInfer";
    line.target = request->model_name();
    line.status = int(status.error_code());
    line.request_bytes = request->ByteSizeLong();
    line.answer_bytes = status.ok() ? response->ByteSizeLong() : 0;
    line.duration_ns = ingot_clock_ns() - began_ns;
    service->access_log->write(line);
  }
  void finish(const grpc::Status& status) {
    if (service->access_log) log(status);
    if (job) service->jobs.give_back(std::move(job));
    service->answering--;
    reactor->Finish(status);
    delete this;
  }
  static bool is_gone(void* user) { return static_cast<InferCall*>(user)->context->IsCancelled(); }
  static void on_ended(void* user, Job* job) {
    InferCall* const call = static_cast<InferCall*>(user);
    call->finish(status_of_call([&] {
      if (job->failed) refuse(job->why, job->error);
      write_infer_message(*job, call->response);
    }));
  }
};

}  // namespace

void GrpcService::check_token(Context* context) const {
  if (service_.token.empty()) return;
  const auto found = context->client_metadata().find("authorization");
  const bool has_one = found != context->client_metadata().end();
  service_.check_token(has_one ? std::string_view(found->second.data(), found->second.size()) : "");
}

SharedRegions& GrpcService::regions() const {
  if (!service_.has_shared_memory) refuse_shared_memory();
  return service_.regions;
}

template <class Fill>
GrpcService::Reactor* GrpcService::answer(Context* context, const Fill& fill) {
  Reactor* const reactor = context->DefaultReactor();
  reactor->Finish(status_of_call([&] {
    check_token(context);
    fill();
  }));
  return reactor;
}

template <class Fill>
GrpcService::Reactor* GrpcService::answer_on(boost::asio::thread_pool& pool, Context* context,
                                             Fill fill) {
  Reactor* const reactor = context->DefaultReactor();
  const grpc::Status allowed = status_of_call([&] { check_token(context); });
  if (!allowed.ok())
    reactor->Finish(allowed);
  else
    boost::asio::post(pool, [reactor, fill] { reactor->Finish(status_of_call(fill)); });
  return reactor;
}

#define INGOT_GRPC_CALL(name)                                                     \
  GrpcService::Reactor* GrpcService::name(                                        \
      Context* context, [[maybe_unused]] const inference::name##Request* request, \
      [[maybe_unused]] inference::name##Response* response)

INGOT_GRPC_CALL(ServerLive) {
  response->set_live(true);
  Reactor* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

INGOT_GRPC_CALL(ServerReady) {
  response->set_ready(service_.repository.is_ready());
  Reactor* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

INGOT_GRPC_CALL(ModelReady) {
  return answer(context, [&] {
    try {
      service_.repository.find(request->name(), request->version());
      response->set_ready(true);
    } catch (const ServeError& refused) {
      if (refused.why() != Refusal::kUnavailable) throw;
    }
  });
}

INGOT_GRPC_CALL(ServerMetadata) {
  return answer(context, [&] {
    response->set_name("ingot");
    response->set_version(ingot_version());
    for (const char* extension : service_.extensions()) response->add_extensions(extension);
  });
}

INGOT_GRPC_CALL(ModelMetadata) {
  return answer(context, [&] {
    const auto model = service_.repository.find(request->name(), request->version());
    response->set_name(model->name());
    for (const std::string& version : service_.repository.versions(request->name()))
      response->add_versions(version);
    response->set_platform("ingot");
    add_metadata(model->ports().inputs(), response->mutable_inputs());
    add_metadata(model->ports().outputs(), response->mutable_outputs());
  });
}

INGOT_GRPC_CALL(ModelConfig) {
  return answer(context, [&] {
    const auto model = service_.repository.find(request->name(), request->version());
    auto* config = response->mutable_config();
    config->set_name(model->name());
    config->set_platform("ingot");
    config->set_backend("ingot");
    config->set_max_batch_size(int32_t(model->ports().max_rows()));
    const bool has_batch = model->ports().batch() >= 0;
    add_configured(model->ports().inputs(), has_batch, config->mutable_input());
    add_configured(model->ports().outputs(), has_batch, config->mutable_output());
    if (model->joins()) config->mutable_dynamic_batching();
  });
}

INGOT_GRPC_CALL(ModelStatistics) {
  return answer(context, [&] {
    std::shared_ptr<ServedModel> asked;
    if (!request->name().empty())
      asked = service_.repository.find(request->name(), request->version());
    for (const auto& model : service_.repository.served())
      if (!asked || (request->version().empty() ? model->name() == asked->name() : model == asked))
        add_statistics(*model, response);
  });
}

INGOT_GRPC_CALL(RepositoryIndex) {
  return answer_on(workers_.folder, context, [this, request, response] {
    for (const ModelState& state : service_.repository.index()) {
      if (request->ready() && !state.is_ready) continue;
      auto* model = response->add_models();
      model->set_name(state.name);
      model->set_version(state.version);
      model->set_state(state.is_ready ? "READY" : "UNAVAILABLE");
      model->set_reason(state.reason);
    }
  });
}

INGOT_GRPC_CALL(RepositoryModelLoad) {
  return answer_on(workers_.loads, context, [this, request] {
    if (!request->parameters().empty()) refuse_load_parameters();
    service_.repository.load(request->model_name());
  });
}

INGOT_GRPC_CALL(RepositoryModelUnload) {
  return answer(context, [&] { service_.repository.unload(request->model_name()); });
}

INGOT_GRPC_CALL(SystemSharedMemoryStatus) {
  return answer(context, [&] {
    auto all = regions().all();
    if (!request->name().empty()) all = {regions().find(request->name())};
    for (const auto& region : all) {
      auto& status = (*response->mutable_regions())[region->name()];
      status.set_name(region->name());
      status.set_key(region->key());
      status.set_offset(region->offset());
      status.set_byte_size(region->bytes());
    }
  });
}

INGOT_GRPC_CALL(SystemSharedMemoryRegister) {
  return answer(context, [&] {
    regions().add(request->name(), request->key(), request->offset(), request->byte_size());
  });
}

INGOT_GRPC_CALL(SystemSharedMemoryUnregister) {
  return answer(context, [&] { regions().remove(request->name()); });
}

INGOT_GRPC_CALL(ModelInfer) {
  Reactor* const reactor = context->DefaultReactor();
  service_.answering++;
  InferCall* const call = new InferCall{&service_, context, request, response, reactor, nullptr};
  const grpc::Status status = status_of_call([&] {
    check_token(context);
    const auto model = service_.repository.find(request->model_name(), request->model_version());
    try {
      call->job = service_.jobs.take(0);  // the message has the bytes
      Job* const job = call->job.get();
      read_infer_message(*request, service_.shared(), job);
      const uint64_t left = time_left(*context);
      if (left && (!job->timeout_ns || left < job->timeout_ns)) job->timeout_ns = left;
      job->served = model;
      job->user = call;
      job->ended = InferCall::on_ended;
      job->is_gone = InferCall::is_gone;
      model->submit(job);
    } catch (const ServeError& refused) {
      model->count_refused(refused.why());
      throw;
    }
  });
  if (!status.ok()) call->finish(status);
  return reactor;
}

}  // namespace ingot::serve
