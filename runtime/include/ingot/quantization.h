/* SPDX-License-Identifier: Apache-2.0 */
/* quantization.h - what the integers of a port stand for. Part of ingot.h, which includes it. */
#ifndef INGOT_QUANTIZATION_H_
#define INGOT_QUANTIZATION_H_

#include "ingot.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An integer q of the port stands for scale * (q - zero_point). */
typedef struct ingot_quantization {
  size_t size;
  double scale;
  int32_t zero_point;
} ingot_quantization;
/** Of an input or output, by name. INGOT_NOT_FOUND: it holds no quantized integers, or the source
    or the version that converted it did not say; INGOT_INVALID_ARGUMENT: no port has that name.
    Reads the metadata: allocates while it runs, with the model's allocator. */
INGOT_API ingot_code ingot_model_quantization(const ingot_model* model, const char* port,
                                              ingot_quantization* out_quantization,
                                              ingot_error* error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INGOT_QUANTIZATION_H_ */
