// SPDX-License-Identifier: Apache-2.0
// tests/cuda/fake_driver/streams.cpp - entry points: streams and events.
#include "tests/cuda/fake_driver/world.h"

extern "C" {

Result cuStreamCreate(Stream* stream, unsigned flags) {
  ENTER_WITH_CONTEXT(cuStreamCreate);
  if (flags & ~kStreamNonBlocking) return kInvalidValue;
  *stream = create<StreamT>(world().streams, &world().control.streams);
  (*stream)->context = current.back();
  return kOk;
}
Result cuStreamDestroy_v2(Stream stream) {
  ENTER_TO_RELEASE_WITH_CONTEXT(cuStreamDestroy_v2);
  if (world().streams.count(stream)) drain(stream);  // it goes when its work is done
  const Result result = destroy(world().streams, stream, &world().control.streams);
  return result ? result : injected;
}
Result cuStreamGetCtx(Stream stream, Context* context) {
  ENTER(cuStreamGetCtx);
  if (!world().streams.count(stream)) return kInvalidHandle;
  *context = stream->context;
  return kOk;
}
Result cuStreamSynchronize(Stream stream) {
  ENTER_WITH_CONTEXT(cuStreamSynchronize);
  CHECK_STREAM(stream);
  world().control.waits++;
  drain(stream);
  return kOk;
}
Result cuStreamQuery(Stream stream) {
  ENTER_WITH_CONTEXT(cuStreamQuery);
  CHECK_STREAM(stream);
  if (stream->work.empty()) return kOk;
  if (!is_blocked(*stream)) do_first(stream);  // time passes
  return kNotReady;
}
Result cuStreamWaitEvent(Stream stream, Event event, unsigned flags) {
  ENTER_WITH_CONTEXT(cuStreamWaitEvent);
  if (flags) return kInvalidValue;
  CHECK_STREAM(stream);
  if (!world().events.count(event)) return misuse("an event that is not alive");
  if (is_dropped("cuStreamWaitEvent") || event->reached == event->recorded) return kOk;
  stream->work.push_back({event, event->recorded, nullptr});
  world().control.queued++;
  return kOk;
}
Result cuEventCreate(Event* event, unsigned flags) {
  ENTER_WITH_CONTEXT(cuEventCreate);
  *event = create<EventT>(world().events, &world().control.events);
  (*event)->context = current.back();
  (*event)->is_timed = !(flags & kEventDisableTiming);
  (*event)->sleeps = flags & kEventBlockingSync;
  return kOk;
}
Result cuEventRecord(Event event, Stream stream) {
  ENTER_WITH_CONTEXT(cuEventRecord);
  CHECK_STREAM(stream);
  if (!world().events.count(event)) return misuse("an event that is not alive");
  if (event->context != stream->context)
    return misuse("an event of another context than the stream's");
  event->stream = stream;
  const uint64_t turn = ++event->recorded;
  queue(stream, [event, turn] { event->reached = turn, event->time = world().now; });
  return kOk;
}
Result cuEventSynchronize(Event event) {
  ENTER_WITH_CONTEXT(cuEventSynchronize);
  if (!world().events.count(event)) return misuse("an event that is not alive");
  world().control.waits++;
  world().control.sleeps += event->sleeps;
  if (event->stream && !is_dropped("cuEventSynchronize"))
    drain(event->stream, event, event->recorded);
  return kOk;
}
Result cuEventQuery(Event event) {
  ENTER_WITH_CONTEXT(cuEventQuery);
  if (!world().events.count(event)) return misuse("an event that is not alive");
  if (event->reached == event->recorded) return kOk;
  // Time passes: one piece of work of the stream, or of the one that it waits for.
  StreamT* stream = event->stream;
  while (is_blocked(*stream)) stream = stream->work.front().event->stream;
  do_first(stream);
  return kNotReady;
}
Result cuEventElapsedTime(float* milliseconds, Event begin, Event end) {
  ENTER_WITH_CONTEXT(cuEventElapsedTime);
  if (!world().events.count(begin) || !world().events.count(end))
    return misuse("an event that is not alive");
  if (!begin->is_timed || !end->is_timed) return misuse("an event without a time");
  if (!begin->recorded || !end->recorded) return misuse("an event that was never recorded");
  if (begin->reached != begin->recorded || end->reached != end->recorded) return kNotReady;
  *milliseconds = float(double(end->time - begin->time) * 1e-6);
  return kOk;
}
Result cuEventDestroy_v2(Event event) {
  ENTER_TO_RELEASE_WITH_CONTEXT(cuEventDestroy_v2);
  if (world().events.count(event) && event->stream && event->reached < event->recorded)
    drain(event->stream);
  const Result result = destroy(world().events, event, &world().control.events);
  return result ? result : injected;
}
Result cuLaunchHostFunc(Stream stream, void (*function)(void*), void* user) {
  ENTER_WITH_CONTEXT(cuLaunchHostFunc);
  CHECK_STREAM(stream);
  queue(stream, [=] {
    in_host_function = true;
    function(user);
    in_host_function = false;
  });
  return kOk;
}

}  // extern "C"
