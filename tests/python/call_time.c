/* SPDX-License-Identifier: Apache-2.0 */
/* call_time.c - nanoseconds of a call through the C interface, on one thread: of a run alone, and
 * of a run with its first input copied in and its first output copied out.
 *
 *   call_time MODEL.ingot CALLS
 */
#include <ingot/cpu.h>
#include <ingot/ingot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  ingot_error error;
  ingot_model* model = NULL;
  ingot_session* session = NULL;
  ingot_open_options open = INGOT_INIT(ingot_open_options);
  ingot_session_options options = INGOT_INIT(ingot_session_options);
  const long calls = argc == 3 ? atol(argv[2]) : 0;
  if (calls < 1) return fprintf(stderr, "usage: call_time MODEL.ingot CALLS\n"), 1;
  ingot_binding bindings[8];
  open.kernels = ingot_cpu_kernels(NULL);
  options.device = "cpu";
  options.threads = 1;
  ingot_code code = ingot_model_open(argv[1], &open, &model, &error);
  ingot_symbol symbol;
  while (!code && options.binding_count < 8 &&
         !ingot_model_symbol(model, (uint32_t)options.binding_count, &symbol)) {
    bindings[options.binding_count].name = symbol.name;
    bindings[options.binding_count++].value = 1;
  }
  options.bindings = bindings;
  if (!code) code = ingot_session_create(model, &options, &session, &error);
  ingot_tensor input, output;
  if (!code) code = ingot_session_input(session, 0, &input);
  if (!code) code = ingot_session_output(session, 0, &output);
  if (code) {
    char text[512] = "a port that is not there";
    ingot_error_text(&error, text, sizeof text);
    return fprintf(stderr, "call_time: %s\n", text), 7;
  }
  void* from = calloc(1, input.bytes);
  void* to = malloc(output.bytes);
  if (!from || !to) return fprintf(stderr, "call_time: out of memory\n"), 7;
  memcpy(input.data, from, input.bytes);
  const uint64_t begin = ingot_clock_ns();
  for (long i = 0; i < calls && !code; i++) code = ingot_session_run(session, &error);
  const uint64_t middle = ingot_clock_ns();
  for (long i = 0; i < calls && !code; i++) {
    memcpy(input.data, from, input.bytes);
    code = ingot_session_run(session, &error);
    memcpy(to, output.data, output.bytes);
  }
  const uint64_t end = ingot_clock_ns();
  if (code) return fprintf(stderr, "call_time: run: code %d\n", (int)code), 7;
  printf("%.1f %.1f\n", (double)(middle - begin) / (double)calls,
         (double)(end - middle) / (double)calls);
  free(to);
  free(from);
  ingot_session_destroy(session);
  ingot_model_destroy(model);
  return 0;
}
