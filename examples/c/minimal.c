/* SPDX-License-Identifier: Apache-2.0 */
/* minimal.c - open a model, ask what it needs, run it in memory of our own, print what came out.
 *
 *   minimal_c MODEL.ingot [DIMENSION=VALUE]...
 */
#include <ingot/cpu.h>
#include <ingot/ingot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BINDINGS 8

static int fail(const char* what, const ingot_error* error) {
  char text[512];
  ingot_error_text(error, text, sizeof text);
  fprintf(stderr, "%s: %s\n", what, text);
  return 1;
}

/* "N=4" becomes {"N", 4}; cuts the argument in place. */
static size_t parse_bindings(int argc, char** argv, ingot_binding* bindings) {
  size_t count = 0;
  for (int i = 2; i < argc && count < MAX_BINDINGS; i++) {
    char* at = strchr(argv[i], '=');
    if (!at) continue;
    *at = 0;
    bindings[count].name = argv[i];
    bindings[count++].value = atoll(at + 1);
  }
  return count;
}

static void print_tensor(const char* name, const ingot_tensor* tensor) {
  printf("%s: %s [", name, ingot_dtype_name(tensor->dtype));
  for (int32_t i = 0; i < tensor->rank; i++)
    printf(i ? ", %lld" : "%lld", (long long)tensor->dims[i]);
  printf("]");
  if (tensor->dtype == INGOT_F32)
    for (size_t i = 0; i < 4 && i < tensor->bytes / sizeof(float); i++)
      printf(" %g", ((const float*)tensor->data)[i]);
  printf("\n");
}

static int run(const ingot_model* model, ingot_session* session) {
  ingot_model_summary summary = INGOT_INIT(ingot_model_summary);
  ingot_error error;
  ingot_model_summarize(model, &summary);
  for (uint32_t i = 0; i < summary.input_count; i++) {
    ingot_tensor input;
    if (ingot_session_input(session, i, &input) != INGOT_OK) return 1;
    memset(input.data, 0, (size_t)input.bytes); /* your image, your samples */
  }
  if (ingot_session_run(session, &error) != INGOT_OK) return fail("run", &error);
  for (uint32_t i = 0; i < summary.output_count; i++) {
    ingot_value_type type;
    ingot_tensor output;
    if (ingot_model_output(model, i, &type) != INGOT_OK ||
        ingot_session_output(session, i, &output) != INGOT_OK)
      return 1;
    print_tensor(type.name, &output);
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: minimal_c MODEL.ingot [DIMENSION=VALUE]...\n");
    return 1;
  }
  ingot_error error;
  ingot_model* model;
  ingot_open_options open = INGOT_INIT(ingot_open_options);
  open.kernels = ingot_cpu_kernels(NULL);
  if (ingot_model_open(argv[1], &open, &model, &error) != INGOT_OK) return fail(argv[1], &error);

  ingot_binding bindings[MAX_BINDINGS];
  ingot_session_options options = INGOT_INIT(ingot_session_options);
  options.threads = 1;
  options.arena_kind = INGOT_ARENA_CALLER;
  options.bindings = bindings;
  options.binding_count = parse_bindings(argc, argv, bindings);
  ingot_requirements need = INGOT_INIT(ingot_requirements);
  if (ingot_model_requirements(model, &options, &need, &error) != INGOT_OK)
    return fail("requirements", &error);
  /* the parts add up; weights are copied, since the arena is ours and the file is not in memory */
  printf(
      "arena: %llu bytes: weights %llu, converted %llu, activations %llu, state %llu, "
      "scratch %llu, tables %llu, rounding %llu\n",
      (unsigned long long)need.arena_bytes, (unsigned long long)need.weights_copied,
      (unsigned long long)need.weights_widened, (unsigned long long)need.activations,
      (unsigned long long)need.state, (unsigned long long)need.scratch,
      (unsigned long long)need.tables, (unsigned long long)need.rounding);

  char* memory = malloc((size_t)(need.arena_bytes + need.arena_alignment));
  if (!memory) return 1;
  options.arena = memory + (need.arena_alignment - (uintptr_t)memory % need.arena_alignment) %
                               need.arena_alignment;
  options.arena_bytes = need.arena_bytes; /* one less would be refused */
  ingot_session* session;
  if (ingot_session_create(model, &options, &session, &error) != INGOT_OK)
    return fail("session", &error);
  const int result = run(model, session);
  ingot_session_destroy(session);
  ingot_model_destroy(model);
  free(memory);
  return result;
}
