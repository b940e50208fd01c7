/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - threads that several sessions share: how many, where they run, how long they spin. Part
 * of ingot.h, which includes it. */
#ifndef INGOT_POOL_H_
#define INGOT_POOL_H_

#include "ingot.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A team of `threads` (the calling thread counts as one; 0: one for each processor the process may
    use, where some are slower than others one for each fast one, and the team's own threads stay on
    these). Allocates. */
INGOT_API ingot_code ingot_pool_create(int32_t threads, ingot_pool** out_pool, ingot_error* error);

/** Which fields of ingot_pool_options count. */
enum {
  INGOT_POOL_SPIN = 1,        /* spin_us */
  INGOT_POOL_NICENESS = 2,    /* niceness */
  INGOT_POOL_FAST = 4,        /* own threads stay on the fast processors, whatever `threads` is */
  INGOT_POOL_PROCESSORS = 8   /* own threads stay on those of `processors` */
};
/** How a team shares a device with other programs. The thread that calls run() keeps its place. */
typedef struct ingot_pool_options {
  size_t size;
  int32_t threads;            /* as in ingot_pool_create() */
  uint32_t flags;
  /* the most microseconds for which a member spins at a time, 0 too; then it sleeps until it is
     woken. A run makes at most one wake and one wait for each instruction then. Else members spin
     for some milliseconds within a run. Between runs nobody spins, with or without */
  uint32_t spin_us;
  int32_t niceness;           /* of own threads, -20 (first) to 19; below 0 needs a right */
  const int32_t* processors;  /* as the system numbers them */
  size_t processor_count;
} ingot_pool_options;
/** INGOT_THREAD_FAILED where the system refuses processors or niceness. Allocates. */
INGOT_API ingot_code ingot_pool_create_with(const ingot_pool_options* options,
                                            ingot_pool** out_pool, ingot_error* error);
/** @pre no session uses it. */
INGOT_API void ingot_pool_destroy(ingot_pool* pool);
INGOT_API int32_t ingot_pool_threads(const ingot_pool* pool);

#ifdef __cplusplus
}
#endif

#endif /* INGOT_POOL_H_ */
