/* SPDX-License-Identifier: Apache-2.0 */
/* states.c - in the place of a project's main.c, on the emulated board: models with state run in
   turns, each goes on from its own last run, and a reset starts one over and no other. */
#include <string.h>

#include "ingot/micro.h"
#include "models.h"

void board_print(const char* text);
extern const ingot_micro_kernels* ingot_micro_table(void);

static unsigned char arena[FIRMWARE_ARENA_BYTES] __attribute__((aligned(64)));
static ingot_micro models[FIRMWARE_MODEL_COUNT];
static ingot_micro_error error;
static int passed, failed;

static void check(const char* what, int holds) {
  board_print(holds ? "ok   " : "FAIL ");
  board_print(what);
  board_print("\n");
  holds ? passed++ : failed++;
}

/* Run `run` of a model's case, on whatever its state is by now: 1 where the outputs are the host's,
   -1 where the run failed. */
static int is_as_on_the_host(uint32_t at, uint32_t run) {
  const firmware_model* m = &firmware_models[at];
  ingot_micro_tensor tensor;
  uint32_t i, equal = 1, bytes = 0;
  for (i = 0; ingot_micro_input(&models[at], i, &tensor) == 0; i++) bytes += tensor.bytes;
  const unsigned char* from = m->inputs + run * bytes;
  for (i = 0; ingot_micro_input(&models[at], i, &tensor) == 0; i++) {
    memcpy(tensor.data, from, tensor.bytes);
    from += tensor.bytes;
  }
  if (ingot_micro_run(&models[at], 0, 0, &error) != 0) return -1;
  for (bytes = 0, i = 0; ingot_micro_output(&models[at], i, &tensor) == 0; i++)
    bytes += tensor.bytes;
  from = m->outputs + run * bytes;
  for (i = 0; ingot_micro_output(&models[at], i, &tensor) == 0; i++) {
    equal = equal && memcmp(tensor.data, from, tensor.bytes) == 0;
    from += tensor.bytes;
  }
  return equal != 0;
}

static void print_count(int n, const char* text) {
  char digits[4] = {(char)('0' + n / 10 % 10), (char)('0' + n % 10), 0, 0};
  board_print(digits);
  board_print(text);
}

/* How many of the runs [from, to) of models [first, last) have the host's outputs. */
static uint32_t count_equal(uint32_t first, uint32_t last, uint32_t from, uint32_t to) {
  uint32_t run, at, equal = 0;
  for (run = from; run < to; run++)
    for (at = first; at < last; at++) equal += is_as_on_the_host(at, run) == 1;
  return equal;
}

int main(void) {
  const uint32_t all = FIRMWARE_MODEL_COUNT, runs = (uint32_t)firmware_models[0].runs,
                 half = runs / 2;
  uint32_t at;
  check("there are several, with some runs in a row", all >= 2 && half >= 2);
  for (at = 0; at < all; at++) {
    const firmware_model* m = &firmware_models[at];
    check("opened, each in its part of the arena",
          m->runs == runs &&
              ingot_micro_open(&models[at], m->image, m->image_bytes, ingot_micro_table(),
                               arena + m->arena_at, m->arena_bytes, INGOT_MICRO_CHECK_WEIGHTS,
                               &error) == 0);
  }
  if (failed) return 2;
  check("runs in turns are as on the host", count_equal(0, all, 0, half) == all * half);
  check("the first is reset", ingot_micro_reset_state(&models[0], &error) == 0);
  check("it starts over", count_equal(0, 1, 0, runs) == runs);
  check("the others go on", count_equal(1, all, half, runs) == (all - 1) * (runs - half));
  check("without a reset it does not start over", is_as_on_the_host(0, 0) == 0);
  print_count(passed, " passed, ");
  print_count(failed, " failed\n");
  return failed != 0;
}
