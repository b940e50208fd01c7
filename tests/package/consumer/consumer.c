/* SPDX-License-Identifier: Apache-2.0 */
/* consumer.c - what a user's first program does: open a file, ask what it needs, run it. */
#include <ingot/cpu.h>
#include <ingot/ingot.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  ingot_error error;
  char text[400];
  ingot_open_options open = INGOT_INIT(ingot_open_options);
  ingot_model* model = NULL;
  ingot_session* session = NULL;
  ingot_session_options options = INGOT_INIT(ingot_session_options);
  ingot_binding batch = {"n", 2};
  ingot_tensor input, output;
  if (argc < 2) return 1;
  open.kernels = ingot_cpu_kernels(NULL);
  options.bindings = &batch, options.binding_count = 1;
  if (ingot_model_open(argv[1], &open, &model, &error) ||
      ingot_session_create(model, &options, &session, &error)) {
    ingot_error_text(&error, text, sizeof text);
    return fprintf(stderr, "%s\n", text), 1;
  }
  ingot_session_input(session, 0, &input);
  memset(input.data, 0, input.bytes);
  if (ingot_session_run(session, &error)) return 1;
  ingot_session_output(session, 0, &output);
  printf("ingot %s: %lld x %lld, first %.6f\n", ingot_version(), (long long)output.dims[0],
         (long long)output.dims[1], ((float*)output.data)[0]);
  ingot_session_destroy(session);
  ingot_model_destroy(model);
  return 0;
}
