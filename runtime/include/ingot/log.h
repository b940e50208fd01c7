/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - lines about what the library chose by itself and what it gave up. Part of ingot.h, which
 * includes it. Errors are no part of it: they are returned. */
#ifndef INGOT_LOG_H_
#define INGOT_LOG_H_

#include "ingot.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t ingot_log_level;
enum {
  INGOT_LOG_INFO = 1,   /* what was chosen: the device and why, its driver, kernels, threads */
  INGOT_LOG_WARNING = 2 /* what was asked for, or possible, and is not so: a GPU that failed where
                           the CPU took over, instructions left to the CPU, records of `ingot tune`
                           that cannot be used, a driver restricted by the environment */
};

/** write: one line without its end, on the thread that creates a session or pipeline, before that
    returns; never from run(). `text` may be read during the call only. Several threads that create
    at once call it at once. It must not use the model. The wording may change, levels do not. */
typedef struct ingot_log {
  void* user;
  void (*write)(void* user, ingot_log_level level, const char* text);
} ingot_log;
/** For the sessions and pipelines of this model that are made from now on; `log` is copied, null
    ends it. A fresh model has none. @pre nobody uses the model meanwhile. Hosts only. */
INGOT_API ingot_code ingot_model_set_log(ingot_model* model, const ingot_log* log);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INGOT_LOG_H_ */
