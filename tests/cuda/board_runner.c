/* SPDX-License-Identifier: Apache-2.0 */
/* tests/cuda/board_runner.c - board_runner MODEL.ingot DEVICE: runs a model once on random inputs,
   prints a hash of its outputs; without arguments the devices of this machine. Links the shared
   library as an application on a board does. Used by old_glibc.sh. */
#include <ingot/cpu.h>
#include <ingot/ingot.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char* what, const ingot_error* error) {
  char text[512];
  ingot_error_text(error, text, sizeof text);
  fprintf(stderr, "board_runner: %s: %s\n", what, text);
  return 1;
}

static int list_devices(void) {
  ingot_device device = {0};
  device.size = sizeof device;
  for (uint32_t i = 0; ingot_device_at(i, &device) == INGOT_OK; i++)
    printf("%s: %s\n", device.name, device.exists ? "there" : device.why);
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return list_devices();
  ingot_error error;
  ingot_model* model;
  ingot_session* session;
  ingot_open_options open = {0};
  open.size = sizeof open;
  open.kernels = ingot_cpu_kernels(NULL);
  if (ingot_model_open(argv[1], &open, &model, &error) != INGOT_OK) return fail(argv[1], &error);
  ingot_session_options options = {0};
  options.size = sizeof options;
  options.threads = 1;
  options.device = argv[2];
  if (ingot_session_create(model, &options, &session, &error) != INGOT_OK)
    return fail(argv[2], &error);

  ingot_model_summary summary = {0};
  summary.size = sizeof summary;
  ingot_model_summarize(model, &summary);
  uint32_t noise = 1;
  for (uint32_t i = 0; i < summary.input_count; i++) {
    ingot_tensor input;
    if (ingot_session_input(session, i, &input) != INGOT_OK || input.dtype != INGOT_F32) return 1;
    for (uint64_t k = 0; k < input.bytes / sizeof(float); k++) {
      noise = noise * 1664525u + 1013904223u;
      ((float*)input.data)[k] = (float)(noise >> 8) / 16777216.0f;
    }
  }
  if (ingot_session_run(session, &error) != INGOT_OK) return fail("run", &error);
  uint64_t hash = 14695981039346656037u;
  for (uint32_t i = 0; i < summary.output_count; i++) {
    ingot_tensor output;
    if (ingot_session_output(session, i, &output) != INGOT_OK) return 1;
    for (uint64_t k = 0; k < output.bytes; k++)
      hash = (hash ^ ((const uint8_t*)output.data)[k]) * 1099511628211u;
  }
  printf("%016llx\n", (unsigned long long)hash);
  ingot_session_destroy(session);
  ingot_model_destroy(model);
  return 0;
}
