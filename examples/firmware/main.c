/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - opens each model of models.h in its part of the arena, feeds it the inputs that were
   written beside it, and compares the outputs with those of the host, byte for byte; of a language
   model that answers, token for token. Replace the loop over models by what your device does: fill
   the inputs, run, read the outputs. A model with state stays open; ingot_micro_reset_state()
   starts it over. */
#include <string.h>

#include "ingot/micro.h"
#include "models.h"

void board_print(const char* text);
void board_clock_start(void);
uint32_t board_clock_ticks(void);
uint32_t board_stack_used(void);
uint32_t board_stack_bytes(void);
extern const ingot_micro_kernels* ingot_micro_table(void);

static unsigned char arena[FIRMWARE_ARENA_BYTES] __attribute__((aligned(64)));

static void print_number(const char* label, uint32_t n) {
  char text[12];
  int at = sizeof text - 1;
  text[at] = 0;
  do text[--at] = (char)('0' + n % 10);
  while ((n /= 10) != 0);
  board_print(label);
  board_print(text + at);
}

static int fail(const char* model, const char* what, const ingot_micro_error* error) {
  board_print(model);
  board_print(": ");
  board_print(what);
  print_number(" failed, code ", (uint32_t)error->code); /* docs/firmware.md */
  print_number(", index ", (uint32_t)error->index);
  print_number(", need ", error->need);
  print_number(", have ", error->have);
  board_print("\n");
  return 1;
}

static int report(const firmware_model* m, const ingot_micro* model, const char* what,
                  uint32_t equal, uint32_t all, uint32_t ticks) {
  board_print(m->name);
  print_number(": ", equal);
  print_number(" of ", all);
  board_print(what);
  print_number(" as on the host; arena ", ingot_micro_arena_bytes(model));
  print_number(" bytes, object ", sizeof *model);
  print_number(" bytes, ticks ", ticks);
  board_print("\n");
  return equal != all;
}

#ifdef FIRMWARE_ANSWERS
int32_t answer_prompt(const ingot_micro* model, const firmware_answer* answer, uint32_t* tokens,
                      uint32_t* equal, uint32_t* ticks, ingot_micro_error* error); /* answer.c */

static int run_answer(const firmware_model* m, const ingot_micro* model) {
  ingot_micro_error error;
  uint32_t tokens, equal, ticks;
  if (answer_prompt(model, m->answer, &tokens, &equal, &ticks, &error))
    return fail(m->name, "run", &error);
  /* the host's answer may be the longer one */
  return report(m, model, " tokens", equal,
                tokens > m->answer->id_count ? tokens : m->answer->id_count, ticks);
}
#endif

static int run_model(const firmware_model* m) {
  ingot_micro model;
  ingot_micro_error error;
  ingot_micro_tensor tensor;
  uint32_t i, k, run, ticks = 0, equal = 0, bytes = 0;
  const unsigned char *input = m->inputs, *expected = m->outputs;
  if (ingot_micro_open(&model, m->image, m->image_bytes, ingot_micro_table(), arena + m->arena_at,
                       m->arena_bytes, INGOT_MICRO_CHECK_WEIGHTS, &error))
    return fail(m->name, "open", &error);
#ifdef FIRMWARE_ANSWERS
  if (m->answer) return run_answer(m, &model);
#endif
  for (run = 0; run < m->runs; run++) {
    for (i = 0; ingot_micro_input(&model, i, &tensor) == 0; i++) {
      memcpy(tensor.data, input, tensor.bytes);
      input += tensor.bytes;
    }
    board_clock_start();
    if (ingot_micro_run(&model, 0, 0, &error)) return fail(m->name, "run", &error);
    ticks = board_clock_ticks(); /* of the last run */
    for (i = 0; ingot_micro_output(&model, i, &tensor) == 0; i++) {
      for (k = 0; k < tensor.bytes; k++)
        equal += ((const unsigned char*)tensor.data)[k] == expected[k];
      expected += tensor.bytes;
      bytes += tensor.bytes;
    }
  }
  return report(m, &model, " bytes", equal, bytes, ticks);
}

int main(void) {
  uint32_t failed = 0, passed, i;
  for (i = 0; i < FIRMWARE_MODEL_COUNT; i++) failed += (uint32_t)run_model(&firmware_models[i]);
  passed = FIRMWARE_MODEL_COUNT - failed;
  print_number("stack: ", board_stack_used());
  print_number(" of ", board_stack_bytes());
  board_print(" bytes\n");
  if (board_stack_used() == board_stack_bytes()) { /* and perhaps more than that */
    board_print("the stack is full: keep more for it (--stack)\n");
    failed++;
  }
  print_number("firmware: ", passed);
  print_number(" passed, ", failed);
  board_print(" failed\n");
  return failed != 0;
}
