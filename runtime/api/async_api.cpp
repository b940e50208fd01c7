// SPDX-License-Identifier: Apache-2.0
// runtime/api/async_api.cpp - runs that are started and waited for.
#include "runtime/api/translate.h"

using namespace ingot;
using namespace ingot::api;

extern "C" {

ingot_code ingot_session_start_with(ingot_session* session, uint64_t deadline_ns,
                                    ingot_ended_function ended, void* user, ingot_error* error) {
  if (!session) return refuse_argument("session is null", error);
  if (!os::kHasThreads)
    return refuse_argument("start: this system has no threads; use run", error,
                           INGOT_THREAD_FAILED);
  ErrorDetail detail;
  return report(start_session(unwrap(session), deadline_ns, ended, user, &detail), detail, error);
}
ingot_code ingot_session_start(ingot_session* session, ingot_error* error) {
  return ingot_session_start_with(session, 0, nullptr, nullptr, error);
}
ingot_code ingot_session_wait(ingot_session* session, ingot_error* error) {
  if (!session) return refuse_argument("session is null", error);
  if (!os::kHasThreads)
    return refuse_argument("wait: this system has no threads; use run", error, INGOT_THREAD_FAILED);
  ErrorDetail detail;
  return report(wait_session(unwrap(session), &detail), detail, error);
}
ingot_code ingot_session_poll(ingot_session* session, int32_t* out_ended, ingot_error* error) {
  if (!session || !out_ended) return refuse_argument("session or out_ended is null", error);
  if (!os::kHasThreads)
    return refuse_argument("poll: this system has no threads; use run", error, INGOT_THREAD_FAILED);
  ErrorDetail detail;
  bool is_ended = false;
  const Status status = poll_session(unwrap(session), &is_ended, &detail);
  *out_ended = is_ended ? 1 : 0;
  return report(status, detail, error);
}

}  // extern "C"
