/* SPDX-License-Identifier: Apache-2.0 */
/* one_cnn.c - the smallest useful program: one file, its own kernels, one run. */
#include <ingot/ingot.h>
#include <stdio.h>
#include <string.h>

extern const ingot_kernel_table* ingot_model_kernels(void);

int main(int argc, char** argv) {
  ingot_error error;
  ingot_model* model = NULL;
  ingot_session* session = NULL;
  ingot_open_options open = INGOT_INIT(ingot_open_options);
  ingot_session_options options = INGOT_INIT(ingot_session_options);
  ingot_tensor input, output;
  open.kernels = ingot_model_kernels();
  options.threads = 1;
  if (argc < 2 || ingot_model_open(argv[1], &open, &model, &error) ||
      ingot_session_create(model, &options, &session, &error))
    return 1;
  ingot_session_input(session, 0, &input);
  memset(input.data, 0, input.bytes);
  if (ingot_session_run(session, &error)) return 2;
  ingot_session_output(session, 0, &output);
  printf("one_cnn: first output %.6f\n", ((float*)output.data)[0]);
  return 0;
}
