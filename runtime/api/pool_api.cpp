// SPDX-License-Identifier: Apache-2.0
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

namespace {

constexpr uint32_t kKnownPoolFlags =
    INGOT_POOL_SPIN | INGOT_POOL_NICENESS | INGOT_POOL_FAST | INGOT_POOL_PROCESSORS;

Status refuse_range(ErrorDetail* detail, const char* field, int64_t limit, int64_t found) {
  return fail(detail, Code::kInvalidArgument, field, uint64_t(limit), uint64_t(found));
}

Status read_processors(const ingot_pool_options& from, PoolOptions* to, ErrorDetail* detail) {
  if (!from.processors || from.processor_count == 0)
    return fail(detail, Code::kInvalidArgument, "options.processors: none is named");
  for (size_t i = 0; i < from.processor_count; i++) {
    const int32_t processor = from.processors[i];
    if (processor < 0 || processor >= os::ProcessorSet::kMax)
      return refuse_range(detail, "options.processors[]: below", os::ProcessorSet::kMax, processor);
    to->place.processors.add(processor);
  }
  return {};
}

/// Which threads there are and where, from what the caller says.
Status translate(const ingot_pool_options& from, PoolOptions* to, ErrorDetail* detail) {
  if (from.flags & ~kKnownPoolFlags)
    return refuse_range(detail, "options.flags: known", kKnownPoolFlags, from.flags);
  if (from.threads < 0) return refuse_range(detail, "threads: at least", 0, from.threads);
  if (from.threads > kMaxTeam)
    return refuse_range(detail, "threads: at most", kMaxTeam, from.threads);
  const bool on_named = from.flags & INGOT_POOL_PROCESSORS;
  if (on_named && (from.flags & INGOT_POOL_FAST))
    return fail(detail, Code::kInvalidArgument, "options.flags: fast processors, or named ones");
  to->limits_spins = from.flags & INGOT_POOL_SPIN;
  to->spin_us = from.spin_us;
  to->place.has_niceness = from.flags & INGOT_POOL_NICENESS;
  to->place.niceness = from.niceness;
  if (to->place.has_niceness && (from.niceness < -20 || from.niceness > 19))
    return refuse_range(detail, "options.niceness: -20 to", 19, from.niceness);
  if (on_named) INGOT_TRY(read_processors(from, to, detail));
  int processors = os::processor_count();
  if (!on_named && (from.threads == 0 || (from.flags & INGOT_POOL_FAST))) {
    const os::ProcessorSet usable = os::usable_processors(), fast = os::choose_fast(usable);
    if (fast.count() > 0 && fast.count() < usable.count()) to->place.processors = fast;
  }
  if (const int placed = to->place.processors.count()) processors = placed;
  to->threads = from.threads ? from.threads : os::kHasThreads ? processors : 1;
  if (to->threads > kMaxTeam) to->threads = kMaxTeam;
  return {};
}

}  // namespace

extern "C" {

ingot_code ingot_pool_create(int32_t threads, ingot_pool** out_pool, ingot_error* error) {
  ingot_pool_options options = INGOT_INIT(ingot_pool_options);
  options.threads = threads;
  return ingot_pool_create_with(&options, out_pool, error);
}

ingot_code ingot_pool_create_with(const ingot_pool_options* options, ingot_pool** out_pool,
                                  ingot_error* error) {
  if (!out_pool) return refuse_argument("out_pool is null", error);
  *out_pool = nullptr;
  ingot_pool_options given;
  if (!options || !read_sized(options, &given))
    return refuse_argument("options: size, or fields that this version does not know", error);
  ErrorDetail detail;
  PoolOptions translated;
  Status status = translate(given, &translated, &detail);
  if (!status.ok()) return report(status, detail, error);
  uint8_t* at;
  const Allocator heap = heap_allocator();
  status = allocate(heap, sizeof(ingot_pool), alignof(ingot_pool), "pool", &at, &detail);
  if (!status.ok()) return report(status, detail, error);
  ingot_pool* pool = new (at) ingot_pool;
  status = pool->threads.start(translated, &detail);
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
