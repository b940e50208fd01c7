// SPDX-License-Identifier: Apache-2.0
// runtime/api/pipeline_api.cpp - pipelines: requirements, creation, the producer's side, the
// consumer's.
#include "ingot/pipeline.h"
#include "runtime/api/translate.h"
#include "runtime/session/pipeline.h"

using namespace ingot;
using namespace ingot::api;

namespace {

RunPipeline* unwrap_pipeline(ingot_pipeline* pipeline) {
  return reinterpret_cast<RunPipeline*>(pipeline);
}
const RunPipeline* unwrap_pipeline(const ingot_pipeline* pipeline) {
  return reinterpret_cast<const RunPipeline*>(pipeline);
}

ingot_code read_options(const ingot_pipeline_options* given, PipelineRequest* out,
                        ingot_error* error) {
  ingot_pipeline_options o = {};
  if (given && !read_sized(given, &o))
    return refuse_argument(
        "options.size: not set, or a field that this library does not know is not 0", error);
  if (const ingot_code code = translate(o.session, &out->session, error)) return code;
  if (o.flags & ~uint32_t{INGOT_PIPELINE_TWO_THREADS})
    return refuse_number("options.flags: unknown bits", 0,
                         o.flags & ~uint32_t{INGOT_PIPELINE_TWO_THREADS}, error);
  out->depth = o.depth ? o.depth : 2;
  out->two_threads = (o.flags & INGOT_PIPELINE_TWO_THREADS) != 0;
  out->loader = o.loader;
  out->loader_user = o.user;
  return INGOT_OK;
}

ingot_code view(const TensorView* port, uint32_t index, size_t ports, ingot_tensor* out_tensor) {
  if (index >= ports) return INGOT_NOT_FOUND;
  if (!port) return INGOT_WRONG_STATE;
  *out_tensor = tensor_of(*port);
  return INGOT_OK;
}

ingot_code pop(ingot_pipeline* pipeline, uint64_t deadline_ns, uint64_t* out_item,
               ingot_error* error) {
  if (!pipeline) return refuse_argument("pipeline is null", error);
  ErrorDetail detail;
  uint64_t item = kNoItem;
  const Status status = pop_slot(unwrap_pipeline(pipeline), deadline_ns, &item, &detail);
  if (out_item) *out_item = item;
  return report(status, detail, error);
}

}  // namespace

extern "C" {

ingot_code ingot_pipeline_requirements_of(const ingot_model* model,
                                          const ingot_pipeline_options* options,
                                          ingot_pipeline_requirements* out_requirements,
                                          ingot_error* error) {
  if (!model || !out_requirements)
    return refuse_argument("model or out_requirements is null", error);
  PipelineRequest request;
  if (const ingot_code code = read_options(options, &request, error)) return code;
  ErrorDetail detail;
  PipelineNeeds needs;
  const Status status = pipeline_requirements(*unwrap(model), request, &needs, &detail);
  if (!status.ok()) return report(status, detail, error);
  ingot_pipeline_requirements to = {};
  to.arena_bytes = needs.session.arena_bytes;
  to.weights_shared = needs.session.weights_shared;
  to.session_outside_bytes = needs.session.outside_bytes;
  to.slots_host = needs.block;
  to.slots_pinned = needs.pinned;
  to.slots_device = needs.device;
  to.outside_bytes = needs.queue + needs.stacks;
  return write_sized(to, out_requirements) ? ingot_code{INGOT_OK}
                                           : refuse_argument(
                                                 "requirements.size: not set, or a field that this "
                                                 "library does not know is not 0",
                                                 error);
}

ingot_code ingot_pipeline_create(const ingot_model* model, const ingot_pipeline_options* options,
                                 ingot_pipeline** out_pipeline, ingot_error* error) {
  if (!out_pipeline) return refuse_argument("out_pipeline is null", error);
  *out_pipeline = nullptr;
  if (!model) return refuse_argument("model is null", error);
  PipelineRequest request;
  if (const ingot_code code = read_options(options, &request, error)) return code;
  ErrorDetail detail;
  RunPipeline* pipeline = nullptr;
  const Status status = create_pipeline(*unwrap(model), request, &pipeline, &detail);
  if (status.ok()) {
    const RunSession& session = session_of(*pipeline);
    if (session.model->log.session) session.model->log.session(session, detail);
    *out_pipeline = reinterpret_cast<ingot_pipeline*>(pipeline);
  }
  return report(status, detail, error);
}

void ingot_pipeline_destroy(ingot_pipeline* pipeline) {
  if (pipeline) destroy_pipeline(unwrap_pipeline(pipeline));
}

const ingot_session* ingot_pipeline_session(const ingot_pipeline* pipeline) {
  return pipeline ? reinterpret_cast<const ingot_session*>(&session_of(*unwrap_pipeline(pipeline)))
                  : nullptr;
}

uint32_t ingot_pipeline_free(const ingot_pipeline* pipeline) {
  return pipeline ? free_slots(*unwrap_pipeline(pipeline)) : 0;
}

ingot_code ingot_pipeline_acquire(ingot_pipeline* pipeline, ingot_error* error) {
  if (!pipeline) return refuse_argument("pipeline is null", error);
  ErrorDetail detail;
  if (has_loader(*unwrap_pipeline(pipeline)))
    return report(fail(&detail, Code::kWrongState, "acquire: the loader is the producer"), detail,
                  error);
  return report(acquire_slot(unwrap_pipeline(pipeline), &detail), detail, error);
}
ingot_code ingot_pipeline_input(ingot_pipeline* pipeline, uint32_t index,
                                ingot_tensor* out_tensor) {
  if (!pipeline || !out_tensor) return INGOT_INVALID_ARGUMENT;
  const RunPipeline& p = *unwrap_pipeline(pipeline);
  return view(pipeline_input(p, index), index, model_of(p).program.inputs.size, out_tensor);
}
ingot_code ingot_pipeline_push(ingot_pipeline* pipeline, ingot_error* error) {
  if (!pipeline) return refuse_argument("pipeline is null", error);
  ErrorDetail detail;
  if (has_loader(*unwrap_pipeline(pipeline)))
    return report(fail(&detail, Code::kWrongState, "push: the loader is the producer"), detail,
                  error);
  return report(push_slot(unwrap_pipeline(pipeline), &detail), detail, error);
}
ingot_code ingot_pipeline_finish(ingot_pipeline* pipeline) {
  if (!pipeline) return INGOT_INVALID_ARGUMENT;
  if (has_loader(*unwrap_pipeline(pipeline))) return INGOT_WRONG_STATE;
  finish_pipeline(unwrap_pipeline(pipeline));
  return INGOT_OK;
}

ingot_code ingot_pipeline_pop(ingot_pipeline* pipeline, uint64_t* out_item, ingot_error* error) {
  return pop(pipeline, 0, out_item, error);
}
ingot_code ingot_pipeline_pop_until(ingot_pipeline* pipeline, uint64_t deadline_ns,
                                    uint64_t* out_item, ingot_error* error) {
  return pop(pipeline, deadline_ns ? deadline_ns : 1, out_item, error);
}
ingot_code ingot_pipeline_output(ingot_pipeline* pipeline, uint32_t index,
                                 ingot_tensor* out_tensor) {
  if (!pipeline || !out_tensor) return INGOT_INVALID_ARGUMENT;
  const RunPipeline& p = *unwrap_pipeline(pipeline);
  return view(pipeline_output(p, index), index, model_of(p).program.outputs.size, out_tensor);
}
ingot_code ingot_pipeline_release(ingot_pipeline* pipeline, ingot_error* error) {
  if (!pipeline) return refuse_argument("pipeline is null", error);
  ErrorDetail detail;
  return report(release_slot(unwrap_pipeline(pipeline), &detail), detail, error);
}
void ingot_pipeline_cancel(ingot_pipeline* pipeline) {
  if (pipeline) cancel_pipeline(unwrap_pipeline(pipeline));
}

}  // extern "C"
