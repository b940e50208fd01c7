/* SPDX-License-Identifier: Apache-2.0 */
/* whiten.c - an operator of your own: com.example::Whiten takes the mean from each row and divides
 * by its deviation.
 *
 *   x f32 [..., N] -> y f32 [..., N], mean f32 [...]        attribute epsilon: number, 1e-5
 *
 *   ingot convert net.onnx --plugin libwhiten.so
 *   ingot run net.ingot --plugin libwhiten.so --inputs in.npz --outputs out.npz
 *
 * A device links this file and lists kWhiten in ingot_open_options.operators.
 */
#include <ingot/ingot.h>
#include <math.h>

static ingot_code shape(void* user, const ingot_custom_call* call, ingot_tensor* outputs,
                        const char** why) {
  (void)user;
  if (call->input_count != 1 || call->output_count > 2) {
    *why = "Whiten takes one input, and gives y and the means";
    return INGOT_INVALID_ARGUMENT;
  }
  const ingot_tensor* x = &call->inputs[0];
  if (x->dtype != INGOT_F32 || x->rank < 1) {
    *why = "Whiten takes f32 of at least one dimension";
    return INGOT_DTYPE_MISMATCH;
  }
  if (!(ingot_custom_number(call, "epsilon", 1e-5) > 0)) {
    *why = "Whiten's epsilon is above zero";
    return INGOT_INVALID_ARGUMENT;
  }
  for (uint32_t o = 0; o < call->output_count; o++) {
    outputs[o].dtype = INGOT_F32;
    outputs[o].rank = x->rank - (int32_t)o;
    for (int32_t d = 0; d < outputs[o].rank; d++) outputs[o].dims[d] = x->dims[d];
  }
  return INGOT_OK;
}

static ingot_code run(void* user, const ingot_custom_call* call) {
  (void)user;
  const ingot_tensor* x = &call->inputs[0];
  const double epsilon = ingot_custom_number(call, "epsilon", 1e-5);
  const int64_t length = x->dims[x->rank - 1];
  int64_t rows = 1;
  for (int32_t d = 0; d + 1 < x->rank; d++) rows *= x->dims[d];
  float* const means = call->output_count > 1 ? (float*)call->outputs[1].data : NULL;
  /* each thread has its share of the rows: the numbers do not depend on how many there are */
  const int64_t first = rows * call->thread / call->threads,
                end = rows * (call->thread + 1) / call->threads;
  for (int64_t r = first; r < end; r++) {
    const float* from = (const float*)x->data + r * length;
    float* to = (float*)call->outputs[0].data + r * length;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < length; i++) sum += from[i];
    const double mean = length ? sum / (double)length : 0;
    for (int64_t i = 0; i < length; i++) squares += (from[i] - mean) * (from[i] - mean);
    const double scale = length ? 1 / sqrt(squares / (double)length + epsilon) : 0;
    for (int64_t i = 0; i < length; i++) to[i] = (float)((from[i] - mean) * scale);
    if (means) means[r] = (float)mean;
  }
  return INGOT_OK;
}

const ingot_custom_operator kWhiten = {.size = sizeof(ingot_custom_operator),
                                       .domain = "com.example",
                                       .name = "Whiten",
                                       .flags = INGOT_CUSTOM_PARALLEL,
                                       .shape = shape,
                                       .run = run};

static const ingot_custom_operator* const kOperators[] = {&kWhiten};

INGOT_API const ingot_plugin_info* ingot_plugin(void) {
  static const ingot_plugin_info info = {
      .size = sizeof info, .name = "whitening 1.0", .operators = kOperators, .operator_count = 1};
  return &info;
}
