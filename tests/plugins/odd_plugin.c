/* SPDX-License-Identifier: Apache-2.0 */
/* odd_plugin.c - operators that try what a plugin may do, and what it may not. */
#include <ingot/ingot.h>
#include <stdlib.h>
#include <string.h>

static ingot_code same_shape(void* user, const ingot_custom_call* call, ingot_tensor* outputs,
                             const char** why) {
  (void)user, (void)why;
  outputs[0] = call->inputs[0];
  outputs[0].data = NULL;
  return INGOT_OK;
}

/* every `stride`-th row, of those that `window` fits */
static ingot_code rows_shape(void* user, const ingot_custom_call* call, ingot_tensor* outputs,
                             const char** why) {
  (void)user;
  const int64_t window =
                    ingot_custom_integer(call, "window", ingot_custom_integer(call, "arg1", 1)),
                stride =
                    ingot_custom_integer(call, "stride", ingot_custom_integer(call, "arg2", 1));
  const ingot_tensor* x = &call->inputs[0];
  if (x->rank != 2 || stride < 1 || window < 1 || x->dims[0] < window) {
    *why = "Rows takes two dimensions, and a window that fits";
    return INGOT_SHAPE_MISMATCH;
  }
  outputs[0] = *x;
  outputs[0].dims[0] = (x->dims[0] - window) / stride + 1;
  return INGOT_OK;
}
static void rows_memory(void* user, const ingot_custom_call* call, int32_t threads,
                        uint64_t* bytes_per_thread, uint64_t* bytes_shared) {
  (void)user, (void)threads;
  *bytes_per_thread = (uint64_t)call->inputs[0].dims[1] * sizeof(double);
  *bytes_shared = 64;
}
/* sums of the rows of a window, in scratch */
static ingot_code rows_run(void* user, const ingot_custom_call* call) {
  (void)user;
  const int64_t window =
                    ingot_custom_integer(call, "window", ingot_custom_integer(call, "arg1", 1)),
                stride =
                    ingot_custom_integer(call, "stride", ingot_custom_integer(call, "arg2", 1));
  const ingot_tensor *x = &call->inputs[0], *y = &call->outputs[0];
  const int64_t n = x->dims[1];
  double* const sums = (double*)call->scratch;
  memset(call->shared, 1, 64);
  for (int64_t r = 0; r < y->dims[0]; r++) {
    for (int64_t i = 0; i < n; i++) sums[i] = 0;
    for (int64_t w = 0; w < window; w++)
      for (int64_t i = 0; i < n; i++) sums[i] += ((const float*)x->data)[(r * stride + w) * n + i];
    for (int64_t i = 0; i < n; i++) ((float*)y->data)[r * n + i] = (float)sums[i];
  }
  return INGOT_OK;
}

static ingot_code copy_run(void* user, const ingot_custom_call* call) {
  (void)user;
  memcpy(call->outputs[0].data, call->inputs[0].data, (size_t)call->inputs[0].bytes);
  return INGOT_OK;
}
static ingot_code failing_run(void* user, const ingot_custom_call* call) {
  (void)user, (void)call;
  return INGOT_OUT_OF_MEMORY;
}

/* says something else when ODD_PLUGIN_LIES is set: between conversion and run */
static ingot_code lying_shape(void* user, const ingot_custom_call* call, ingot_tensor* outputs,
                              const char** why) {
  const ingot_code code = same_shape(user, call, outputs, why);
  if (getenv("ODD_PLUGIN_LIES")) outputs[0].dims[0] += 1;
  return code;
}
static ingot_code refusing_shape(void* user, const ingot_custom_call* call, ingot_tensor* outputs,
                                 const char** why) {
  (void)user, (void)call, (void)outputs;
  *why = "Refuse takes nothing at all";
  return INGOT_SHAPE_MISMATCH;
}
static ingot_code senseless_shape(void* user, const ingot_custom_call* call, ingot_tensor* outputs,
                                  const char** why) {
  (void)why, (void)user, (void)call;
  outputs[0].dtype = 99;
  outputs[0].rank = 77;
  return INGOT_OK;
}
/* squares of extents follow no line */
static ingot_code squared_shape(void* user, const ingot_custom_call* call, ingot_tensor* outputs,
                                const char** why) {
  const ingot_code code = same_shape(user, call, outputs, why);
  int64_t n = outputs[0].dims[0];
  outputs[0].dims[0] = n * n * n % 1009;
  return code;
}
/* all attributes, one behind the other */
static ingot_code attributes_shape(void* user, const ingot_custom_call* call, ingot_tensor* outputs,
                                   const char** why) {
  (void)user, (void)why;
  int64_t count = 0;
  for (uint32_t i = 0; i < call->attribute_count; i++)
    count += call->attributes[i].text ? (int64_t)strlen(call->attributes[i].text)
                                      : (int64_t)call->attributes[i].count;
  outputs[0].dtype = INGOT_F32;
  outputs[0].rank = 1;
  outputs[0].dims[0] = count;
  return INGOT_OK;
}
static ingot_code attributes_run(void* user, const ingot_custom_call* call) {
  (void)user;
  float* to = (float*)call->outputs[0].data;
  for (uint32_t i = 0; i < call->attribute_count; i++) {
    const ingot_custom_attribute* a = &call->attributes[i];
    for (const char* c = a->text; c && *c; c++) *to++ = (float)*c;
    for (uint32_t k = 0; k < a->count; k++)
      *to++ = a->integers ? (float)a->integers[k] : (float)a->numbers[k];
  }
  return INGOT_OK;
}

/* as PyTorch names it: attributes have the names of arguments, or their places in TorchScript */
static const ingot_custom_operator kTorchRows = {
    sizeof(ingot_custom_operator), "odd", "rows", NULL, 0, rows_shape, rows_memory, rows_run};
#define OPERATOR(id, text, shape_function, memory_function, run_function) \
  static const ingot_custom_operator id = {sizeof(ingot_custom_operator), \
                                           "org.odd",                     \
                                           text,                          \
                                           NULL,                          \
                                           0,                             \
                                           shape_function,                \
                                           memory_function,               \
                                           run_function}
OPERATOR(kRows, "Rows", rows_shape, rows_memory, rows_run);
OPERATOR(kFail, "Fail", same_shape, NULL, failing_run);
OPERATOR(kLie, "Lie", lying_shape, NULL, copy_run);
OPERATOR(kRefuse, "Refuse", refusing_shape, NULL, copy_run);
OPERATOR(kSenseless, "Senseless", senseless_shape, NULL, copy_run);
OPERATOR(kSquared, "Squared", squared_shape, NULL, copy_run);
OPERATOR(kAttributes, "Attributes", attributes_shape, NULL, attributes_run);

static const ingot_custom_operator* const kOperators[] = {
    &kRows, &kFail, &kLie, &kRefuse, &kSenseless, &kSquared, &kAttributes, &kTorchRows};

INGOT_API const ingot_plugin_info* ingot_plugin(void) {
  static const ingot_plugin_info info = {sizeof info, "odd 1", kOperators, 8};
  return &info;
}
