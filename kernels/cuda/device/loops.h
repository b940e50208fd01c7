// kernels/cuda/device/loops.h - how often a loop is written out. Loops over the dimensions of a tensor stay loops: unrolled, they
// would be most of the device code.
#pragma once

#if defined(__CUDACC__)
#define GPU_ROLLED _Pragma("unroll 1")
#define GPU_UNROLLED_TWICE _Pragma("unroll 2")
#else
#define GPU_ROLLED
#define GPU_UNROLLED_TWICE
#endif
