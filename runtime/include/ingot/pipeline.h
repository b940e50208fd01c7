/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.h - items that flow through a session: the next is filled and the last one read while
 * one is computed. The rules at the top of ingot.h hold. */
#ifndef INGOT_PIPELINE_H_
#define INGOT_PIPELINE_H_

#include "ingot.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Items that flow through a session of their own: while one is computed, the next is filled and
    the one before is read. Each of `depth` slots has memory for every input and output, which is
    filled and read where it lies; on a GPU it is pinned, and copied to and from the GPU beside the
    runs of other items. Items keep their order, and state goes from one to the next as from run to
    run. See docs/pipeline.md.
      producer   acquire, write ingot_pipeline_input(), push; or a loader on a thread of the
                 pipeline's
      consumer   pop, read ingot_pipeline_output(), release
    Producer and consumer are one thread, or two with INGOT_PIPELINE_TWO_THREADS or a loader.
    cancel: any thread. Only create allocates. Hosts only. */
typedef struct ingot_pipeline ingot_pipeline;
/** Writes the inputs of item 0, 1, 2, ... through ingot_pipeline_input(). 0: written; 1: there is
    no such item, the end; anything else: it failed, which pop tells behind the last item
    (INGOT_FILE_READ, the answer in error.have). */
typedef int32_t (*ingot_pipeline_loader)(void* user, ingot_pipeline* pipeline, uint64_t item);
enum {
  /* acquire waits for a slot that another thread releases, pop for one that another thread pushes;
     without, that is INGOT_WRONG_STATE, since it would never end */
  INGOT_PIPELINE_TWO_THREADS = 1
};
typedef struct ingot_pipeline_options {
  size_t size;
  /* null: all defaults. INGOT_REBINDABLE is refused, INGOT_CALLER_BINDS_PORTS and INGOT_ASYNC are
     implied */
  const ingot_session_options* session;
  /* slots, at most 16; 0: 2. One being filled, one computed; 3 also one being read */
  uint32_t depth;
  uint32_t flags;
  ingot_pipeline_loader loader; /* may be null */
  void* user;                   /* the loader's */
} ingot_pipeline_options;
/** Bytes, exact. */
typedef struct ingot_pipeline_requirements {
  size_t size;
  /* the session's, see ingot_requirements */
  uint64_t arena_bytes, weights_shared, session_outside_bytes;
  /* one block of the allocator: the pipeline, and the slots' ports unless they are pinned */
  uint64_t slots_host;
  uint64_t slots_pinned;  /* memory of the host that the GPU's driver gives */
  uint64_t slots_device;  /* memory of the GPU; 0 where it shares the CPU's */
  uint64_t outside_bytes; /* threads' stacks, what the queue on a GPU takes */
} ingot_pipeline_requirements;
INGOT_API ingot_code ingot_pipeline_requirements_of(const ingot_model* model,
                                                    const ingot_pipeline_options* options,
                                                    ingot_pipeline_requirements* out_requirements,
                                                    ingot_error* error);
/** `options` may be null. A loader begins at once. Errors are those of ingot_session_create() and
    of starting threads. */
INGOT_API ingot_code ingot_pipeline_create(const ingot_model* model,
                                           const ingot_pipeline_options* options,
                                           ingot_pipeline** out_pipeline, ingot_error* error);
/** At any time: the item that is computed ends or is cancelled, the others are dropped; waits for a
    loader to return. @pre no other thread is inside a call */
INGOT_API void ingot_pipeline_destroy(ingot_pipeline* pipeline);
/** For questions: memory, placement, counters. It belongs to the pipeline. */
INGOT_API const ingot_session* ingot_pipeline_session(const ingot_pipeline* pipeline);
/** Slots that acquire gives without waiting; the one that is acquired counts until it is pushed. */
INGOT_API uint32_t ingot_pipeline_free(const ingot_pipeline* pipeline);

/** A slot for the producer; again the same one until it is pushed. INGOT_WRONG_STATE: none is free,
    or a loader is the producer. INGOT_CANCELLED. */
INGOT_API ingot_code ingot_pipeline_acquire(ingot_pipeline* pipeline, ingot_error* error);
/** INGOT_WRONG_STATE: no slot is acquired. What an input holds before it is written is
    unspecified. */
INGOT_API ingot_code ingot_pipeline_input(ingot_pipeline* pipeline, uint32_t index,
                                          ingot_tensor* out_tensor);
/** The slot's inputs are complete: its run is queued. Errors of the run are told by pop. */
INGOT_API ingot_code ingot_pipeline_push(ingot_pipeline* pipeline, ingot_error* error);
/** Nothing more will be pushed: behind the last item pop says INGOT_NOT_FOUND. */
INGOT_API ingot_code ingot_pipeline_finish(ingot_pipeline* pipeline);

/** Sleeps until the oldest item is computed; its number, from 0, into *out_item (may be null). An
    error of its run comes with its number, and the slot is then released already; without a number
    (UINT64_MAX) it is the pipeline's: INGOT_NOT_FOUND the end, INGOT_CANCELLED, INGOT_WRONG_STATE
    nothing is pushed or the last slot is not released. After INGOT_DEVICE_LOST every item fails. */
INGOT_API ingot_code ingot_pipeline_pop(ingot_pipeline* pipeline, uint64_t* out_item,
                                        ingot_error* error);
/** The same, but sleeps no longer than until `deadline_ns` of ingot_clock_ns(): then
    INGOT_DEADLINE_EXCEEDED, without a number. The item is not lost and goes on; a later pop gives
    it. A deadline that has passed (0) asks without sleeping. With two threads also where nothing
    was pushed by then. */
INGOT_API ingot_code ingot_pipeline_pop_until(ingot_pipeline* pipeline, uint64_t deadline_ns,
                                              uint64_t* out_item, ingot_error* error);
/** Of the popped slot, until it is released. */
INGOT_API ingot_code ingot_pipeline_output(ingot_pipeline* pipeline, uint32_t index,
                                           ingot_tensor* out_tensor);
INGOT_API ingot_code ingot_pipeline_release(ingot_pipeline* pipeline, ingot_error* error);
/** Any thread: ends it. Calls that sleep, and all later ones, give INGOT_CANCELLED. */
INGOT_API void ingot_pipeline_cancel(ingot_pipeline* pipeline);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INGOT_PIPELINE_H_ */
