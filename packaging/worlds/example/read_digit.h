/* SPDX-License-Identifier: Apache-2.0 */
/* read_digit.h - opens the model of models.h, runs it on the digit written beside it, and compares
   its outputs with those of the host. The place of the example that you replace. */
#ifndef READ_DIGIT_H_
#define READ_DIGIT_H_
#ifdef __cplusplus
extern "C" {
#endif

/* Prints a line. 0: every byte is the host's; else the code of the error (ingot/micro.h), or -1. */
int read_digit(void (*print)(const char* text));

#ifdef __cplusplus
}
#endif
#endif
