// tests/cuda/fake_driver/streams.cpp - entry points: streams and events.
#include "tests/cuda/fake_driver/world.h"

extern "C" {

Result cuStreamCreate(Stream* stream, unsigned) {
  ENTER_WITH_CONTEXT(cuStreamCreate);
  *stream = create<StreamT>(world().streams, &world().control.streams);
  (*stream)->context = current.back();
  return kOk;
}
Result cuStreamDestroy_v2(Stream stream) {
  ENTER_TO_RELEASE(cuStreamDestroy_v2);
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
  ENTER(cuStreamSynchronize);
  if (!world().streams.count(stream)) return misuse("a stream that is not alive");
  world().control.waits++;
  drain(stream);
  return kOk;
}
Result cuStreamQuery(Stream stream) {
  ENTER(cuStreamQuery);
  if (!world().streams.count(stream)) return misuse("a stream that is not alive");
  if (stream->work.empty()) return kOk;
  if (!is_blocked(*stream)) do_first(stream);  // time passes
  return kNotReady;
}
Result cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  ENTER(cuStreamWaitEvent);
  if (!world().streams.count(stream) || !world().events.count(event))
    return misuse("a stream or event that is not alive");
  if (is_dropped("cuStreamWaitEvent") || event->reached == event->recorded) return kOk;
  stream->work.push_back({event, event->recorded, nullptr});
  world().control.queued++;
  return kOk;
}
Result cuEventCreate(Event* event, unsigned flags) {
  ENTER_WITH_CONTEXT(cuEventCreate);
  *event = create<EventT>(world().events, &world().control.events);
  (*event)->is_timed = !(flags & kEventDisableTiming);
  return kOk;
}
Result cuEventRecord(Event event, Stream stream) {
  ENTER(cuEventRecord);
  if (!world().streams.count(stream) || !world().events.count(event))
    return misuse("a stream or event that is not alive");
  event->stream = stream;
  const uint64_t turn = ++event->recorded;
  queue(stream, [event, turn] { event->reached = turn, event->time = world().now; });
  return kOk;
}
Result cuEventSynchronize(Event event) {
  ENTER(cuEventSynchronize);
  if (!world().events.count(event)) return misuse("an event that is not alive");
  world().control.waits++;
  if (event->stream && !is_dropped("cuEventSynchronize")) drain(event->stream, event, event->recorded);
  return kOk;
}
Result cuEventQuery(Event event) {
  ENTER(cuEventQuery);
  if (!world().events.count(event)) return misuse("an event that is not alive");
  if (event->reached == event->recorded) return kOk;
  // Time passes: one piece of work of the stream, or of the one that it waits for.
  StreamT* stream = event->stream;
  while (is_blocked(*stream)) stream = stream->work.front().event->stream;
  do_first(stream);
  return kNotReady;
}
Result cuEventElapsedTime(float* milliseconds, Event begin, Event end) {
  ENTER(cuEventElapsedTime);
  if (!world().events.count(begin) || !world().events.count(end)) return misuse("an event that is not alive");
  if (!begin->is_timed || !end->is_timed) return misuse("an event without a time");
  if (begin->reached != begin->recorded || end->reached != end->recorded) return kNotReady;
  *milliseconds = float(double(end->time - begin->time) * 1e-6);
  return kOk;
}
Result cuEventDestroy_v2(Event event) {
  ENTER_TO_RELEASE(cuEventDestroy_v2);
  if (world().events.count(event) && event->stream && event->reached < event->recorded) drain(event->stream);
  const Result result = destroy(world().events, event, &world().control.events);
  return result ? result : injected;
}
Result cuLaunchHostFunc(Stream stream, void (*function)(void*), void* user) {
  ENTER(cuLaunchHostFunc);
  if (!world().streams.count(stream)) return misuse("a stream that is not alive");
  queue(stream, [=] { function(user); });
  return kOk;
}

}  // extern "C"
