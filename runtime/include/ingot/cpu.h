/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - the CPU's kernels, in a library of their own (ingot_cpu) so that a firmware need not link
   them. */
#ifndef INGOT_CPU_H_
#define INGOT_CPU_H_

#include "ingot.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The kernels for this processor: the best instruction set it has when `isa` is null (or what the
    environment variable INGOT_CPU_ISA names), else exactly `isa`: "scalar", "avx2", "avxvnni",
    "avx512", "avx512vnni", "avx512bf16", "amxbf16", "amxint8", "neon", "neonfp16", "neondot",
    "neoni8mm", "neonbf16". Null when this build or this processor lacks it. Where the processor
    has AMX, the process asks Linux for it; refused, it gets the next set. Static: never freed. */
INGOT_API const ingot_kernel_table* ingot_cpu_kernels(const char* isa);

#ifdef __cplusplus
}
#endif

#endif /* INGOT_CPU_H_ */
