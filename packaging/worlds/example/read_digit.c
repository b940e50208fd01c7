/* SPDX-License-Identifier: Apache-2.0 */
#include "read_digit.h"

#include <string.h>

#include "ingot/micro.h"
#include "models.h"

extern const ingot_micro_kernels* ingot_micro_table(void); /* kernels.cpp */

static unsigned char arena[FIRMWARE_ARENA_BYTES] __attribute__((aligned(64)));

int read_digit(void (*print)(const char* text)) {
  const firmware_model* const m = &firmware_models[0];
  const unsigned char *input = m->inputs, *expected = m->outputs;
  static ingot_micro model;
  ingot_micro_error error;
  ingot_micro_tensor tensor;
  uint32_t i;
  int differs = 0;
  if (ingot_micro_open(&model, m->image, m->image_bytes, ingot_micro_table(), arena, sizeof arena,
                       INGOT_MICRO_CHECK_WEIGHTS, &error)) {
    print("ingot: the model cannot be opened\n");
    return (int)error.code;
  }
  for (i = 0; ingot_micro_input(&model, i, &tensor) == 0; i++) {
    memcpy(tensor.data, input, tensor.bytes);
    input += tensor.bytes;
  }
  if (ingot_micro_run(&model, 0, 0, &error)) {
    print("ingot: the run failed\n");
    return (int)error.code;
  }
  for (i = 0; ingot_micro_output(&model, i, &tensor) == 0; i++) {
    differs |= memcmp(tensor.data, expected, tensor.bytes) != 0;
    expected += tensor.bytes;
  }
  print(differs ? "ingot: not the host's bytes\n" : "ingot: every byte as on the host\n");
  return differs ? -1 : 0;
}
