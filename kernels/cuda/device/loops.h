// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/device/loops.h - loops over the dimensions of a tensor stay loops: unrolled, they
// would be most of the device code.
#pragma once

#if defined(__CUDACC__)
#define GPU_ROLLED _Pragma("unroll 1")
#else
#define GPU_ROLLED
#endif
