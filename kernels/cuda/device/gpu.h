// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/device/gpu.h - the words that device code is written in. A CUDA compiler takes them
// as they are; any other compiler gets the emulator, which defines the same names, so that every
// kernel also runs on a CPU.
//
//   INGOT_GPU_KERNEL(name, Params, threads) { ... p.count ... }   a kernel with one parameter `p`,
//   blocks of exactly `threads`
//   INGOT_GPU_KERNEL_BLOCKS(..., blocks)                          the same, with registers for that
//   many blocks a multiprocessor
//   INGOT_GPU_KERNEL_EARLY(...), INGOT_GPU_KERNEL_EARLY_BLOCKS     the same, of kernels that call
//   wait_for_launches() themselves: constants alone are read before, nothing is written
//   GPU_FN, GPU_MEMBER                                            a function of device code, a
//   member function; inlined
//   GPU_CALLED                                                    a function that is called: large,
//     and not of an inner loop
//   INGOT_UNROLL, GPU_UNROLL_BY(n)                                 before a loop: wholly, n times
//   gpu_shared<T>()                                               dynamic shared memory, 16-byte
//     aligned
//   GPU_SHARED(type, name), GPU_SHARED_ARRAY(type, name, [n][m])   static shared memory
//   threadIdx, blockIdx, __syncthreads(), __shfl_xor_sync() ...   as in CUDA
//
// Device code is C++17 without the standard library, compiled with -fmad=false: a product and a sum
// are two roundings unless fma is written. Elementary functions are those of kernels/cpu/simd
// (struct V with one lane), so bits agree with the CPU.
#pragma once
#include <cstdint>

#if defined(__CUDACC__)

#define GPU_FN static __device__ __forceinline__
#define GPU_MEMBER __device__ __forceinline__
// Not static: of a static function nvcc's name for it has a hash of the folder in it.
#define GPU_CALLED inline __device__ __noinline__
#define GPU_PRAGMA(text) _Pragma(#text)
#define GPU_UNROLL_BY(n) GPU_PRAGMA(unroll n)
#define GPU_SHARED(type, name) __shared__ type name
#define GPU_SHARED_ARRAY(type, name, extents) __shared__ type name extents
#define GPU_COMMON_SHARED(type, name) GPU_SHARED(type, name)
#define INGOT_GPU_ENTRY(bounds, name, Params) \
  extern "C" __global__ void bounds ingot_##name(const __grid_constant__ Params p)
#define INGOT_GPU_BOUNDS(...) __launch_bounds__(__VA_ARGS__)

namespace ingot::cuda {
template <class T>
GPU_FN T* gpu_shared() {
  extern __shared__ __align__(16) unsigned char ingot_dynamic_shared[];
  return reinterpret_cast<T*>(ingot_dynamic_shared);
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr bool kStartsEarly = false;
GPU_FN void wait_for_launches() {}
#else
constexpr bool kStartsEarly = true;
/// A kernel may start before the launch in front of it has ended (runtime/device/cuda/graph.cpp):
/// waits for its end and for what it wrote, then lets the next one start. Every thread calls it, or
/// the end of this launch would not be that of the one before; again, it is nothing.
GPU_FN void wait_for_launches() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
}
#endif
/// Brings the 128 bytes around a constant into the second-level cache.
GPU_FN void prefetch_constant(const void* at) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}
}  // namespace ingot::cuda

#else
#include "kernels/cuda/emulate/emulator.h"

#define GPU_FN static inline
#define GPU_MEMBER inline
#define GPU_CALLED static
#define GPU_UNROLL_BY(n)
#define INGOT_GPU_ENTRY(bounds, name, Params) void ingot_emulated_##name(const Params& p)
#define INGOT_GPU_BOUNDS(...)

namespace ingot::cuda {
template <class T>
GPU_FN T* gpu_shared() {
  return static_cast<T*>(emulate::dynamic_shared());
}
constexpr bool kStartsEarly = true;
GPU_FN void wait_for_launches() { emulate::wait_for_launches(); }
GPU_FN void prefetch_constant(const void* at) { emulate::prefetch(at); }
}  // namespace ingot::cuda
#endif

#if defined(__CUDACC__) && !(defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900)
// Nothing to wait for: a body of its own costs registers.
#define INGOT_GPU_KERNEL_AFTER(bounds, name, Params) INGOT_GPU_ENTRY(bounds, name, Params)
#else
#define INGOT_GPU_KERNEL_AFTER(bounds, name, Params) \
  GPU_FN void ingot_body_##name(const Params& p);    \
  INGOT_GPU_ENTRY(bounds, name, Params) {            \
    ::ingot::cuda::wait_for_launches();              \
    ingot_body_##name(p);                            \
  }                                                  \
  GPU_FN void ingot_body_##name(const Params& p)
#endif
#define INGOT_GPU_KERNEL(name, Params, threads) \
  INGOT_GPU_KERNEL_AFTER(INGOT_GPU_BOUNDS(threads), name, Params)
#define INGOT_GPU_KERNEL_BLOCKS(name, Params, threads, blocks) \
  INGOT_GPU_KERNEL_AFTER(INGOT_GPU_BOUNDS(threads, blocks), name, Params)
#define INGOT_GPU_KERNEL_EARLY(name, Params, threads) \
  INGOT_GPU_ENTRY(INGOT_GPU_BOUNDS(threads), name, Params)
#define INGOT_GPU_KERNEL_EARLY_BLOCKS(name, Params, threads, blocks) \
  INGOT_GPU_ENTRY(INGOT_GPU_BOUNDS(threads, blocks), name, Params)

namespace ingot::cuda {

/// Of `blocks` blocks that count in *counter whether this is the last, before which all others have
/// written what they had to: read past the first-level cache (load_through()). `flag`: of shared
/// memory. *counter is zero again. Called by all threads.
GPU_FN bool is_last_block(uint32_t* counter, uint32_t blocks, uint32_t* flag) {
  __threadfence();
  __syncthreads();  // all have written, and nobody needs what lies at `flag`
  if (threadIdx.x == 0) {
    const uint32_t before = atomicAdd(counter, 1u);
    *flag = before == blocks - 1;
    if (before == blocks - 1) *counter = 0;
  }
  __syncthreads();
  const bool is_last = *flag != 0;
  __threadfence();
  return is_last;
}

/// Index of this thread among all of a one-dimensional grid, and their number.
GPU_FN int64_t grid_thread() { return int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
GPU_FN int64_t grid_threads() { return int64_t(gridDim.x) * blockDim.x; }

}  // namespace ingot::cuda
