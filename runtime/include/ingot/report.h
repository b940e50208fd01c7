/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - who holds what memory, which device and kernel ran what, counters. Part of ingot.h,
 * which includes it. */
#ifndef INGOT_REPORT_H_
#define INGOT_REPORT_H_

#include "ingot.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Who holds what. */
typedef struct ingot_memory_row {
  const char* owner; /* "weights (mapped)", "activations", "thread stacks", ...; static */
  uint64_t bytes;
  int32_t in_arena;
} ingot_memory_row;
typedef struct ingot_memory_report {
  size_t size;
  /* by the session now, arena and outside; less what ingot_session_park() gave back */
  uint64_t held;
  uint64_t peak; /* largest held since its creation began */
  uint32_t row_count;
  ingot_memory_row rows[16]; /* add up to held */
} ingot_memory_report;
INGOT_API ingot_code ingot_session_memory(const ingot_session* session,
                                          ingot_memory_report* out_report);

/** What runs where, and why. Which kernel runs an instruction: ingot_session_instruction(). */
typedef struct ingot_placement {
  size_t size;
  const char* device;         /* "cpu", "fake:0" */
  const char* reason;         /* static: "asked for", "auto: no GPU was found by this library" */
  const char* isa;            /* "avx512"; "" for a device that runs no CPU kernels */
  const char* threads_reason; /* static: "asked for", "one for each processor", "forked: ..." */
  int32_t threads;
  /* on that device; ingot_session_share() tells those of several ("cpu, fake:0") apart */
  uint32_t instructions;
} ingot_placement;
INGOT_API ingot_code ingot_session_placement(const ingot_session* session,
                                             ingot_placement* out_placement);
/** A device's share of a session, before or after it is made, by the assignment's index; a session
    that uses one device has index 0 alone. What a run does is exact: so many launches and transfers
    in every run that ends well, and what ingot_session_branch() adds where the program has an If or
    a Loop there. */
typedef struct ingot_share {
  size_t size;
  const char* device;
  const char* reason; /* static */
  /* one byte less is refused; of a device that is not the CPU [weights][scratch][activations] */
  uint64_t arena_bytes;
  uint64_t weights_bytes; /* that instructions read there, as the device holds them */
  uint32_t instructions;
  uint32_t launches; /* segments of the program in a run, each one launch */
  /* transfers from and to the CPU in a run; ports of a session on one device included */
  uint32_t uploads, downloads;
  uint64_t upload_bytes, download_bytes;
  uint32_t waits; /* of the CPU for this device, in a run */
} ingot_share;
/** INGOT_NOT_FOUND beyond the last device; one that takes no part has zeros. The model's is what
    the session's will say, to the byte; it allocates nothing. */
INGOT_API ingot_code ingot_session_share(const ingot_session* session, uint32_t index,
                                         ingot_share* out_share);
INGOT_API ingot_code ingot_model_share(const ingot_model* model,
                                       const ingot_session_options* options, uint32_t index,
                                       ingot_share* out_share, ingot_error* error);

/** A branch of an If or the body of a Loop on a device with launches: so many more of a run each
    time that it is taken, without those of the branches in it; none where the device decides,
    inside one launch. Launches of a run: those of the share, and of every branch on that device
    launches * taken. The same for waits. */
typedef struct ingot_branch {
  size_t size;
  const char* device;
  const char* name;     /* of the file's subprogram */
  uint32_t instruction; /* the If or the Loop */
  /* 0: where the If's condition is true; 1: where it is false; 2: the body of the Loop */
  int32_t kind;
  int32_t parent; /* index of the branch that it lies in; -1: none */
  uint32_t launches, waits;
  int64_t most;       /* times that it is taken at most, each time that its parent is */
  uint64_t taken;     /* times in the last run; of a model 0 */
  uint32_t on_device; /* 1: the device decides; 0: the CPU between launches */
  const char* why;    /* static: why the CPU decides; "" where the device does */
} ingot_branch;
/** INGOT_NOT_FOUND beyond the last; there is none on a device that goes through control flow by
    itself, as the CPU does. */
INGOT_API ingot_code ingot_session_branch(const ingot_session* session, uint32_t index,
                                          ingot_branch* out_branch);
/** What ingot_session_branch() will say. Allocates nothing. */
INGOT_API ingot_code ingot_model_branch(const ingot_model* model,
                                        const ingot_session_options* options, uint32_t index,
                                        ingot_branch* out_branch, ingot_error* error);
/** Where a device has several kernel variants for an instruction: which one, and who says so. */
typedef int32_t ingot_variant_source;
enum {
  INGOT_VARIANT_ONLY = 0,   /* there is one kernel variant */
  INGOT_VARIANT_MODEL = 1,  /* by a model of the device: nothing was recorded for it */
  INGOT_VARIANT_TUNED = 2,  /* `ingot tune` measured it on this GPU and recorded it in the file */
  INGOT_VARIANT_IGNORED = 3 /* what the file records cannot be used: by the model after all */
};
typedef struct ingot_variant {
  size_t size;
  const char* device;
  const char* name;  /* of the variant, "128x64"; "" where there is one */
  const char* why;   /* static */
  uint32_t parts;    /* that a sum is cut into */
  uint32_t variants; /* variants that there are */
  ingot_variant_source source;
} ingot_variant;
/** Of an instruction in a session with these options; INGOT_NOT_FOUND beyond the last. */
INGOT_API ingot_code ingot_model_variant(const ingot_model* model,
                                         const ingot_session_options* options, uint32_t instruction,
                                         ingot_variant* out_variant, ingot_error* error);

INGOT_API ingot_code ingot_session_instruction(const ingot_session* session, uint32_t index,
                                               ingot_instruction* out_instruction);
/** What requirements() said for this session. */
INGOT_API ingot_code ingot_session_requirements(const ingot_session* session,
                                                ingot_requirements* out_requirements);

/** System calls made by the calling thread in run(), and runs that went without help. */
typedef struct ingot_counters {
  size_t size;
  uint64_t runs;
  uint64_t wakes, waits; /* at most one a run, each */
  /* runs that found the pool busy, or forked away, and used the calling thread only */
  uint64_t alone;
} ingot_counters;
INGOT_API ingot_code ingot_session_counters(const ingot_session* session,
                                            ingot_counters* out_counters);

/** With INGOT_POISON: bytes from the start of each part to one past the highest that no longer
    holds the pattern. */
typedef struct ingot_touched {
  size_t size;
  /* of the whole arena; arena_bytes - alignment < arena <= arena_bytes shows it to be exact */
  uint64_t arena;
  uint64_t activations;
  uint64_t state;
  uint64_t scratch;
  uint64_t tables;
} ingot_touched;
INGOT_API ingot_code ingot_session_touched(const ingot_session* session,
                                           ingot_touched* out_touched);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INGOT_REPORT_H_ */
