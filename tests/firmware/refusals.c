/* SPDX-License-Identifier: Apache-2.0 */
/* refusals.c - in the place of a project's main.c, on the emulated board: what is wrong is refused
   by its code and numbers, before anything runs. */
#include <string.h>

#include "ingot/micro.h"
#include "models.h"

void board_print(const char* text);
extern const ingot_micro_kernels* ingot_micro_table(void);

/* As runtime/micro/model.h has it. */
typedef struct table {
  const void* rows;
  uint32_t count;
} table;
/* Of ingot_code. */
enum {
  kMisaligned = 7,
  kTruncated = 21,
  kHashMismatch = 23,
  kUnsupportedOperator = 29,
  kArenaTooSmall = 40
};

static unsigned char arena[FIRMWARE_ARENA_BYTES + 64] __attribute__((aligned(64)));
static unsigned char copy[256 * 1024 + 64] __attribute__((aligned(64)));
static ingot_micro model;
static ingot_micro_error error;
static int passed, failed;

static void check(const char* what, int holds) {
  board_print(holds ? "ok   " : "FAIL ");
  board_print(what);
  board_print("\n");
  holds ? passed++ : failed++;
}

static int open(const void* image, size_t bytes, const void* kernels, size_t arena_bytes) {
  return ingot_micro_open(&model, image, bytes, kernels, arena, arena_bytes,
                          INGOT_MICRO_CHECK_WEIGHTS, &error);
}

static void print_count(int n, const char* text) {
  char digits[4] = {(char)('0' + n / 10 % 10), (char)('0' + n % 10), 0, 0};
  board_print(digits);
  board_print(text);
}

int main(void) {
  const firmware_model* m = &firmware_models[0];
  const table* all = (const table*)ingot_micro_table();
  table fewer = *all;
  const size_t bytes = m->image_bytes, used = sizeof arena - 64;
  uint32_t need;
  if (bytes > sizeof copy - 64) return 2;
  check("the image as it is", open(m->image, bytes, all, used) == 0);
  need = ingot_micro_arena_bytes(&model);
  check("an arena of exactly what it names", open(m->image, bytes, all, need) == 0);
  check("an arena of a byte less: both numbers",
        open(m->image, bytes, all, need - 1) == kArenaTooSmall && error.need == need &&
            error.have == need - 1);
  memcpy(copy + 4, m->image, bytes);
  check("a misaligned model array",
        open(copy + 4, bytes, all, used) == kMisaligned && error.need == 16 && error.have == 4);
  check("a misaligned arena", ingot_micro_open(&model, m->image, bytes, (const void*)all, arena + 8,
                                               used, 0, &error) == kMisaligned &&
                                  error.need == 64 && error.have == 8);
  fewer.count--;
  check("a kernel that the table lacks: the instruction and the operator's number",
        open(m->image, bytes, &fewer, used) == kUnsupportedOperator && error.index >= 0 &&
            error.need > 0);
  check("an array that is shorter than the file: both lengths",
        open(m->image, bytes - 16, all, used) == kTruncated && error.need == bytes &&
            error.have == bytes - 16);
  memcpy(copy, m->image, bytes);
  memset(copy + bytes - 1024, 0xff, 1024); /* as flash is where nothing was written */
  check("flash that ended early", open(copy, bytes, all, used) == kHashMismatch);
  memcpy(copy, m->image, bytes);
  copy[300] ^= 1;
  check("a damaged program", open(copy, bytes, all, used) == kHashMismatch);
  print_count(passed, " passed, ");
  print_count(failed, " failed\n");
  return failed != 0;
}
