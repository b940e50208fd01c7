// runtime/api/pool_api.cpp - threads for several sessions.
#include <new>

#include "runtime/api/translate.h"

using namespace ingot;
using namespace ingot::api;

static_assert(INGOT_MAX_THREADS == kMaxTeam || !os::kHasThreads,
              "ingot.h says how many a team may have");

struct ingot_pool {
  ThreadPool threads;
};

extern "C" {

ingot_code ingot_pool_create(int32_t threads, ingot_pool** out_pool, ingot_error* error) {
  if (!out_pool) return refuse_argument("out_pool is null", error);
  *out_pool = nullptr;
  ErrorDetail detail;
  if (threads < 0)
    return report(fail(&detail, Code::kInvalidArgument, "threads: at least", 0, uint64_t(threads)),
                  detail, error);
  if (threads > kMaxTeam)
    return report(
        fail(&detail, Code::kInvalidArgument, "threads: at most", kMaxTeam, uint64_t(threads)),
        detail, error);
  if (threads == 0) threads = os::kHasThreads ? os::processor_count() : 1;
  if (threads > kMaxTeam) threads = kMaxTeam;
  uint8_t* at;
  const Allocator heap = heap_allocator();
  Status status = allocate(heap, sizeof(ingot_pool), alignof(ingot_pool), "pool", &at, &detail);
  if (!status.ok()) return report(status, detail, error);
  ingot_pool* pool = new (at) ingot_pool;
  status = pool->threads.start(threads, &detail);
  if (status.ok())
    *out_pool = pool;
  else
    heap.release(heap.user, pool, sizeof *pool);
  return report(status, detail, error);
}

void ingot_pool_destroy(ingot_pool* pool) {
  if (!pool) return;
  pool->threads.stop();
  const Allocator heap = heap_allocator();
  heap.release(heap.user, pool, sizeof *pool);
}

int32_t ingot_pool_threads(const ingot_pool* pool) { return pool ? pool->threads.threads() : 0; }

}  // extern "C"
