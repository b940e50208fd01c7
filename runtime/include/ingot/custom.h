/* SPDX-License-Identifier: Apache-2.0 */
/* custom.h - operators of your own: what an ONNX file calls by a domain that Ingot does not know,
 * computed by your code between Ingot's instructions. Part of ingot.h, which includes it.
 *
 * The same ingot_custom_operator serves the converter, which asks it for shapes, and the device,
 * which runs it. On a device list it in ingot_open_options.operators. For the command line put it
 * into a shared library that exports ingot_plugin(), and name that with --plugin.
 *
 * RULES
 * Shapes    follow from the types of the inputs and the attributes alone: the same question always
 *           has the same answer. Extents that grow may not make memory() ask for less.
 * Operands  are dense and row-major. One that is absent has dtype INGOT_INVALID_DTYPE. No output
 *           lies over an input.
 * Threads   shape(), memory() and run() of one operator may be called by several threads at once,
 *           for several sessions. run() must not allocate from Ingot, call into it, or throw.
 * Trust     Your code has the rights of the process. Ingot checks the shapes that a file states
 *           against yours before every session; it cannot check what run() writes. Attributes are
 *           the file's: check them in shape(), before anything is computed with them.
 */
#ifndef INGOT_CUSTOM_H_
#define INGOT_CUSTOM_H_

#include "ingot.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Of the operator in the file, as the source had it: one of text, integers[count] (a single one
    too, and truth values), numbers[count]. The others are null. */
typedef struct ingot_custom_attribute {
  const char* name;
  const char* text;
  const int64_t* integers;
  const double* numbers;
  uint32_t count; /* of integers or numbers */
} ingot_custom_attribute;

/** One use of the operator. Everything lasts until the function returns. */
typedef struct ingot_custom_call {
  size_t size; /* of this struct as the library knows it */
  const ingot_custom_attribute* attributes;
  uint32_t attribute_count;
  uint32_t input_count, output_count;
  /* data is null but in run() */
  const ingot_tensor* inputs;
  /* of the types that shape() said; data is null but in run(). In shape(): nothing */
  const ingot_tensor* outputs;
  /* in run(): what memory() asked for, at multiples of 64 bytes */
  void* scratch; /* of this thread alone */
  void* shared;  /* of all threads of this call */
  /* in run() with INGOT_CUSTOM_PARALLEL: this thread among those that run it; else 0 of 1 */
  int32_t thread, threads;
} ingot_custom_call;

enum {
  /* run() is called by every thread of the session at once, each to do its part of the work; the
     result must not depend on how many they are. Without it one thread calls. */
  INGOT_CUSTOM_PARALLEL = 1
};

typedef struct ingot_custom_operator {
  size_t size;
  const char* domain; /* "com.example" of ONNX; "" or null: the default domain */
  const char* name;   /* "Whiten" */
  void* user;         /* handed to each function */
  uint32_t flags;
  /** Writes dtype, rank and dims of outputs[0 .. call->output_count). Another code than INGOT_OK
      refuses the operands or attributes; *why is then a sentence that lives as long as the
      operator, or left alone. Does not allocate where a session runs with sizes that the data
      decide. */
  ingot_code (*shape)(void* user, const ingot_custom_call* call, ingot_tensor* outputs,
                      const char** why);
  /** Bytes of scratch of each thread and of all together; may be null: none. `threads` is the most
      that will run it. */
  void (*memory)(void* user, const ingot_custom_call* call, int32_t threads,
                 uint64_t* bytes_per_thread, uint64_t* bytes_shared);
  /** Computes the outputs, all of them. Another code than INGOT_OK ends the run with
      INGOT_CUSTOM_FAILED. */
  ingot_code (*run)(void* user, const ingot_custom_call* call);
} ingot_custom_operator;

/** Convenience for shape() and run(): the attribute of that name, or null. */
static inline const ingot_custom_attribute* ingot_custom_find(const ingot_custom_call* call,
                                                              const char* name) {
  for (uint32_t i = 0; i < call->attribute_count; i++) {
    const char *a = call->attributes[i].name, *b = name;
    while (*a && *a == *b) a++, b++;
    if (*a == *b) return &call->attributes[i];
  }
  return NULL; /* NOLINT(modernize-use-nullptr): C reads this too */
}
/** Its first integer, or `otherwise` where there is none. */
static inline int64_t ingot_custom_integer(const ingot_custom_call* call, const char* name,
                                           int64_t otherwise) {
  const ingot_custom_attribute* found = ingot_custom_find(call, name);
  return found && found->integers && found->count ? found->integers[0] : otherwise;
}
/** Its first number (an integer counts), or `otherwise` where there is none. */
static inline double ingot_custom_number(const ingot_custom_call* call, const char* name,
                                         double otherwise) {
  const ingot_custom_attribute* found = ingot_custom_find(call, name);
  if (!found || !found->count) return otherwise;
  return found->numbers    ? found->numbers[0]
         : found->integers ? (double)found->integers[0]
                           : otherwise;
}

/** What a shared library for --plugin exports as `ingot_plugin`. Lives until the process ends. */
typedef struct ingot_plugin_info {
  size_t size;
  const char* name; /* for people, with its version: "whitening 1.2" */
  const ingot_custom_operator* const* operators;
  size_t operator_count;
} ingot_plugin_info;
typedef const ingot_plugin_info* (*ingot_plugin_function)(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INGOT_CUSTOM_H_ */
