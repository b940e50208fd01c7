/* SPDX-License-Identifier: Apache-2.0 */
/* micro.h - a model in flash, run in a caller's array: for microcontrollers.
 *
 * The core behind it has no heap, no operating system, no C++ library and no recursion. It reads
 * the file where it lies: nothing of it is decoded into RAM. What a run needs is the arena
 * (activations, state, scratch, two bytes for each instruction) and an ingot_micro.
 *
 * It takes programs of fixed extents without branches and loops, with a plan in the file: what
 * `ingot firmware` writes. Other files are refused by INGOT_UNSUPPORTED_FEATURE. A file is
 * validated whole before anything runs, as on a host.
 *
 * State is what a network over time, as a streaming wake word, keeps from one run to the next. It
 * lies in the arena and starts when the model is opened: such a model stays open and has an arena
 * of its own.
 *
 * Threads: an ingot_micro belongs to one context at a time. Two may run in turns, also in an
 * interrupt, if they share no arena. Nothing here disables interrupts. */
#ifndef INGOT_MICRO_H_
#define INGOT_MICRO_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The kernels of one or more models: kernels.cpp of `ingot firmware`. */
typedef struct ingot_micro_kernels ingot_micro_kernels;

/** An opened model. The caller owns it; nothing has to be closed. It may be moved by copying. */
typedef struct ingot_micro {
  const void* pointers[3];
  uint32_t words[16];
} ingot_micro;

/** Why a call failed. Codes are those of ingot_code (docs/firmware.md has their numbers). */
typedef struct ingot_micro_error {
  int32_t code;
  int32_t index;    /* of the instruction or value concerned; -1: of the whole */
  uint32_t need;    /* expected */
  uint32_t have;    /* found */
  const char* what; /* one English phrase; null where the core was built with INGOT_FIRMWARE */
} ingot_micro_error;

/** An input or output. `data` lies in the arena and stays there. Outputs are only read: one may be
    a state. */
typedef struct ingot_micro_tensor {
  void* data;
  uint32_t bytes;
  int32_t dtype; /* ingot_dtype */
  int32_t rank;
  int32_t dims[8];
} ingot_micro_tensor;

/** Called before each instruction; anything but 0 ends the run with INGOT_CANCELLED. The place to
    feed a watchdog. */
typedef int32_t (*ingot_micro_hook)(void* user, uint32_t instruction);

enum { INGOT_MICRO_CHECK_WEIGHTS = 1 };

/** Validates the file at `image` and plans it in the arena. The image must stay where it is.
 *  image   aligned to 16 bytes, `bytes` long as the file is
 *  arena   aligned to 64 bytes; ingot_micro_arena_bytes() of them are used. Its contents are lost;
 *          every state has its initial value
 *  flags   INGOT_MICRO_CHECK_WEIGHTS: the hashes of the weights too, which takes a pass over them
 *  error   may be null
 *  @return 0, else the code that is in `error`; *out must then not be used. INGOT_MISALIGNED,
 *          INGOT_ARENA_TOO_SMALL (need, have), INGOT_NO_KERNEL and INGOT_UNSUPPORTED_OPERATOR
 *          (index: the instruction, need: its operator's number), INGOT_TRUNCATED,
 *          INGOT_HASH_MISMATCH and the other codes of files */
int32_t ingot_micro_open(ingot_micro* out, const void* image, size_t bytes,
                         const ingot_micro_kernels* kernels, void* arena, size_t arena_bytes,
                         uint32_t flags, ingot_micro_error* error);

/** The same with the place to feed a watchdog: `hook` is called each time that 4 KiB were hashed or
 *  256 values and instructions were looked at, some milliseconds apart on a Cortex-M; its
 *  `instruction` counts the calls. Anything but 0 ends the opening with INGOT_CANCELLED. The time
 *  is linear in the bytes of the file: values that lie in each other are bounded
 *  (INGOT_LIMIT_EXCEEDED). */
int32_t ingot_micro_open_watched(ingot_micro* out, const void* image, size_t bytes,
                                 const ingot_micro_kernels* kernels, void* arena,
                                 size_t arena_bytes, uint32_t flags, ingot_micro_hook hook,
                                 void* user, ingot_micro_error* error);

/** What an arena must have at least. */
uint32_t ingot_micro_arena_bytes(const ingot_micro* model);

/** @return 0, or INGOT_NOT_FOUND */
int32_t ingot_micro_input(const ingot_micro* model, uint32_t index, ingot_micro_tensor* out);
int32_t ingot_micro_output(const ingot_micro* model, uint32_t index, ingot_micro_tensor* out);

/** Computes the outputs from the inputs. Inputs may be overwritten by it: write all of them before
    each run. `hook` may be null. States are those of the run before; a run that fails leaves them
    unspecified until they are reset. */
int32_t ingot_micro_run(const ingot_micro* model, ingot_micro_hook hook, void* user,
                        ingot_micro_error* error);

/** Sets every state to its initial value, as a model that was just opened has it. Nothing else of
    the arena changes. A model without state stays as it is.
 *  @return 0, or INGOT_INVALID_ARGUMENT */
int32_t ingot_micro_reset_state(const ingot_micro* model, ingot_micro_error* error);

#ifdef __cplusplus
}
#endif

#endif /* INGOT_MICRO_H_ */
