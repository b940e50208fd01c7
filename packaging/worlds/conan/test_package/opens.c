/* SPDX-License-Identifier: Apache-2.0 */
/* opens.c - opens a file that is no model, which is refused by name. */
#include <ingot/cpu.h>
#include <ingot/ingot.h>
#include <stdio.h>

int main(int argc, char** argv) {
  ingot_error error;
  char text[400];
  ingot_open_options open = INGOT_INIT(ingot_open_options);
  ingot_model* model = NULL;
  open.kernels = ingot_cpu_kernels(NULL);
  (void)argc;
  if (ingot_model_open(argv[0], &open, &model, &error) != INGOT_NOT_INGOT) return 1;
  ingot_error_text(&error, text, sizeof text);
  printf("ingot %s: refused as it must be: %s\n", ingot_version(), text);
  return 0;
}
