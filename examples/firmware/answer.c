/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c - a language model's answer: the prompt's tokens in runs of their own, then each time
   the token of the largest logit, the lowest of equal ones. Its text is printed as it comes; the
   number of the token, where the model has no tokenizer. */
#include <string.h>

#include "ingot/micro.h"
#include "models.h"

#ifdef FIRMWARE_ANSWERS

void board_print(const char* text);
void board_clock_start(void);
uint32_t board_clock_ticks(void);

static void print_token(const firmware_answer* a, int32_t id, int is_first) {
  if (!a->pieces) {
    char digits[12];
    int at = sizeof digits - 1;
    uint32_t n = (uint32_t)id;
    digits[at] = 0;
    do digits[--at] = (char)('0' + n % 10);
    while ((n /= 10) != 0);
    board_print(is_first ? "" : " ");
    board_print(digits + at);
  } else if ((uint32_t)id < a->piece_count) {
    const char* piece = a->pieces + a->piece_at[id];
    board_print(piece + (is_first && a->strips_space && *piece == ' '));
  }
}

static int is_end(const firmware_answer* a, int32_t id) {
  uint32_t i;
  for (i = 0; i < a->end_count; i++)
    if (a->ends[i] == id) return 1;
  return 0;
}

static int32_t find_largest(const ingot_micro_tensor* logits) {
  const float* at = (const float*)logits->data;
  const uint32_t count = logits->bytes / (uint32_t)sizeof *at;
  uint32_t i, best = 0;
  for (i = 1; i < count; i++)
    if (at[i] > at[best]) best = i;
  return (int32_t)best;
}

/* Of a model that was just opened, or reset. 0, or the code in `error`. *tokens: how many it said;
   *equal: how many of them are the host's; *ticks: of a run, the mean of all. */
int32_t answer_prompt(const ingot_micro* model, const firmware_answer* a, uint32_t* tokens,
                      uint32_t* equal, uint32_t* ticks, ingot_micro_error* error) {
  ingot_micro_tensor tensor;
  uint64_t all_ticks = 0;
  int64_t position = 0;
  int32_t id = a->prompt[0];
  *tokens = *equal = 0;
  for (;;) {
    ingot_micro_input(model, a->tokens, &tensor);
    memcpy(tensor.data, &id, sizeof id);
    ingot_micro_input(model, a->position, &tensor);
    memcpy(tensor.data, &position, sizeof position);
    board_clock_start();
    if (ingot_micro_run(model, 0, 0, error)) return error->code;
    all_ticks += board_clock_ticks();
    *ticks = (uint32_t)(all_ticks / (uint64_t)++position);
    if (position < a->prompt_count) {
      id = a->prompt[position];
      continue;
    }
    ingot_micro_output(model, a->logits, &tensor);
    id = find_largest(&tensor);
    *equal += *tokens < a->id_count && id == a->ids[*tokens];
    ++*tokens;
    if (is_end(a, id)) break;
    print_token(a, id, *tokens == 1);
    if (*tokens == a->most) break;
  }
  board_print("\n");
  return 0;
}

#endif
